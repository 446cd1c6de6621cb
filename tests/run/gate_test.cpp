// A gate over real builds of one program: `run --check` with pincheck.toml, suppressions and a baseline.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "run_command.h"

namespace pincheck::test {
namespace {

namespace fs = std::filesystem;

// Two pageable copies; `more` calls in main(). Results are used, so that no call is a function's last (a tail call
// leaves no frame).
std::string program_text(const std::string& before, const std::string& more = "") {
    return before + R"(
#include <cstddef>
extern "C" {
int cudaMalloc(void**, std::size_t);
int cudaMemcpyAsync(void*, const void*, std::size_t, int, void*);
int cudaStreamCreate(void**);
int cudaStreamSynchronize(void*);
}
static char host[4096];
static void* device;
static void* stream;
static int failed;
static void upload() {
    failed |= cudaMemcpyAsync(device, host, sizeof host, 1, stream);
    failed |= cudaStreamSynchronize(stream);
}
__attribute__((noinline)) static void download() {
    failed |= cudaMemcpyAsync(host, device, sizeof host, 2, stream);
    failed |= cudaStreamSynchronize(stream);
}
__attribute__((noinline)) static void reset() {
    failed |= cudaMemcpyAsync(device, host, 4, 1, stream);
    failed |= cudaStreamSynchronize(stream);
}
int main(int argc, char**) {
    failed |= cudaMalloc(&device, sizeof host) | cudaStreamCreate(&stream);
    for (int i = 0; i < 20; ++i) {
        upload();
        download();
    }
    if (argc > 9) {
        reset();
    }
    )" + more +
           "\n    return failed;\n}\n";
}

class GateOfBuilds : public testing::Test {
  protected:
    // The program in a folder of its own; a copy of pincheck.toml lies where it is run.
    fs::path built(const std::string& folder, const std::string& code, const std::string& flags) {
        fs::create_directories(folder_.path() / folder);
        const fs::path place = folder_.path() / folder;
        EXPECT_TRUE(build(place, "train", code, flags + " '" + simulated_runtime() + "'")) << code;
        return place / "train";
    }
    Outcome checked(const fs::path& program, const std::vector<std::string>& flags, const std::string& folder = ".") {
        std::vector<std::string> all = {"--check"};
        all.insert(all.end(), flags.begin(), flags.end());
        Command command = run_command(all, {program});
        command.folder = (folder_.path() / folder).string();
        return FinishedRun(command).outcome();
    }
    // What a first run of the program finds, exported.
    std::string baseline_of(const fs::path& program) {
        const std::string reports = (folder_.path() / "first").string();
        fs::remove_all(reports);
        EXPECT_TRUE(checked(program, {"--output", reports}).exited(1));
        const std::string file = (folder_.path() / "main.json").string();
        const std::string command =
            std::string(PINCHECK_TEST_TOOL) + " export --format=json -o '" + file + "' '" + reports + "'";
        EXPECT_EQ(std::system(command.c_str()), 0);
        return file;
    }
    void write(const std::string& name, const std::string& text) { std::ofstream(folder_.path() / name) << text; }

    TemporaryFolder folder_;
};

TEST_F(GateOfBuilds, ABaselineHoldsForAnotherBuild) {
    const std::string baseline = baseline_of(built("then", program_text("// one line"), "-g -O0"));
    const std::string shifted(30, '\n');
    for (const char* flags : {"-g -O0", "-g -O2", "-g -O2 -no-pie", "-g -O3 -fno-plt", "-O0"}) {
        const Outcome outcome = checked(built("now", program_text(shifted), flags), {"--baseline", baseline});
        EXPECT_TRUE(outcome.exited(0)) << flags << describe(outcome);
        EXPECT_TRUE(has(outcome.err, "(2 in the baseline)")) << flags << outcome.err;
    }
}

TEST_F(GateOfBuilds, ABaselineDoesNotHoldForWhatIsNew) {
    const std::string baseline = baseline_of(built("then", program_text(""), "-g -O1"));
    // A function that was not called, and one more copy in a function that has one.
    for (const char* more : {"reset();", "download();"}) {
        const Outcome outcome = checked(built("now", program_text("", more), "-g -O1"), {"--baseline", baseline});
        EXPECT_TRUE(outcome.exited(1)) << more << describe(outcome);
        EXPECT_TRUE(has(outcome.err, "New: not in")) << more << outcome.err;
        EXPECT_TRUE(has(outcome.err, "in the baseline pageable-async-copy at 2 sites")) << more << outcome.err;
    }
}

TEST_F(GateOfBuilds, ABaselineOfAProgramWithoutSymbolsCountsItsCopies) {
    const std::string baseline = baseline_of(built("then", program_text(""), "-O1 -s"));
    EXPECT_TRUE(checked(built("now", program_text(""), "-O2 -s"), {"--baseline", baseline}).exited(0));
    const Outcome outcome = checked(built("now", program_text("", "reset();"), "-O1 -s"), {"--baseline", baseline});
    EXPECT_TRUE(outcome.exited(1)) << describe(outcome);
}

TEST_F(GateOfBuilds, RunReadsTheConfigurationWhereItIsStarted) {
    const fs::path program = built("now", program_text(""), "-g -O0");
    write("pincheck.toml", "suppressions = \"rows.toml\"\n[thresholds]\npageable-async-copy = { count = 20 }\n");
    write("rows.toml",
          "[[suppression]]\nrule = \"pageable-async-copy\"\nfunction = \"upload\"\nfile = \"now/train.cpp\"\n"
          "reason = \"once\"\n");
    const Outcome outcome = checked(program, {});
    EXPECT_TRUE(outcome.exited(0)) << describe(outcome);
    EXPECT_TRUE(has(outcome.err, "(1 suppressed, 1 within a threshold)")) << outcome.err;
    EXPECT_TRUE(has(outcome.err, "Gate pincheck.toml; 1 suppression;")) << outcome.err;
    EXPECT_TRUE(checked(program, {"--no-config"}).exited(1));
    EXPECT_TRUE(checked(program, {"--gate-threshold", "pageable-async-copy:count=19"}).exited(1));
    EXPECT_TRUE(checked(program, {}, "now").exited(1)) << "another working directory";
}

TEST_F(GateOfBuilds, AMistakeInAFileEndsBeforeTheProgramStarts) {
    write("pincheck.toml", "strikt = true\n");
    const Outcome outcome = checked("/bin/echo", {});
    EXPECT_TRUE(outcome.exited(2)) << describe(outcome);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err, "pincheck: pincheck.toml:1: there is no setting 'strikt'; did you mean strict?\n");
}

}  // namespace
}  // namespace pincheck::test
