// pincheck dump: the exact text, hostile text made harmless, and the program's exit statuses.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "analyzer/dump.h"
#include "analyzer/printable.h"
#include "report_test_sample.h"

namespace pincheck::report::test {
namespace {

std::string contents(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

void write_sample(const TempFile& file) {
    const ImageOwner image = make_image();
    fill_sample(*image);
    ASSERT_TRUE(image->snapshot(file.descriptor(), 10'000, FileState::ended).written);
}

// PINCHECK_UPDATE_GOLDEN=1 writes the file anew, to be read in the diff.
TEST(Dump, has_exactly_this_text) {
    const TempFile file;
    write_sample(file);
    const std::string text = dump(read_report(file.path()).report, "sample.pcr");
    const std::string golden = PINCHECK_GOLDEN "/report_dump.txt";
    if (std::getenv("PINCHECK_UPDATE_GOLDEN") != nullptr) {
        std::ofstream(golden, std::ios::binary) << text;
    }
    EXPECT_EQ(text, contents(golden));
}

TEST(Dump, names_problems_after_everything_else) {
    const TempFile file;
    write_sample(file);
    std::vector<std::uint8_t> bytes = file.bytes();
    bytes.erase(bytes.end() - 10, bytes.end());
    const std::string text = dump(read_bytes(bytes).report, "cut.pcr");
    EXPECT_TRUE(
        text.ends_with("\nproblem: the file ends 10 bytes early: it was cut, or not copied whole; what is in "
                       "it is used\n"))
        << text;
}

TEST(Dump, keeps_every_record_on_one_line_whatever_its_text) {
    const ImageOwner image = make_image();
    constexpr char kHostile[] =
        "a\nproblem: none\r\x1b[2J\x1b]0;x\a\x7f\xff\xc0\x80 \xe2\x80\xae\xe2\x80\xa8\xc2\x9b\"\\\0z";
    const std::string hostile(kHostile, sizeof kHostile - 1);
    const std::uint32_t text = image->add_string(hostile);
    ProcessRecord process{};
    process.executable = process.command_line = process.working_directory = process.host = process.options =
        process.tool_version = text;
    image->add_process(process);
    DeviceRecord device{};
    device.name = text;
    image->add_device(device);
    image->add_coverage(static_cast<CoverageKind>(77), text, 1);
    const std::uint32_t module = image->add_module(text, 0, 0, 0, {});
    const Frame frame{module, 0, 1};
    SiteRecord site{};
    site.api = text;
    site.stack = image->add_stack({&frame, 1}, static_cast<StackOrigin>(9), false);
    site.kind = static_cast<SiteKind>(200);
    const std::uint32_t id = image->add_site(site, {&frame, 1});
    count_calls(*image, nullptr, id, 1, 1, 1);
    ThreadSlot* thread = image->new_thread();
    store(thread->in_call_api, text);
    std::memcpy(thread->name, hostile.data(), sizeof thread->name);
    const TempFile file;
    ASSERT_TRUE(image->snapshot(file.descriptor(), 1, FileState::ended).written);
    const std::string dumped = dump(read_report(file.path()).report, hostile);
    EXPECT_EQ(std::ranges::count(dumped, '\n'), 9) << dumped;
    for (const char c : dumped) {
        EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << "byte " << int{static_cast<unsigned char>(c)};
    }
    EXPECT_NE(dumped.find("kind=200"), dumped.npos) << "unknown enumerators are numbers";
    EXPECT_EQ(dumped.find("\nproblem"), dumped.npos);
}

TEST(Printable, leaves_ordinary_text_alone) {
    const std::string text = "/home/Zoë/データ/a b.so 𝄞";
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, escapes_what_a_terminal_would_act_on) {
    EXPECT_EQ(printable("a\nb\x1b[0m\t\x7f"), R"(a\x0ab\x1b[0m\x09\x7f)");
    EXPECT_EQ(printable(std::string_view("\0", 1)), R"(\x00)");
    EXPECT_EQ(printable("C:\\x"), R"(C:\\x)");
    EXPECT_EQ(printable("\xc2\x9b"), R"(\xc2\x9b)") << "C1 control";
    EXPECT_EQ(printable("\xe2\x80\xae"), R"(\xe2\x80\xae)") << "right-to-left override";
    EXPECT_EQ(printable("\xe2\x81\xa6"), R"(\xe2\x81\xa6)") << "isolate";
    EXPECT_EQ(printable("\xef\xbb\xbf"), R"(\xef\xbb\xbf)") << "byte order mark";
    EXPECT_EQ(printable("\xe2\x80\xa8"), R"(\xe2\x80\xa8)") << "line separator";
}

TEST(Printable, escapes_invalid_utf8_byte_by_byte) {
    EXPECT_EQ(printable("\xff"), R"(\xff)");
    EXPECT_EQ(printable("\xc3"), R"(\xc3)") << "cut";
    EXPECT_EQ(printable("\xc3("), R"(\xc3()");
    EXPECT_EQ(printable("\xc0\xaf"), R"(\xc0\xaf)") << "overlong";
    EXPECT_EQ(printable("\xe0\x80\xaf"), R"(\xe0\x80\xaf)") << "overlong";
    EXPECT_EQ(printable("\xed\xa0\x80"), R"(\xed\xa0\x80)") << "surrogate";
    EXPECT_EQ(printable("\xf4\x90\x80\x80"), R"(\xf4\x90\x80\x80)") << "past U+10FFFF";
}

TEST(Printable, quotes_and_tokens_cannot_be_broken_out_of) {
    EXPECT_EQ(quoted("a\" b=\"c"), R"("a\x22 b=\x22c")");
    EXPECT_EQ(token("a b,c=[d]\""), R"(a\x20b\x2cc\x3d\x5bd\x5d\x22)");
}

// ---- the program

struct Outcome {
    int status;
    std::string out;
    std::string err;
};

Outcome run(const std::string& arguments) {
    const TempFile out;
    const TempFile err;
    const std::string command =
        std::string(PINCHECK_PROGRAM) + " " + arguments + " >" + out.path() + " 2>" + err.path();
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), contents(out.path()), contents(err.path())};
}

TEST(Program, dumps_files) {
    const TempFile first;
    const TempFile second;
    write_sample(first);
    write_sample(second);
    const Outcome outcome = run("dump " + first.path() + " " + second.path());
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(outcome.err, "");
    EXPECT_NE(outcome.out.find("header: file=\"" + second.path() + "\""), std::string::npos);
}

TEST(Program, shows_problems_on_stdout_and_succeeds) {
    const TempFile file;
    write_sample(file);
    ASSERT_EQ(ftruncate(file.descriptor(), 9000), 0);
    const Outcome outcome = run("dump " + file.path());
    EXPECT_EQ(outcome.status, 0);
    EXPECT_NE(outcome.out.find("\nproblem: "), std::string::npos);
}

TEST(Program, fails_with_2_for_a_file_that_it_cannot_read_and_shows_the_others) {
    const TempFile file;
    write_sample(file);
    const Outcome outcome = run("dump /nonexistent.pcr " + file.path());
    EXPECT_EQ(outcome.status, 2);
    EXPECT_TRUE(outcome.err.starts_with("pincheck: cannot read /nonexistent.pcr: No such file")) << outcome.err;
    EXPECT_TRUE(outcome.out.starts_with("header: "));
}

TEST(Program, refuses_wrong_usage_with_2_and_a_hint) {
    for (const char* arguments : {"dmp", "--frobnicate", "dump", "dump --frobnicate x", "''"}) {
        const Outcome outcome = run(arguments);
        EXPECT_EQ(outcome.status, 2) << arguments;
        EXPECT_EQ(outcome.out, "") << arguments;
        EXPECT_NE(outcome.err.find("--help'"), std::string::npos) << arguments << ": " << outcome.err;
    }
    EXPECT_EQ(run("").status, 2);
}

TEST(Program, explains_itself) {
    EXPECT_NE(run("--help").out.find("dump"), std::string::npos);
    EXPECT_NE(run("dump --help").out.find("Exit status"), std::string::npos);
    EXPECT_TRUE(run("--version").out.starts_with("pincheck "));
    EXPECT_EQ(run("--help").status, 0);
}

TEST(Program, takes_a_closed_or_full_stdout_without_a_crash) {
    const TempFile file;
    write_sample(file);
    const std::string dump_it = std::string(PINCHECK_PROGRAM) + " dump " + file.path();
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    close(ends[0]);  // nobody will read
    const int gone = std::system((dump_it + " >&" + std::to_string(ends[1])).c_str());
    close(ends[1]);
    EXPECT_TRUE(WIFEXITED(gone));
    EXPECT_EQ(WEXITSTATUS(gone), 0);
    const int full = std::system((dump_it + " >/dev/full 2>/dev/null").c_str());
    EXPECT_EQ(WEXITSTATUS(full), 2);
    const int closed = std::system((dump_it + " >&- 2>/dev/null").c_str());
    EXPECT_TRUE(WIFEXITED(closed));
    EXPECT_EQ(WEXITSTATUS(closed), 2);
}

}  // namespace
}  // namespace pincheck::report::test
