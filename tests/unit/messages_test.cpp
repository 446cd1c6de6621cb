// Every message on standard error, word for word, with its exit status: tests/golden/messages.txt. The commands are run
// by a shell in a folder of prepared files, so that paths are relative; what still varies is written as in varying().
// PINCHECK_UPDATE_GOLDEN=1 writes the file anew, to be read in the diff.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "analyzer/hints.h"
#include "analyzer/job.h"
#include "analyzer/launcher.h"
#include "analyzer/policy.h"
#include "analyzer/run_summary.h"
#include "report/append.h"
#include "report/crc32c.h"
#include "report_test_sample.h"

namespace pincheck::report::test {
namespace {

namespace fs = std::filesystem;

// `pincheck` is found in PATH; `>&2` where the answer on standard output is the message.
constexpr const char* kCommands[] = {
    // Wrong usage, of all verbs.
    "pincheck >/dev/null 2>&1",
    "pincheck frobnicate",
    "pincheck --frobnicate",
    "pincheck check",
    "pincheck check --frobnicate good.pcr",
    "pincheck check --exit-code 256 good.pcr",
    "pincheck check --exit-code many good.pcr",
    "pincheck check --fail-on pageable good.pcr",
    "pincheck check --fail-on error,nothing good.pcr",
    "pincheck report",
    "pincheck report --width 59 good.pcr",
    "pincheck report --width 201 good.pcr",
    "pincheck report --width wide good.pcr",
    "pincheck report --color pink good.pcr",
    "pincheck show",
    "pincheck show 1",
    "pincheck show first bad.pcr",
    "pincheck show 0 bad.pcr",
    "pincheck show 2 bad.pcr",
    "pincheck show s2 bad.pcr",
    "pincheck show 1 good.pcr",
    "pincheck explain pagable",
    "pincheck explain zzz",
    "pincheck explain blind gate",
    "pincheck explain queue",
    "pincheck doctor --format=xml",
    "pincheck doctor --output",
    "pincheck report --by-size good.pcr >&2",
    "pincheck dump",
    "pincheck export",
    "pincheck export --format=xml good.pcr",
    "pincheck export --map /build good.pcr",
    "pincheck check --export sarif good.pcr",
    "pincheck check --redact good.pcr",
    "pincheck resolve",
    "pincheck resolve --debug-dir",
    // Files that are no reports, or not whole.
    "pincheck report missing.pcr",
    "pincheck check missing.pcr",
    "pincheck check missing.pcr good.pcr >/dev/null",
    "pincheck show 1 missing.pcr",
    "pincheck export missing.pcr",
    "pincheck dump missing.pcr good.pcr >/dev/null",
    "pincheck report empty.pcr",
    "pincheck report foreign.pcr",
    "pincheck report header.pcr",
    "pincheck report newer.pcr",
    "pincheck report features.pcr",
    "pincheck report layout.pcr",
    "pincheck report fifo.pcr",
    "pincheck report nothing",
    "pincheck report nothing missing.pcr empty.pcr foreign.pcr header.pcr newer.pcr features.pcr",
    "pincheck dump nothing",
    "pincheck check --quiet cut.pcr >&2",
    "pincheck check --quiet damaged.pcr >&2",
    "pincheck check --quiet no-cuda.pcr >&2",
    "pincheck check --quiet good.pcr missing.pcr >&2",
    "pincheck check --quiet unknown.pcr >&2",
    // Modules and patterns.
    "pincheck report no-names.pcr >/dev/null",
    "pincheck report --origins missing.json good.pcr",
    "pincheck report --origins nothing good.pcr",
    "pincheck report --origins no-object.json good.pcr",
    "pincheck report --origins no-origin.json good.pcr",
    "pincheck report --origins no-list.json good.pcr",
    "pincheck report --origins no-pattern.json good.pcr",
    // diff.
    "pincheck diff",
    "pincheck diff good.pcr",
    "pincheck diff good.pcr bad.pcr good.pcr",
    "pincheck diff --format=xml good.pcr bad.pcr",
    "pincheck diff --threshold=many good.pcr bad.pcr",
    "pincheck diff --noise=-1 good.pcr bad.pcr",
    "pincheck diff --fail-on nothing good.pcr bad.pcr",
    "pincheck diff good.pcr missing.pcr",
    "pincheck diff missing.pcr bad.pcr",
    "pincheck diff missing.json bad.pcr",
    "pincheck diff --baseline missing.json good.pcr bad.pcr",
    "pincheck diff no-object.json good.pcr",
    "pincheck diff no-origin.json good.pcr",
    "pincheck diff good.pcr fifo.pcr",
    "pincheck diff good.pcr nothing",
    "pincheck diff good.pcr bad.pcr >&2",
    "pincheck diff cut.pcr reports >&2",
    "pincheck diff --fail-on-new good.pcr bad.pcr >/dev/null",
    "pincheck diff --fail-on-new bad.pcr good.pcr >/dev/null",
    "pincheck diff --fail-on-new bad.pcr no-cuda.pcr >/dev/null",
    "pincheck export -o old.json bad.pcr && pincheck diff --fail-on-new old.json bad.pcr >&2",
    "pincheck diff --format=json -- good.pcr bad.pcr >/dev/full",
    // Output that cannot be written.
    "pincheck export -o nothing/deeper/x.json good.pcr",
    "pincheck export -o /dev/full good.pcr",
    "pincheck check --quiet --export sarif=/dev/full good.pcr >&2",
    "pincheck report good.pcr >/dev/full",
    "pincheck --help >/dev/full",
    // resolve.
    "pincheck resolve missing.pcr",
    "pincheck resolve foreign.pcr",
    "pincheck resolve nothing",
    "pincheck resolve cut.pcr >/dev/null",
    "pincheck resolve damaged.pcr",
    "pincheck resolve writing.pcr",
    // run: wrong usage.
    "pincheck run",
    "pincheck run --check",
    "pincheck run --chek -- true",
    "pincheck run --exit-code 4 -- true",
    "pincheck run --check --exit-code 256 -- true",
    "pincheck run --color pink -- true",
    "pincheck run --fail-on nothing -- true",
    "pincheck run --origins missing.json -- true",
    "pincheck run --depth 65 -- true",
    "pincheck run --stacks maybe -- true",
    "PINCHECK_OPTIONS=depth=many pincheck run -- true",
    "PINCHECK_OPTIONS=depth=8:colour=1 pincheck run -- true",
    "PINCHECK_OPTIONS=output=x.pcr pincheck run -- true",
    "PINCHECK_LIBRARY=missing.so pincheck run -- true",
    "tool/bin/pincheck run -- true",
    // run: the folder of the reports.
    "pincheck run --output a:b -- true",
    "pincheck run --output /proc/nowhere -- true",
    "pincheck run --output reports -- true",
    "pincheck run --output empty.pcr -- true",
    "pincheck run --output $LONG -- true",
    "here=$PWD; cd /proc && TMPDIR=$here pincheck run -- true",
    // run: programs that cannot be started, or not be seen.
    "pincheck run -- no-such-program",
    "pincheck run -- ./no-such-program",
    "pincheck run -- ./good.pcr",
    "pincheck run -- ./nothing",
    "pincheck run -- ./script",
    "pincheck run -- ./program-of-nowhere/x",
    "pincheck run -- true",
    "pincheck run --check -- true",
    "pincheck run --check --quiet -- true",
    "pincheck run --check --allow-no-cuda -- true",
    "pincheck run --check -- false",
    "pincheck run --check -- ./static",
    "pincheck run -- ./static",
    "pincheck run --check -- ./docker run image ./train",
    "pincheck run --check -- env -i true",
};

void write_report(const fs::path& path, MemoryClass source, const std::string& module_path,
                  FileState state = FileState::ended, std::uint32_t pid = 4127, bool calls = true) {
    const TempFile file;
    // Of a writer that may be alive: begun now, not before the process was.
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const std::uint64_t start = state == FileState::running
                                    ? static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count())
                                    : 1'700'000'000'000'000'000;
    const ImageOwner image(Image::create({}, pid, 1'000, start));
    ProcessRecord process{};
    process.pid = pid;
    process.rank = kNoRank;
    image->add_process(process);
    if (calls) {
        SiteRecord record{};
        record.api = image->add_string("cudaMemcpyAsync");
        record.kind = SiteKind::copy;
        record.direction = Direction::host_to_device;
        record.source.kind = source;
        record.destination.kind = MemoryClass::device;
        record.flags = kSiteAsync;
        const std::uint32_t module = image->add_module(image->add_string(module_path), 0, 0, 1, {});
        const Frame frame{module, 0, 0x10};
        record.stack = image->add_stack({&frame, 1}, StackOrigin::unwound, false);
        CounterSlot* slot = count_calls(*image, nullptr, image->add_site(record, {&frame, 1}), 1, 10, 5'000'000);
        ASSERT_NE(slot, nullptr);
    }
    ASSERT_TRUE(image->snapshot(file.descriptor(), 100'000, state).written);
    fs::copy_file(file.path(), path);
}

// Writes a copy of a report whose header was changed, with the right checksum again.
template <class Change>
void write_changed(const fs::path& from, const fs::path& to, Change change) {
    fs::copy_file(from, to);
    std::fstream file(to, std::ios::in | std::ios::out | std::ios::binary);
    FileHeader header{};
    file.read(reinterpret_cast<char*>(&header), sizeof header);
    change(header);
    header.crc = crc32c(&header, offsetof(FileHeader, crc));
    file.seekp(0);
    file.write(reinterpret_cast<const char*>(&header), sizeof header);
}

void write_text(const fs::path& path, const std::string& text, bool executable = false) {
    std::ofstream(path) << text;
    if (executable) {
        fs::permissions(path, fs::perms::owner_all);
    }
}

class Messages : public testing::Test {
  protected:
    void SetUp() override {
        std::string folder = testing::TempDir() + "pincheck-messages-XXXXXX";
        ASSERT_NE(mkdtemp(folder.data()), nullptr);
        folder_ = folder;
        write_report(folder_ / "good.pcr", MemoryClass::pinned, "train");
        write_report(folder_ / "bad.pcr", MemoryClass::pageable, "train");
        write_report(folder_ / "unknown.pcr", MemoryClass::unknown, "train");
        write_report(folder_ / "no-names.pcr", MemoryClass::pinned, "/nonexistent/train");
        write_report(folder_ / "no-cuda.pcr", MemoryClass::pinned, "", FileState::ended, 4127, false);
        write_report(folder_ / "writing.pcr", MemoryClass::pinned, "/nonexistent/train", FileState::running,
                     static_cast<std::uint32_t>(getpid()));
        write_text(folder_ / "empty.pcr", "");
        write_text(folder_ / "foreign.pcr", "#!/bin/sh\n");
        fs::copy_file(folder_ / "good.pcr", folder_ / "cut.pcr");
        fs::resize_file(folder_ / "cut.pcr", 5'000);
        fs::copy_file(folder_ / "good.pcr", folder_ / "header.pcr");
        fs::resize_file(folder_ / "header.pcr", 100);
        write_changed(folder_ / "good.pcr", folder_ / "newer.pcr", [](FileHeader& header) {
            header.version = 7;
            header.minimum_reader = 6;
        });
        write_changed(folder_ / "good.pcr", folder_ / "features.pcr",
                      [](FileHeader& header) { header.features = std::uint64_t{1} << 63; });
        write_changed(folder_ / "good.pcr", folder_ / "layout.pcr",
                      [](FileHeader& header) { header.segment_bytes = 64; });
        fs::copy_file(folder_ / "good.pcr", folder_ / "damaged.pcr");
        std::fstream(folder_ / "damaged.pcr", std::ios::in | std::ios::out | std::ios::binary).seekp(100) << "x";
        ASSERT_EQ(mkfifo((folder_ / "fifo.pcr").c_str(), 0600), 0);
        fs::create_directory(folder_ / "nothing");
        fs::create_directories(folder_ / "reports");
        fs::copy_file(folder_ / "good.pcr", folder_ / "reports/x.pcr");
        write_text(folder_ / "no-object.json", "nonsense");
        write_text(folder_ / "no-origin.json", R"({"vendors": ["libmine.so"]})");
        write_text(folder_ / "no-list.json", R"({"vendor": "libmine.so"})");
        write_text(folder_ / "no-pattern.json", R"({"vendor": [7]})");
        write_text(folder_ / "script", "#!/no/such/interpreter\n", true);
        write_text(folder_ / "docker", "#!/bin/sh\n", true);
        write_text(folder_ / "static.c", "int main(void) { return 0; }\n");
        ASSERT_EQ(std::system((PINCHECK_CC " -static -o " + (folder_ / "static").string() + " " +
                               (folder_ / "static.c").string())
                                  .c_str()),
                  0);
        // The program without its library beside it.
        fs::create_directories(folder_ / "tool/bin");
        fs::copy_file(PINCHECK_PROGRAM, folder_ / "tool/bin/pincheck");
    }
    void TearDown() override { fs::remove_all(folder_); }

    std::string outcome_of(const std::string& command) {
        // Nothing of the test's own surroundings: no options, no ranks, no language, no terminal.
        std::string full = "cd " + folder_.string() + " && env -i TMPDIR=" + folder_.string() +
                           " PATH=" + fs::path(PINCHECK_PROGRAM).parent_path().string() +
                           ":/usr/bin:/bin LONG=" + std::string(500, 'x') + " sh -c '" + command +
                           "' 2>err.txt >out.txt </dev/null";
        const int status = std::system(full.c_str());
        std::ostringstream text;
        text << std::ifstream(folder_ / "err.txt").rdbuf();
        return fmt_status(status) + varying(text.str()) + (fs::file_size(folder_ / "out.txt") != 0 ? "(output)\n" : "");
    }

    static std::string fmt_status(int status) {
        return WIFEXITED(status) ? "exit " + std::to_string(WEXITSTATUS(status)) + "\n"
                                 : "signal " + std::to_string(WTERMSIG(status)) + "\n";
    }

    // The folder of this test, its process, the name of a job's folder, and where a library may be installed.
    std::string varying(std::string text) const {
        const std::array<std::pair<std::string, std::string>, 4> all = {{
            {folder_.string(), "FOLDER"},
            {"process " + std::to_string(getpid()) + " ", "process PID "},
            {"/tool/lib/libpincheck.so(, [^,;]*)+", "/tool/lib/libpincheck.so, …"},
            {"pincheck-([a-z]+)-[0-9]{8}T[0-9]{6}-[0-9]+", "pincheck-$1-TIME-PID"},
        }};
        for (const auto& [pattern, name] : all) {
            text = std::regex_replace(text, std::regex(pattern), name);
        }
        return text;
    }

    fs::path folder_;
};

// Which launcher is meant is known before anything is started, and no container is needed to say it.
std::string hints_text() {
    std::string text;
    for (const char* name : {"docker", "podman",  "nerdctl", "apptainer", "singularity", "kubectl",     "oc",
                             "sudo",   "doas",    "su",      "runuser",   "ssh",         "srun",        "sbatch",
                             "mpirun", "mpiexec", "orterun", "prterun",   "jsrun",       "systemd-run", "flatpak"}) {
        text += hint_about_launcher({name, "x"}).text + '\n';
    }
    Target target;
    target.path = "train";
    target.is_64_bit = true;
    for (const TargetKind kind : {TargetKind::fully_static, TargetKind::musl, TargetKind::foreign}) {
        target.kind = kind;
        target.interpreter = kind == TargetKind::musl ? "/lib/ld-musl-x86_64.so.1" : "";
        text += hint_about_target(target, {"train"}).text + '\n';
    }
    target.is_64_bit = false;
    text += hint_about_target(target, {"train"}).text + '\n';
    target.kind = TargetKind::dynamic;
    target.privileged = true;
    return text + hint_about_target(target, {"train"}).text + '\n';
}

// Why there is no verdict, of everything that can hide a call.
std::string rare_text() {
    return cannot_preload_text("/opt/my tools/lib/libpincheck.so") + '\n' +
           cannot_start_text("fork: Resource temporarily unavailable") + '\n' +
           not_judged_text("pincheck-train-1", "std::bad_alloc") + '\n' +
           without_symbols_text(1000, "pincheck-train-1") + '\n' + cannot_add("job/one.pcr", "Read-only file system") +
           '\n';
}

std::string reasons_text() {
    LoadResult loaded;
    CaptureProcess& process = loaded.capture.processes.emplace_back();
    process.file = "job.pcr";
    process.cuda_calls = 1;
    for (std::uint32_t kind = 1; kind < kLossKinds; ++kind) {
        process.losses.push_back({static_cast<Loss>(kind), kind, 0});
    }
    constexpr CoverageKind kLast = CoverageKind::no_device_times;
    for (std::uint32_t kind = 1; kind <= static_cast<std::uint32_t>(kLast); ++kind) {
        process.coverage.push_back({static_cast<CoverageKind>(kind), "cudaMemcpyAsync"});
    }
    process.problems = {"the file ends 10 bytes early", "another", "a third"};
    std::string text;
    for (const std::string& reason : judge(loaded, {}, Origins(), {}, {}).reasons) {
        text += reason + '\n';
    }
    return text + judge({}, {}, Origins(), {}, {}).reasons.at(0) + '\n';
}

// What `pincheck run` says of processes that it could not see.
std::string processes_text() {
    SummaryOptions options;
    options.checking = true;
    std::string text;
    const auto said = [&](const JobSeen& seen) {
        testing::internal::CaptureStderr();
        EXPECT_EQ(print_summary(options, seen).verdict, Verdict::no_conclusion);
        text += testing::internal::GetCapturedStderr();
    };
    JobSeen seen;
    SeenProcess process;
    process.pid = 7;
    process.command = "worker";
    seen.hidden = {process};
    said(seen);
    seen.blind.assign(11, process);
    said(seen);
    seen.still_running = {process};
    seen.one_line = true;
    said(seen);
    seen.blind.clear();
    said(seen);
    return text;
}

TEST_F(Messages, are_as_written_down) {
    std::string got;
    for (const std::string command : kCommands) {
        got += "$ " + command + '\n' + outcome_of(command) + '\n';
    }
    got += "Why a run saw nothing:\n" + hints_text();
    got += "\nWhy there is no verdict:\n" + reasons_text();
    got += "\nWhat no command here can cause:\n" + rare_text();
    got += "\nProcesses that a run did not see:\n" + processes_text();
    const std::string golden = PINCHECK_GOLDEN "/messages.txt";
    if (std::getenv("PINCHECK_UPDATE_GOLDEN") != nullptr) {
        std::ofstream(golden, std::ios::binary) << got;
    }
    write_text(folder_ / "got.txt", got);
    EXPECT_EQ(std::system(("diff -u " + golden + " " + (folder_ / "got.txt").string() + " >&2").c_str()), 0)
        << "a message changed: '+' is what is said now";
}

}  // namespace
}  // namespace pincheck::report::test
