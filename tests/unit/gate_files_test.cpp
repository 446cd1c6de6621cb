// The files of a gate, as programs read them: pincheck.toml, suppressions, baselines. Every message about them, word
// for word, with its exit status: tests/golden/gate_messages.txt (PINCHECK_UPDATE_GOLDEN=1 writes it anew, to be read
// in the diff). The commands are run by a shell in a folder of prepared files.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "report/append.h"
#include "report_test_sample.h"

namespace pincheck::report::test {
namespace {

namespace fs = std::filesystem;

struct Outcome {
    int status = 0;
    std::string out;
    std::string err;
};

std::string contents(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

// An asynchronous pageable download in each function, 10 calls of 5 ms, with symbols.
void write_report(const fs::path& path, std::initializer_list<const char*> functions, std::uint32_t line) {
    const TempFile file;
    const ImageOwner image(Image::create({}, 4127, 1'000, 1'700'000'000'000'000'000));
    ProcessRecord process{};
    process.pid = 4127;
    process.rank = kNoRank;
    image->add_process(process);
    const std::uint32_t module = image->add_module(image->add_string("/nonexistent/train"), 0, 0, 1, {});
    std::vector<ResolvedFrame> symbols;
    for (const char* function : functions) {
        SiteRecord record{};
        record.api = image->add_string("cudaMemcpyAsync");
        record.kind = SiteKind::copy;
        record.direction = Direction::device_to_host;
        record.source.kind = MemoryClass::device;
        record.destination.kind = MemoryClass::pageable;
        record.flags = kSiteAsync | kSiteExactStack;
        const Frame frame{module, 0, 0x10 * line};
        record.stack = image->add_stack({&frame, 1}, StackOrigin::unwound, false);
        symbols.push_back({module, 0, frame.offset, function, "/src/train.cu", line++, true});
        count_calls(*image, nullptr, image->add_site(record, {&frame, 1}), 1, 10, 5'000'000);
    }
    ASSERT_TRUE(image->snapshot(file.descriptor(), 100'000, FileState::ended).written);
    ASSERT_EQ(append_symbols(file.path(), symbols), "");
    fs::copy_file(file.path(), path);
}

class GateFiles : public testing::Test {
  protected:
    void SetUp() override {
        std::string folder = testing::TempDir() + "pincheck-gate-XXXXXX";
        ASSERT_NE(mkdtemp(folder.data()), nullptr);
        folder_ = folder;
        write_report(folder_ / "old.pcr", {"Meter::update(float*)"}, 41);
        write_report(folder_ / "new.pcr", {"Meter::update(float*)", "Cache::fill()"}, 71);
    }
    void TearDown() override { fs::remove_all(folder_); }

    void write(const std::string& name, const std::string& text) {
        fs::create_directories((folder_ / name).parent_path());
        std::ofstream(folder_ / name, std::ios::binary) << text;
    }
    // A file of the row alone.
    void write_row(const std::string& text, const std::string& name = "rows.toml") {
        write(name, "# reviewed\n[[suppression]]\n" + text + "\n");
    }

    Outcome run(const std::string& command) {
        const std::string full = "cd " + folder_.string() + " && env -i TMPDIR=" + folder_.string() +
                                 " PATH=" + fs::path(PINCHECK_PROGRAM).parent_path().string() +
                                 ":/usr/bin:/bin sh -c '" + command + "' 2>err.txt >out.txt </dev/null";
        const int status = std::system(full.c_str());
        return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), contents(folder_ / "out.txt"),
                contents(folder_ / "err.txt")};
    }
    // The first line of what is shown, without what was let pass.
    std::string verdict(const std::string& options, const std::string& report = "new.pcr") {
        const Outcome outcome = run("pincheck check --quiet " + options + " " + report);
        return std::to_string(outcome.status) + " " + outcome.out + outcome.err;
    }

    fs::path folder_;
};

constexpr const char* kPlace = "rule = \"pageable-async-copy\"\nfunction = \"Meter::update\"\nreason = \"r\"";

TEST_F(GateFiles, suppressions_let_pass_what_they_name) {
    write_row(kPlace);
    EXPECT_EQ(verdict("--suppressions rows.toml", "old.pcr"),
              "0 pincheck: PASS  nothing gated in 10 CUDA calls (1 suppressed)\n");
    EXPECT_EQ(verdict("--suppressions rows.toml"), "1 pincheck: FAIL  pageable-async-copy at 1 site, 50.0 ms held\n");
    write_row(
        "rule = [\"hidden-wait\", \"pageable-async-copy\"]\nfile = \"train.cu\"\nmodule = \"train\"\n"
        "frames = \"any\"\nexpires = 9999-12-31\nreason = \"r\"");
    EXPECT_EQ(verdict("--suppressions rows.toml"), "0 pincheck: PASS  nothing gated in 20 CUDA calls (2 suppressed)\n");
    write_row("rule = \"*\"\nfile = \"*\"\nexpires = 2020-02-29\nreason = \"r\"");
    EXPECT_EQ(run("pincheck check --suppressions rows.toml new.pcr").status, 1);
    write_row("rule = \"*\"\nfile = \"*\"\nreason = \"\"\"\n  in two\n  lines\n\"\"\"");
    EXPECT_NE(run("pincheck show s1 --config /dev/null old.pcr").out, "");
    write("two.toml", "suppressions = \"rows.toml\"\n");
    EXPECT_NE(run("pincheck show s1 --config two.toml old.pcr").out.find("Suppressed by rows.toml:2: in two lines."),
              std::string::npos);
    // Two files, of which each has a part.
    write_row(kPlace);
    write_row("rule = \"*\"\nfunction = \"Cache::*\"\nreason = \"r\"", "more.toml");
    EXPECT_EQ(verdict("--suppressions rows.toml --suppressions more.toml"),
              "0 pincheck: PASS  nothing gated in 20 CUDA calls (2 suppressed)\n");
}

TEST_F(GateFiles, a_row_that_show_prints_takes_a_reason_and_then_holds) {
    const Outcome shown = run("pincheck show 1 --suppression old.pcr");
    EXPECT_EQ(shown.status, 0) << shown.err;
    write("rows.toml", shown.out);
    EXPECT_NE(verdict("--suppressions rows.toml").find("has no reason"), std::string::npos);
    std::string filled = shown.out;
    filled.replace(filled.find("\"\""), 2, "\"known\"");
    write("rows.toml", filled);
    EXPECT_EQ(verdict("--suppressions rows.toml", "old.pcr").substr(0, 1), "0") << filled;
    EXPECT_EQ(verdict("--suppressions rows.toml").substr(0, 1), "1") << "the other one gates";
    EXPECT_EQ(run("pincheck show s1 --suppression old.pcr").out, shown.out);
}

TEST_F(GateFiles, a_baseline_excuses_what_an_export_has) {
    ASSERT_EQ(run("pincheck export --format=json -o main.json old.pcr").status, 0);
    EXPECT_EQ(verdict("--baseline main.json", "old.pcr"),
              "0 pincheck: PASS  nothing gated in 10 CUDA calls (1 in the baseline)\n");
    // Its lines and addresses have moved.
    EXPECT_EQ(verdict("--baseline main.json"), "1 pincheck: FAIL  pageable-async-copy at 1 site, 50.0 ms held\n");
    EXPECT_EQ(run("cat main.json | pincheck check --baseline /dev/stdin old.pcr").status, 0) << "a pipe";
    EXPECT_EQ(verdict("--baseline main.json --worse count=+0%", "old.pcr").substr(0, 1), "0");
    EXPECT_EQ(verdict("--baseline main.json --worse count=+0%", "old.pcr old.pcr").substr(0, 1), "0")
        << "one file twice";
}

TEST_F(GateFiles, the_configuration_is_found_and_the_command_line_wins) {
    write_row(kPlace, "ci/rows.toml");
    const std::string settings = "suppressions = \"rows.toml\"\n[thresholds]\npageable-async-copy = { count = 10 }\n";
    write("ci/gate.toml", settings);
    EXPECT_EQ(verdict("--config ci/gate.toml"),
              "0 pincheck: PASS  nothing gated in 20 CUDA calls (1 suppressed, 1 within a threshold)\n");
    EXPECT_EQ(verdict("--config ci/gate.toml --gate-threshold pageable-async-copy:count=9").substr(0, 1), "1");
    write("pincheck.toml", "suppressions = [\"ci/rows.toml\"]\nfail-on = \"warning\"\n");
    EXPECT_EQ(verdict("").substr(0, 1), "0");
    EXPECT_EQ(verdict("--no-config").substr(0, 1), "1");
    EXPECT_EQ(verdict("--fail-on error").substr(0, 1), "1");
    write("pincheck.toml", "strict = true\nallow-staged = true\nallow-no-cuda = true\n");
    const Outcome all = run("pincheck export new.pcr");
    EXPECT_NE(all.out.find("\"config\": \"pincheck.toml\",\n    \"strict\": true,\n    \"allow_staged\": true,\n    "
                           "\"allow_no_cuda\": true,"),
              std::string::npos);
    const Outcome undone = run("pincheck export --no-strict --no-allow-staged --no-allow-no-cuda new.pcr");
    EXPECT_NE(undone.out.find("\"strict\": false,\n    \"allow_staged\": false,\n    \"allow_no_cuda\": false,"),
              std::string::npos);
    // The screen says which file it was, and numbers findings as show does.
    write("pincheck.toml", "[thresholds]\npageable-async-copy = { count = 9 }\n");
    const std::string screen = run("pincheck report old.pcr").out;
    EXPECT_NE(screen.find("\nGate            pincheck.toml; pageable-async-copy gates above count=9\n"),
              std::string::npos)
        << screen;
    EXPECT_NE(screen.find("pincheck show 1 old.pcr"), std::string::npos) << screen;
    EXPECT_EQ(run("pincheck report --no-config old.pcr").out.find("\nGate "), std::string::npos);
}

TEST_F(GateFiles, a_dangling_or_odd_configuration_is_named) {
    fs::create_symlink("nowhere", folder_ / "pincheck.toml");
    EXPECT_EQ(run("pincheck check old.pcr").err, "pincheck: cannot read pincheck.toml: No such file or directory\n");
    fs::remove(folder_ / "pincheck.toml");
    ASSERT_EQ(mkfifo((folder_ / "pincheck.toml").c_str(), 0600), 0);
    EXPECT_EQ(run("pincheck check old.pcr").err,
              "pincheck: pincheck.toml is no file that can be read; move it away, or give --no-config\n");
}

TEST_F(GateFiles, huge_or_deep_files_are_refused) {
    write("rows.toml", "# " + std::string((1 << 20) + 1, 'x') + "\n");
    EXPECT_EQ(run("pincheck check --suppressions rows.toml old.pcr").status, 2);
    write("rows.toml", "a = " + std::string(100'000, '['));
    EXPECT_EQ(run("pincheck check --suppressions rows.toml old.pcr").status, 2);
    write("rows.toml", std::string("reason = \"\0\"", 12));
    EXPECT_EQ(run("pincheck check --suppressions rows.toml old.pcr").status, 2);
}

TEST_F(GateFiles, messages_are_as_written_down) {
    std::string got;
    // How the parser of TOML words it differs from version to version.
    const auto without_parsers_words = [](const std::string& text) {
        return std::regex_replace(text, std::regex("(toml:[0-9]+: )(Error while|Encountered)[^;\\n]*"), "$1PARSER");
    };
    const auto add = [&](const std::string& what, const std::string& command) {
        const Outcome outcome = run(command);
        got += what + "$ " + command + "\nexit " + std::to_string(outcome.status) + '\n' +
               without_parsers_words(outcome.err) + (outcome.out.empty() ? "" : "(output)\n") + '\n';
    };
    for (const char* options :
         {"--gate-threshold pageable-async-copy",
          "--gate-threshold pagable-async-copy:count=1",
          "--gate-threshold pageable-async-copy:",
          "--gate-threshold pageable-async-copy:size=1",
          "--gate-threshold pageable-async-copy:count=few",
          "--gate-threshold pageable-async-copy:bytes=1KB",
          "--gate-threshold pageable-async-copy:held=5",
          "--gate-threshold pageable-async-copy:count=1,count=2",
          "--gate-threshold pageable-async-copy:count=1 --gate-threshold pageable-async-copy:held=1s",
          "--gate-threshold unordered-copies:held=1s",
          "--gate-threshold hidden-wait:bytes=1",
          "--worse count=+50%",
          "--worse count=50%",
          "--worse size=+1%",
          "--worse many",
          "--suppressions missing.toml",
          "--suppressions .",
          "--baseline missing.json",
          "--config missing.toml",
          "--config missing.toml --no-config"}) {
        add("", std::string("pincheck check ") + options + " old.pcr");
    }
    for (const char* row :
         {"function = \"f\"\nreason = \"r\"", "rule = \"pageable\"\nfunction = \"f\"\nreason = \"r\"",
          "rule = 7\nfunction = \"f\"\nreason = \"r\"", "rule = []\nfunction = \"f\"\nreason = \"r\"",
          "rule = [\"*\"]\nfunction = \"f\"\nreason = \"r\"", "rule = \"*\"\nreason = \"r\"",
          "rule = \"*\"\nfunction = \"f\"", "rule = \"*\"\nfunction = \"f\"\nreason = \" \"",
          "rule = \"*\"\nfunction = \"\"\nreason = \"r\"", "rule = \"*\"\nfunction = 7\nreason = \"r\"",
          "rule = \"*\"\nfunctoin = \"f\"\nreason = \"r\"", "rule = \"*\"\nzzz = \"f\"\nreason = \"r\"",
          "rule = \"*\"\nfunction = \"f\"\nreason = \"r\"\nexpires = \"2027-01-31\"",
          "rule = \"*\"\nfunction = \"f\"\nreason = \"r\"\nexpires = 2027-02-30",
          "rule = \"*\"\nfunction = \"f\"\nreason = \"r\"\nframes = \"all\"",
          "rule = \"*\"\nfingerprint = \"v1:00\"\nreason = \"r\"\nframes = \"any\"", "rule = \"*\"\nrule = \"*\"",
          "rule = \"*"}) {
        write_row(row);
        add(contents(folder_ / "rows.toml"), "pincheck check --suppressions rows.toml old.pcr");
    }
    for (const char* file : {"suppresion = []\n", "suppression = 7\n", "suppression = [7]\n", "[suppression]\n",
                             "reason = \"\xff\"\n", "pageable-async-copy:Meter::update\n"}) {
        write("rows.toml", file);
        add(std::string(file) == "reason = \"\xff\"\n" ? "reason = (invalid UTF-8)\n" : file,
            "pincheck check --suppressions rows.toml old.pcr");
    }
    for (const char* file : {"strikt = true\n",
                             "zzz = 1\n",
                             "strict = \"yes\"\n",
                             "fail-on = 7\n",
                             "fail-on = []\n",
                             "fail-on = [\"error\", \"nothing\"]\n",
                             "suppressions = \"\"\n",
                             "suppressions = \"missing.toml\"\n",
                             "baseline = []\n",
                             "baseline = \"missing.json\"\n",
                             "thresholds = 7\n",
                             "[thresholds]\nzzz = { count = 1 }\n",
                             "[thresholds]\npageable-async-copy = 10\n",
                             "[thresholds]\npageable-async-copy = {}\n",
                             "[thresholds]\npageable-async-copy = { count = \"few\" }\n",
                             "[thresholds]\npageable-async-copy = { held = 5 }\n",
                             "worse = 50\n",
                             "worse = { count = 50 }\n",
                             "worse = { count = \"+50%\" }\n",
                             "strict = true\nstrict = false\n",
                             "strict\n"}) {
        write("pincheck.toml", file);
        add(file, "pincheck check old.pcr");
    }
    add("", "pincheck report old.pcr");
    add("", "pincheck show 1 old.pcr");
    add("", "pincheck export old.pcr");
    add("", "pincheck run --check -- true");
    fs::remove(folder_ / "pincheck.toml");
    for (const char* file : {"", "{", "[]", R"({"schema": 2, "findings": []})", R"({"schema": 1, "findings": [{}]})",
                             R"({"schema": 1, "findings": [{"fingerprint": "v2:00"}]})"}) {
        write("main.json", file);
        add(std::string(file) + '\n', "pincheck check --baseline main.json old.pcr");
    }
    add("", "pincheck show 9 --suppression old.pcr");
    const std::string golden = PINCHECK_GOLDEN "/gate_messages.txt";
    if (std::getenv("PINCHECK_UPDATE_GOLDEN") != nullptr) {
        std::ofstream(golden, std::ios::binary) << got;
    }
    write("got.txt", got);
    EXPECT_EQ(std::system(("diff -u " + golden + " " + (folder_ / "got.txt").string() + " >&2").c_str()), 0)
        << "a message changed: '+' is what is said now";
}

}  // namespace
}  // namespace pincheck::report::test
