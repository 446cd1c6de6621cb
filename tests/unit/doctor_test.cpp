// `pincheck doctor`: what facts mean, word for word (tests/golden/doctor*.txt), and what it says of surroundings that a
// test can make: filters, limits, folders, libraries, programs.
#include "analyzer/doctor.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "golden.h"

namespace pincheck::test {
namespace {

namespace fs = std::filesystem;

DoctorFacts healthy() {
    DoctorFacts facts;
    facts.library.path = "/opt/pincheck/lib/libpincheck.so";
    facts.trap_library.path = "/opt/pincheck/lib/libpincheck-trap.so";
    facts.unwinder.path = "/usr/lib/x86_64-linux-gnu/libunwind.so.8";
    facts.driver = {"/usr/lib/x86_64-linux-gnu/libcuda.so.1", 13000, ""};
    facts.runtime = {"/usr/local/cuda/lib64/libcudart.so.13", 13000, ""};
    facts.cupti = {"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13", 130001, ""};
    facts.kernel = "6.18.0";
    facts.finds_writes = true;
    facts.stops_writes = true;
    facts.max_mappings = 65530;
    facts.locked_bytes = 8u << 20;
    facts.descriptors = 1024;
    facts.output = {"/home/u/job", true, "", "", std::uint64_t{5} << 30};
    return facts;
}

DoctorFacts in_a_container() {
    DoctorFacts facts = healthy();
    facts.trap_library = {"", "races=trap needs libpincheck-trap.so beside libpincheck.so"};
    facts.unwinder = {"", 0, "libunwind.so.8: cannot open shared object file: No such file or directory"};
    facts.driver = {"", 0, "libcuda.so.1: cannot open shared object file: No such file or directory"};
    facts.runtime = {};
    facts.cupti = {};
    facts.seccomp_filter = true;
    facts.finds_writes = false;
    facts.watch_refusal = "a seccomp filter is in force";
    facts.stops_writes = false;
    facts.trap_refusal = facts.watch_refusal;
    facts.max_mappings = 1000;
    facts.file_bytes = 2u << 20;
    facts.descriptors = 256;
    facts.output.kind = "nfs";
    facts.users_preload = "/opt/other.so";
    return facts;
}

DoctorFacts broken() {
    DoctorFacts facts = healthy();
    facts.preload_error = "wrong\x1b[2J ELF class";
    facts.kernel = "5.10.0";
    facts.finds_writes = false;
    facts.watch_refusal = "this kernel has no PAGEMAP_SCAN; Linux 6.7 or newer is needed";
    facts.tracer = 77;
    facts.file_bytes = 0;
    facts.output.error = "Read-only file system";
    facts.options = "depth=many";
    facts.options_error = "option 'depth' in PINCHECK_OPTIONS takes 1-64, not 'many'";
    facts.command = {"./train"};
    facts.target.kind = TargetKind::fully_static;
    facts.target.path = "./train";
    return facts;
}

TEST(DoctorScreen, is_word_for_word) {
    expect_golden("doctor_ok", doctor_text(judge_facts(healthy()), 92, false));
    expect_golden("doctor_limited", doctor_text(judge_facts(in_a_container()), 92, false));
    expect_golden("doctor_broken", doctor_text(judge_facts(broken()), 92, false));
    expect_golden("doctor_narrow", doctor_text(judge_facts(broken()), 60, false), 60);
}

TEST(DoctorScreen, is_ok_only_where_everything_is) {
    EXPECT_EQ(worst_of(judge_facts(healthy())), Health::ok);
    EXPECT_EQ(worst_of(judge_facts(in_a_container())), Health::limited);
    EXPECT_EQ(worst_of(judge_facts(broken())), Health::broken);
}

TEST(DoctorScreen, says_of_all_that_is_not_ok_what_it_means_and_the_mend) {
    for (const DoctorFacts& facts : {in_a_container(), broken()}) {
        for (const Check& check : judge_facts(facts)) {
            EXPECT_FALSE(check.found.empty()) << check.name;
            EXPECT_EQ(check.means.empty(), check.health == Health::ok) << check.name;
            EXPECT_EQ(check.mend.empty(), check.health == Health::ok) << check.name;
        }
    }
}

// ---- The program

struct Answer {
    int status = -1;
    nlohmann::json document;
    // Of the check with this name: its status, "" where there is no such check.
    std::string operator[](const std::string& name) const {
        for (const auto& check : document["checks"]) {
            if (check["name"] == name) {
                return check["status"];
            }
        }
        return "";
    }
};

// `prepare` is called in the process that becomes pincheck.
Answer doctor(
    const std::vector<std::string>& arguments, const std::function<void()>& prepare = [] {}) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        unsetenv("LD_PRELOAD");
        unsetenv("PINCHECK_OPTIONS");
        unsetenv("PINCHECK_LIBRARY");
        prepare();
        std::vector<std::string> words = {PINCHECK_PROGRAM, "doctor", "--format=json"};
        words.insert(words.end(), arguments.begin(), arguments.end());
        std::vector<char*> pointers;
        for (std::string& word : words) {
            pointers.push_back(word.data());
        }
        pointers.push_back(nullptr);
        execv(pointers[0], pointers.data());
        _exit(127);
    }
    close(ends[1]);
    std::string text;
    char bytes[4096];
    for (ssize_t length; (length = read(ends[0], bytes, sizeof bytes)) > 0;) {
        text.append(bytes, static_cast<std::size_t>(length));
    }
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    Answer answer;
    answer.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    answer.document = nlohmann::json::parse(text, nullptr, false);
    EXPECT_FALSE(answer.document.is_discarded()) << text;
    return answer;
}

