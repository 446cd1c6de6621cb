// Looks at a process that runs: by its id, and at what came after a mark (tests/programs/two_phases.cpp).
#include <gtest/gtest.h>

#include <sys/wait.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "run_command.h"

namespace pincheck::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Said {
    std::string text;
    int status = -1;
};

Said pincheck(const std::string& arguments) {
    Said said;
    std::FILE* const out =
        popen((std::string("LC_ALL=C ") + PINCHECK_TEST_TOOL + ' ' + arguments + " 2>&1").c_str(), "r");
    std::array<char, 4096> part{};
    for (std::size_t count = 1; count != 0;) {
        count = std::fread(part.data(), 1, part.size(), out);
        said.text.append(part.data(), count);
    }
    const int status = pclose(out);
    said.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return said;
}

// Calls of copies in an export: by class of the host's memory.
std::map<std::string, std::uint64_t> copies(const json& data) {
    std::map<std::string, std::uint64_t> found;
    for (const json& site : data["sites"]) {
        if (site["kind"] == "copy" && site["calls"] != 0) {
            found[site["source"]["class"].get<std::string>()] += site["calls"].get<std::uint64_t>();
        }
    }
    return found;
}

class Live : public testing::Test {
  protected:
    static Command two_phases(const std::string& pattern) {
        Command command;
        command.arguments = {program_path("two_phases")};
        command.options = "threshold=999999:cupti=off:output=" + pattern;
        return command;
    }
    // The report is behind its process for a while: asks until it has so many copies.
    static json once_it_has(const std::string& place, std::uint64_t count) {
        const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (std::chrono::steady_clock::now() < give_up) {
            const Said said = pincheck("export --format=json " + place);
            if (said.status == 0) {
                json data = json::parse(said.text);
                std::uint64_t sum = 0;
                for (const auto& [kind, calls] : copies(data)) {
                    sum += calls;
                }
                if (sum == count) {
                    return data;
                }
            }
        }
        ADD_FAILURE() << place << " never has " << count << " copies";
        return {};
    }

    TemporaryFolder folder_;
    using Copies = std::map<std::string, std::uint64_t>;
};

TEST_F(Live, AProcessIdStandsForItsReportAndAMarkForWhatComesAfterIt) {
    // A name that says nothing of a report.
    Running running(two_phases((folder_.path() / "by id").string()), folder_.path());
    ASSERT_TRUE(running.wait_for_line("warm"));
    const std::string pid = std::to_string(running.pid());
    EXPECT_EQ(copies(once_it_has(pid, 50)), (Copies{{"pageable", 40}, {"pinned", 10}}));

    const Said marked = pincheck("mark " + pid + " warm");
    EXPECT_EQ(marked.status, 0) << marked.text;
    EXPECT_TRUE(has(marked.text, "pincheck report --since warm " + pid)) << marked.text;
    const json nothing = json::parse(pincheck("export --format=json --since warm " + pid).text);
    EXPECT_EQ(nothing["since"], "warm");
    EXPECT_EQ(copies(nothing), Copies());
    EXPECT_EQ(nothing["verdict"], "no-conclusion") << "no call was made since";

    running.say("on\n");
    ASSERT_TRUE(running.wait_for_line("served"));
    once_it_has(pid, 62);
    const json since = json::parse(pincheck("export --format=json --since warm " + pid).text);
    EXPECT_EQ(copies(since), (Copies{{"pageable", 5}, {"pinned", 7}}));
    EXPECT_EQ(since["processes"][0]["cuda_calls"], 12);
    ASSERT_EQ(since["findings"].size(), 1u);
    EXPECT_EQ(since["findings"][0]["amounts"]["count"], 5);
    const Said screen = pincheck("report --since warm " + pid);
    EXPECT_TRUE(has(screen.text, " since mark warm")) << screen.text;
    EXPECT_EQ(pincheck("check --since warm " + pid).status, 1);

    running.say("on\n");
    EXPECT_TRUE(running.wait().exited(0));
    const Said gone = pincheck("report " + pid);
    EXPECT_EQ(gone.status, 2);
    EXPECT_TRUE(has(gone.text, "no process " + pid + " is running")) << gone.text;
    // By its file, later on.
    const std::string file = "'" + (folder_.path() / "by id").string() + "'";
    EXPECT_EQ(copies(json::parse(pincheck("export --format=json --since warm " + file).text)),
              (Copies{{"pageable", 5}, {"pinned", 7}}));
    const Said late = pincheck("mark " + file + " late");
    EXPECT_EQ(late.status, 2);
    EXPECT_TRUE(has(late.text, "has ended")) << late.text;
}

