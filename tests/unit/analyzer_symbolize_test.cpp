// Frames of small programs, compiled here in each way that programs come: with debug information, stripped, with the
// debug information elsewhere, replaced, gone.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "analyzer/dwarf_module.h"
#include "analyzer/resolve.h"
#include "analyzer/symbolize.h"
#include "analyzer_sample.h"

namespace pincheck::test {
namespace {

namespace fs = std::filesystem;

constexpr char kSource[] = R"(extern "C" void sink(int);
static inline __attribute__((always_inline)) void inner(int n) {
    sink(n);
}
namespace app {
struct Batch { int n; };
__attribute__((noinline)) void upload(const Batch& batch) {
    inner(batch.n);
    __asm__ volatile("");
}
namespace {
__attribute__((noinline, used)) void local(int n) {
    sink(n);
    __asm__ volatile("");
}
}
}
extern "C" __attribute__((noinline)) void sink(int) { __asm__ volatile(""); }
int main() { app::upload({1}); app::local(2); }
)";
constexpr std::uint32_t kSinkInInner = 3, kInnerInUpload = 8, kSinkInLocal = 13;

int shell(const std::string& command) {
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string output_of(const std::string& command) {
    std::string text;
    std::FILE* pipe = popen(command.c_str(), "r");
    char buffer[4096];
    for (std::size_t got = 0; (got = fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
        text.append(buffer, got);
    }
    pclose(pipe);
    return text;
}

// The program in one folder, and the offsets to which its two calls of sink() return.
class Program : public testing::Test {
  protected:
    void SetUp() override {
        std::string folder = testing::TempDir() + "pincheck-symbols-XXXXXX";
        ASSERT_NE(mkdtemp(folder.data()), nullptr);
        folder_ = folder;
        std::ofstream(folder_ + "/app.cpp") << kSource;
        unsetenv("DEBUGINFOD_URLS");
    }
    void TearDown() override { fs::remove_all(folder_); }

    std::string build(const std::string& name, const std::string& flags) {
        const std::string path = folder_ + "/" + name;
        EXPECT_EQ(shell("cd " + folder_ + " && " + PINCHECK_CXX + " -O1 -Wl,--build-id=sha1 " + flags + " -o " + name +
                        " app.cpp"),
                  0);
        const std::string upload = function(path, "app::upload(app::Batch const&)");
        const std::string local = function(path, "app::(anonymous namespace)::local(int)");
        in_upload_ = after_call(upload);
        in_local_ = after_call(local);
        std::string notes = output_of("readelf -n " + path + " | sed -n 's/.*Build ID: //p'");
        notes.erase(notes.find_last_not_of('\n') + 1);
        build_id_ = notes;
        return path;
    }

    static std::string function(const std::string& path, const std::string& name) {
        return output_of("objdump -dC --no-show-raw-insn " + path + " | awk '/^[0-9a-f]+ <.*>:$/ {on = index($0, \"<" +
                         name + ">:\")} on'");
    }
    // The address of the instruction after the first call in a disassembly.
    static std::uint64_t after_call(const std::string& disassembly) {
        const std::size_t call = disassembly.find("call");
        EXPECT_NE(call, std::string::npos) << disassembly;
        const std::size_t line = disassembly.find('\n', call);
        return line == std::string::npos ? 0 : std::strtoull(disassembly.c_str() + line + 1, nullptr, 16);
    }

    std::vector<SourceLine> lines(const std::string& path, std::uint64_t offset, const SymbolizeOptions& options = {}) {
        DwarfModule module(path, build_id_, options);
        EXPECT_EQ(module.problem(), "");
        return module.lines(offset);
    }

    std::string folder_;
    std::string build_id_;
    std::uint64_t in_upload_ = 0;
    std::uint64_t in_local_ = 0;
};

void expect_full(const std::vector<SourceLine>& lines) {
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_EQ(lines[0].function, "inner") << "static: debug information has no linkage name";
    EXPECT_TRUE(lines[0].file.ends_with("/app.cpp")) << lines[0].file;
    EXPECT_EQ(lines[0].line, kSinkInInner);
    EXPECT_EQ(lines[1].function, "app::upload(app::Batch const&)");
    EXPECT_TRUE(lines[1].file.ends_with("/app.cpp")) << lines[1].file;
    EXPECT_EQ(lines[1].line, kInnerInUpload);
    EXPECT_TRUE(lines[0].exact && lines[1].exact);
}

TEST_F(Program, with_debug_information_shows_inlined_functions_and_lines) {
    const std::string path = build("app", "-g");
    expect_full(lines(path, in_upload_));
    const std::vector<SourceLine> local = lines(path, in_local_);
    ASSERT_EQ(local.size(), 1u);
    EXPECT_EQ(local[0].function, "app::(anonymous namespace)::local(int)");
    EXPECT_EQ(local[0].line, kSinkInLocal);
}

TEST_F(Program, is_found_at_a_fixed_address_in_old_dwarf_and_without_address_tables) {
    std::string path = build("fixed", "-g -no-pie");
    expect_full(lines(path, in_upload_));
    path = build("old", "-gdwarf-4");
    expect_full(lines(path, in_upload_));
    path = build("bare", "-g");
    ASSERT_EQ(shell("objcopy --remove-section .debug_aranges " + path), 0);  // as other compilers leave it
    expect_full(lines(path, in_upload_));
}

TEST_F(Program, without_debug_information_shows_the_nearest_symbol) {
    const std::string path = build("app", "");
    const std::vector<SourceLine> found = lines(path, in_upload_);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_TRUE(found[0].function.starts_with("app::upload(app::Batch const&)+0x")) << found[0].function;
    EXPECT_EQ(found[0].file, "");
    EXPECT_FALSE(found[0].exact);
    Capture capture;
    capture.modules.push_back({path, build_id_});
    EXPECT_EQ(frame_text(capture, {0, in_upload_, found}),
              found[0].function + " (app; rebuild with -g for file and line)");
}

TEST_F(Program, stripped_leaves_module_offset_and_build_id) {
    const std::string path = build("app", "-g");
    ASSERT_EQ(shell("strip " + path), 0);
    EXPECT_TRUE(lines(path, in_upload_).empty());
    Capture capture;
    capture.modules.push_back({path, build_id_});
    EXPECT_EQ(frame_text(capture, {0, 0x1234, {}}), "app+0x1234 (build-id " + build_id_ + ")");
    EXPECT_EQ(frame_text(capture, {CaptureFrame::kNoModule, 0x7f00, {}}), "0x7f00");
}

TEST_F(Program, finds_debug_information_beside_it_and_where_it_is_told_to_look) {
    const std::string path = build("app", "-g");
    ASSERT_EQ(shell("cd " + folder_ +
                    " && objcopy --only-keep-debug app app.debug && strip app && objcopy "
                    "--add-gnu-debuglink=app.debug app"),
              0);
    expect_full(lines(path, in_upload_));
    const std::string elsewhere = folder_ + "/elsewhere";
    fs::create_directory(elsewhere);
    fs::rename(folder_ + "/app.debug", elsewhere + "/app.debug");
    EXPECT_TRUE(lines(path, in_upload_).empty());
    SymbolizeOptions options;
    options.debug_directories = {folder_ + "/nothing", elsewhere};
    expect_full(lines(path, in_upload_, options));
    const std::string by_id = elsewhere + "/.build-id/" + build_id_.substr(0, 2);
    fs::create_directories(by_id);
    fs::rename(elsewhere + "/app.debug", by_id + "/" + build_id_.substr(2) + ".debug");
    expect_full(lines(path, in_upload_, options));
}

TEST_F(Program, replaced_or_gone_is_named_with_what_to_do) {
    const std::string path = build("app", "-g");
    EXPECT_NE(DwarfModule(path, "0123", {}).problem().find("replaced since the program ran"), std::string::npos);
    EXPECT_TRUE(DwarfModule(path, "0123", {}).lines(in_upload_).empty());
    EXPECT_EQ(DwarfModule(path, "", {}).problem(), "") << "a module without a build-id cannot be checked";
    EXPECT_NE(DwarfModule(folder_ + "/gone", build_id_, {}).problem().find("No such file"), std::string::npos);
    ASSERT_EQ(shell("mkfifo " + folder_ + "/fifo"), 0);
    EXPECT_NE(DwarfModule(folder_ + "/fifo", "", {}).problem(), "") << "and does not hang";
    EXPECT_NE(DwarfModule(folder_ + "/app.cpp", "", {}).problem(), "");
    EXPECT_NE(DwarfModule("/dev/zero", "", {}).problem(), "");
}

// libdw goes by this variable; without it it asks nobody.
TEST_F(Program, asks_no_server_unless_told_to) {
    const std::string path = build("app", "-g");
    setenv("DEBUGINFOD_URLS", "http://127.0.0.1:9/", 1);
    {
        DwarfModule module(path, build_id_, {});
        EXPECT_EQ(std::getenv("DEBUGINFOD_URLS"), nullptr);
    }
    EXPECT_STREQ(std::getenv("DEBUGINFOD_URLS"), "http://127.0.0.1:9/");
    SymbolizeOptions options;
    options.debuginfod = true;
    {
        DwarfModule module(path, build_id_, options);
        EXPECT_NE(std::getenv("DEBUGINFOD_URLS"), nullptr);
    }
    unsetenv("DEBUGINFOD_URLS");
}

TEST_F(Program, symbolize_fills_frames_that_have_no_lines_and_says_each_problem_once) {
    CaptureMaker maker;
    Capture& capture = maker.loaded.capture;
    const std::string path = build("app", "-g");
    capture.modules = {{path, build_id_}, {"/nonexistent/lib.so", ""}, {"[vdso]", ""}, {"", ""}};
    for (int i = 0; i < 2; ++i) {
        CaptureSite& site = capture.sites.emplace_back();
        site.stack = {{0, in_upload_, {}}, {1, 1, {}}, {1, 2, {}},
                      {2, 1, {}},          {3, 1, {}}, {CaptureFrame::kNoModule, 9, {}}};
    }
    capture.sites[1].stack[0].lines.push_back({"kept", "", 0, true});
    const std::vector<std::string> problems = symbolize(capture, {});
    EXPECT_EQ(problems.size(), 1u);
    expect_full(capture.sites[0].stack[0].lines);
    EXPECT_EQ(capture.sites[1].stack[0].lines[0].function, "kept");
    EXPECT_EQ(frame_text(capture, capture.sites[0].stack[0]), "inner (app.cpp:3)");
}

TEST_F(Program, a_cache_opens_a_file_once_for_all_captures) {
    const std::string app = build("app", "-g");
    Capture one;
    one.modules = {{app, build_id_}, {"/nonexistent/lib.so", ""}};
    one.sites.emplace_back().stack = {{0, in_upload_, {}}, {1, 1, {}}};
    Capture another = one;
    another.sites[0].stack.push_back({0, in_local_, {}});
    SymbolCache cache({});
    EXPECT_EQ(symbolize(one, cache).size(), 1u);
    EXPECT_EQ(cache.opened(), 2u) << "the program, and the library once to see that it is not there";
    EXPECT_EQ(symbolize(another, cache).size(), 1u) << "of every capture it is said what is missing";
    EXPECT_EQ(cache.opened(), 2u);
    expect_full(one.sites[0].stack[0].lines);
    expect_full(another.sites[0].stack[0].lines);
    EXPECT_EQ(another.sites[0].stack[2].lines.at(0).line, kSinkInLocal);
}

TEST_F(Program, a_cache_keeps_few_files_open_and_every_answer) {
    const std::string app = build("app", "-g");
    const std::string copy = folder_ + "/copy";
    fs::copy_file(app, copy);
    SymbolCache cache({}, 1);
    SymbolCache::Module& first = cache.module(app, build_id_);
    SymbolCache::Module& second = cache.module(copy, build_id_);
    expect_full(cache.lines(first, in_upload_));
    expect_full(cache.lines(second, in_upload_));
    EXPECT_EQ(cache.opened(), 2u);
    expect_full(cache.lines(first, in_upload_));
    EXPECT_EQ(cache.opened(), 2u) << "known, although its file was closed";
    EXPECT_EQ(cache.lines(first, in_local_).at(0).line, kSinkInLocal);
    EXPECT_EQ(cache.opened(), 3u);
    EXPECT_EQ(&cache.module(app, build_id_), &first);
    EXPECT_NE(&cache.module(app, "0123"), &first) << "a program that was built anew";
    EXPECT_NE(cache.problem(cache.module(app, "0123")), "");
}

// What `pincheck resolve` writes, another machine reads.
TEST_F(Program, resolved_reports_travel) {
    const std::string path = build("app", "-g");
    const report::test::ImageOwner image = report::test::make_image();
    std::vector<std::uint8_t> id;
    for (std::size_t i = 0; i < build_id_.size(); i += 2) {
        id.push_back(static_cast<std::uint8_t>(std::stoi(build_id_.substr(i, 2), nullptr, 16)));
    }
    const std::uint32_t module = image->add_module(image->add_string(path), 0x500000, 0x500000, 0x600000, id);
    const std::uint32_t gone = image->add_module(image->add_string("/nonexistent/lib.so"), 0, 0, 1, {});
    const report::Frame frames[] = {{module, 0, in_upload_}, {gone, 0, 7}, {0, 0, 0x1000}};
    report::SiteRecord record{};
    record.api = image->add_string("cudaMemcpyAsync");
    record.stack = image->add_stack(frames, report::StackOrigin::unwound, false);
    report::test::count_calls(*image, nullptr, image->add_site(record, frames), 1, 1, 100);
    const report::test::TempFile file;
    ASSERT_TRUE(image->snapshot(file.descriptor(), 5'000, report::FileState::ended).written);

    SymbolCache cache({});
    const Resolved first = resolve_report(file.path(), cache);
    EXPECT_EQ(first.error, "");
    EXPECT_EQ(first.problems.size(), 1u);
    EXPECT_EQ(first.frames, 2u);
    EXPECT_EQ(first.lines, 1u);
    EXPECT_EQ(first.functions, 0u);
    EXPECT_EQ(first.added, 1u);
    fs::remove(path);
    const Capture capture = load_capture({file.path()}).capture;
    expect_full(capture.sites.at(0).stack.at(0).lines);
    const Resolved again = resolve_report(file.path(), cache);
    EXPECT_EQ(again.lines, 1u);
    EXPECT_EQ(again.added, 0u);
    EXPECT_NE(resolve_report("/nonexistent.pcr", cache).error, "");
}

TEST(Demangled, leaves_alone_what_is_no_cxx_name) {
    EXPECT_EQ(demangled("_ZN3app6uploadERKNS_5BatchE"), "app::upload(app::Batch const&)");
    EXPECT_EQ(demangled("cudaMemcpyAsync"), "cudaMemcpyAsync");
    EXPECT_EQ(demangled("_Zbroken"), "_Zbroken");
}

}  // namespace
}  // namespace pincheck::test