class Doctor : public testing::Test {
  protected:
    void SetUp() override {
        std::string folder = testing::TempDir() + "pincheck-doctor-XXXXXX";
        ASSERT_NE(mkdtemp(folder.data()), nullptr);
        folder_ = folder;
    }
    void TearDown() override { fs::remove_all(folder_); }
    fs::path folder_;
};

TEST_F(Doctor, finds_its_libraries_in_a_process_and_leaves_nothing_behind) {
    const Answer answer = doctor({"--output-dir", folder_});
    EXPECT_EQ(answer.status, 0) << answer.document.dump(1);
    EXPECT_EQ(answer["preload library"], "ok");
    EXPECT_EQ(answer["trap library"], "ok");
    EXPECT_EQ(answer["output folder"], "ok");
    EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(Doctor, says_when_the_library_cannot_be_loaded) {
    const fs::path library = folder_ / "libpincheck.so";
    std::ofstream(library) << std::string(1000, 'x');
    const Answer answer = doctor({}, [&] { setenv("PINCHECK_LIBRARY", library.c_str(), 1); });
    EXPECT_EQ(answer.status, 1);
    EXPECT_EQ(answer["preload library"], "broken");
    EXPECT_NE(answer.document.dump().find("invalid ELF header"), std::string::npos) << answer.document.dump(1);
}

TEST_F(Doctor, says_what_a_seccomp_filter_takes_away) {
    const Answer answer = doctor({}, [] {
        sock_filter allow_all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
        sock_fprog filter = {1, &allow_all};
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
    });
    EXPECT_EQ(answer.status, 0) << "it limits, and breaks nothing";
    EXPECT_EQ(answer["seccomp"], "limited");
    EXPECT_EQ(answer["races=watch"], "limited");
    EXPECT_EQ(answer["races=trap"], "limited");
}

TEST_F(Doctor, says_where_reports_cannot_go) {
    std::ofstream(folder_ / "file") << "x";
    for (const std::string& place : {std::string("/proc/nowhere"), (folder_ / "file").string()}) {
        const Answer answer = doctor({"--output-dir", place});
        EXPECT_EQ(answer.status, 1) << place;
        EXPECT_EQ(answer["output folder"], "broken") << place;
    }
    EXPECT_EQ(doctor({"--output-dir", folder_ / "new/deeper"})["output folder"], "ok") << "run makes it";
    EXPECT_FALSE(fs::exists(folder_ / "new"));
}

TEST_F(Doctor, knows_the_limits_that_it_runs_under) {
    const Answer answer = doctor({}, [] {
        const rlimit files = {0, 0};
        const rlimit descriptors = {100, 100};
        setrlimit(RLIMIT_FSIZE, &files);
        setrlimit(RLIMIT_NOFILE, &descriptors);
    });
    EXPECT_EQ(answer.status, 1);
    EXPECT_EQ(answer["file size"], "broken");
    EXPECT_EQ(answer["descriptors"], "limited");
}

TEST_F(Doctor, judges_the_options_and_the_program) {
    const auto mistaken = [] { setenv("PINCHECK_OPTIONS", "depth=many", 1); };
    EXPECT_EQ(doctor({}, mistaken).status, 1);
    EXPECT_EQ(doctor({}, mistaken)["PINCHECK_OPTIONS"], "broken");
    EXPECT_EQ(doctor({})["PINCHECK_OPTIONS"], "ok");

    EXPECT_EQ(doctor({})["program"], "");
    EXPECT_EQ(doctor({"--", "true"})["program"], "ok");
    std::ofstream(folder_ / "docker") << "#!/bin/sh\n";
    fs::permissions(folder_ / "docker", fs::perms::owner_all);
    EXPECT_EQ(doctor({"--", folder_ / "docker", "run", "image"})["program"], "limited");
    EXPECT_EQ(doctor({"--", folder_ / "no-such-program"})["program"], "broken");
    std::ofstream(folder_ / "static.c") << "int main(void) { return 0; }\n";
    const std::string compile =
        PINCHECK_CC " -static -o " + (folder_ / "static").string() + " " + (folder_ / "static.c").string();
    ASSERT_EQ(std::system(compile.c_str()), 0);
    const Answer answer = doctor({"--", folder_ / "static"});
    EXPECT_EQ(answer.status, 1);
    EXPECT_EQ(answer["program"], "broken");
}

}  // namespace
}  // namespace pincheck::test