TEST_F(Live, OfAFolderWhoStartsLaterCountsWhole) {
    const std::string reports = folder_.path().string();
    Running first(two_phases(reports + "/%p.pcr"), folder_.path());
    ASSERT_TRUE(first.wait_for_line("warm"));
    once_it_has(reports, 50);
    const Said marked = pincheck("mark " + reports + " warm");
    EXPECT_EQ(marked.status, 0) << marked.text;
    Running second(two_phases(reports + "/%p.pcr"), folder_.path());
    ASSERT_TRUE(second.wait_for_line("warm"));
    once_it_has(reports, 100);
    const json since = json::parse(pincheck("export --format=json --since warm " + reports).text);
    EXPECT_EQ(copies(since), (Copies{{"pageable", 40}, {"pinned", 10}}));
    EXPECT_EQ(since["errors"].size(), 0u);
    first.say("on\non\n");
    second.say("on\non\n");
    EXPECT_TRUE(first.wait().exited(0));
    EXPECT_TRUE(second.wait().exited(0));
    EXPECT_EQ(copies(json::parse(pincheck("export --format=json --since warm " + reports).text)),
              (Copies{{"pageable", 45 + 5}, {"pinned", 17 + 7}}));
}

TEST_F(Live, TopShowsAllFirstAndThenWhatCame) {
    Running running(two_phases((folder_.path() / "top.pcr").string()), folder_.path());
    ASSERT_TRUE(running.wait_for_line("warm"));
    const std::string pid = std::to_string(running.pid());
    once_it_has(pid, 50);
    const Said first = pincheck("top --count 2 --interval 1 " + pid);
    EXPECT_EQ(first.status, 0) << first.text;
    EXPECT_TRUE(has(first.text, "all of ")) << first.text;
    EXPECT_TRUE(has(first.text, "cudaMemcpyAsync H2D pageable")) << first.text;
    EXPECT_TRUE(has(first.text, ": 0 CUDA calls, ")) << first.text;
    running.say("on\non\n");
    EXPECT_TRUE(running.wait().exited(0));
    // An ended process's report is shown once.
    const Said last = pincheck("top '" + (folder_.path() / "top.pcr").string() + "'");
    EXPECT_EQ(last.status, 0) << last.text;
    EXPECT_EQ(pincheck("top " + (folder_.path() / "none.pcr").string()).status, 2);
}

// No waiting for the next snapshot: what was flushed is there.
TEST_F(Live, AFlushBringsTheReportUpToDate) {
    Command command = two_phases((folder_.path() / "flushed.pcr").string());
    command.arguments = {program_path("flushes")};
    Running running(command, folder_.path());
    ASSERT_TRUE(running.wait_for_line("flushed"));
    const Said said = pincheck("export --format=json " + (folder_.path() / "flushed.pcr").string());
    ASSERT_EQ(said.status, 0) << said.text;
    EXPECT_EQ(copies(json::parse(said.text)), (Copies{{"pageable", 15}}));
    running.say("on\n");
    const Outcome outcome = running.wait();
    EXPECT_TRUE(outcome.exited(0)) << describe(outcome);
    EXPECT_EQ(outcome.out, "before 0\nfirst 1, again 1, more 1\nin the child 0\nflushed\n");
    EXPECT_EQ(FinishedRun(command.without_tool()).outcome().out, "none\n");
}

TEST_F(Live, AProcessWithoutAReportIsSaid) {
    Command command = two_phases("");
    command.preload.clear();
    command.options.clear();
    Running running(command, folder_.path());
    ASSERT_TRUE(running.wait_for_line("warm"));
    const Said said = pincheck("mark " + std::to_string(running.pid()) + " warm");
    EXPECT_EQ(said.status, 2);
    EXPECT_TRUE(has(said.text, "writes no report")) << said.text;
    running.say("on\non\n");
    running.wait();
}

TEST_F(Live, WhatIsWrongWithAMarkIsSaid) {
    Running running(two_phases((folder_.path() / "one.pcr").string()), folder_.path());
    ASSERT_TRUE(running.wait_for_line("warm"));
    const std::string file = (folder_.path() / "one.pcr").string();
    once_it_has(file, 50);
    const auto says = [&](const std::string& arguments, const std::string& text) {
        const Said said = pincheck(arguments);
        EXPECT_EQ(said.status, 2) << arguments;
        EXPECT_TRUE(has(said.text, text)) << said.text;
    };
    says("mark " + file + " a/b", "the name of a mark has");
    says("mark " + file, "NAME is required");
    says("mark " + (folder_.path() / "none.pcr").string() + " x", "No such file");
    says("report --since warm " + file, "has no mark 'warm'; 'pincheck mark");
    says("report --since ../x " + file, "the name of a mark has");
    std::ofstream(file + ".mark-warm") << "no report";
    says("report --since warm " + file, ".mark-warm");
    // Another process's.
    fs::copy_file(file, folder_.path() / "other.pcr");
    Running other(two_phases((folder_.path() / "two.pcr").string()), folder_.path());
    ASSERT_TRUE(other.wait_for_line("warm"));
    const std::string second = (folder_.path() / "two.pcr").string();
    once_it_has(second, 50);
    fs::copy_file(second, file + ".mark-other");
    says("report --since other " + file, "is of another process");
    for (Running* one : {&running, &other}) {
        one->say("on\non\n");
        one->wait();
    }
}

}  // namespace
}  // namespace pincheck::test
