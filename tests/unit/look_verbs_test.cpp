// report, show and explain as programs: exit statuses and every message on standard error, word for word.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "analyzer/explain.h"
#include "analyzer/nearest.h"
#include "report_test_sample.h"

namespace pincheck::report::test {
namespace {

struct Outcome {
    int status;
    std::string out;
    std::string err;
};

Outcome run(const std::string& arguments) {
    const TempFile out;
    const TempFile err;
    const auto contents = [](const std::string& path) {
        std::ostringstream text;
        text << std::ifstream(path, std::ios::binary).rdbuf();
        return text.str();
    };
    const std::string command =
        std::string(PINCHECK_PROGRAM) + " " + arguments + " >" + out.path() + " 2>" + err.path();
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), contents(out.path()), contents(err.path())};
}

// The sample's modules do not exist here: what is said about that is symbolize's.
std::string without_modules(const std::string& err) {
    std::istringstream lines(err);
    std::string kept;
    for (std::string line; std::getline(lines, line);) {
        kept += line.find("/opt/") != line.npos || line.find("module") != line.npos ? "" : line + '\n';
    }
    return kept;
}

class Verbs : public testing::Test {
  protected:
    void SetUp() override {
        const ImageOwner image = make_image();
        fill_sample(*image);
        ASSERT_TRUE(image->snapshot(file_.descriptor(), 10'000, FileState::ended).written);
    }
    const std::string& path() const { return file_.path(); }

  private:
    TempFile file_;
};

void expect_error(const std::string& arguments, const std::string& message) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 2) << arguments;
    EXPECT_EQ(outcome.out, "") << arguments;
    EXPECT_EQ(without_modules(outcome.err), message) << arguments;
}

TEST_F(Verbs, report_shows_a_screen_and_succeeds) {
    const Outcome outcome = run("report --width 80 " + path());
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_TRUE(outcome.out.starts_with("pincheck: ")) << outcome.out;
    EXPECT_NE(outcome.out.find("(look only: exit 0; --check exits "), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find("\nReport          " + path()), std::string::npos) << outcome.out;
    EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos) << "no terminal, no colours";
}

TEST_F(Verbs, report_paints_when_told_to) {
    EXPECT_NE(run("report --color always " + path()).out.find('\x1b'), std::string::npos);
    EXPECT_EQ(run("report --color never " + path()).out.find('\x1b'), std::string::npos);
}

TEST_F(Verbs, report_goes_on_without_the_files_that_it_cannot_read) {
    const Outcome outcome = run("report " + path() + " /no/such.pcr");
    EXPECT_EQ(outcome.status, 0);
    EXPECT_NE(outcome.out.find("/no/such.pcr"), std::string::npos) << outcome.out;
}

TEST_F(Verbs, report_without_a_readable_file_fails) {
    const Outcome outcome = run("report /no/such.pcr");
    EXPECT_EQ(outcome.status, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_TRUE(outcome.err.starts_with("pincheck: ")) << outcome.err;
    EXPECT_NE(outcome.err.find("/no/such.pcr"), std::string::npos) << outcome.err;
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
}

TEST_F(Verbs, wrong_usage_is_named) {
    expect_error("report", "pincheck: FILE is required; see 'pincheck report --help'\n");
    expect_error("report --wide " + path(),
                 "pincheck: The following argument was not expected: --wide; see 'pincheck report --help'\n");
    expect_error("report --color maybe " + path(),
                 "pincheck: --color: maybe not in {auto,always,never}; see 'pincheck report --help'\n");
    expect_error("show", "pincheck: N is required; see 'pincheck show --help'\n");
    expect_error("show 1", "pincheck: FILE is required; see 'pincheck show --help'\n");
}

TEST_F(Verbs, width_has_limits) {
    for (const char* width : {"59", "201", "-1", "x"}) {
        const Outcome outcome = run("report --width " + std::string(width) + " " + path());
        EXPECT_EQ(outcome.status, 2) << width;
        EXPECT_EQ(outcome.out, "") << width;
        EXPECT_TRUE(outcome.err.starts_with("pincheck: ")) << outcome.err;
        EXPECT_NE(outcome.err.find("--width"), std::string::npos) << outcome.err;
        EXPECT_TRUE(outcome.err.ends_with("; see 'pincheck report --help'\n")) << outcome.err;
    }
}

TEST_F(Verbs, show_refuses_what_is_no_finding_or_site) {
    for (const char* text : {"0", "x", "s", "s0", "1x", "-", "99999999999"}) {
        expect_error("show -- " + std::string(text) + " " + path(),
                     "pincheck: \"" + std::string(text) +
                         "\" is neither a finding's number (1) nor a site (s1); see 'pincheck show --help'\n");
    }
    const Outcome outcome = run("show 4000 " + path());
    EXPECT_EQ(outcome.status, 2);
    EXPECT_NE(outcome.err.find("pincheck: there is no finding 4000: the report has "), std::string::npos)
        << outcome.err;
    EXPECT_NE(outcome.err.find("; 'pincheck report --all' lists them\n"), std::string::npos) << outcome.err;
    const Outcome site = run("show s4000 " + path());
    EXPECT_EQ(site.status, 2);
    EXPECT_NE(site.err.find("pincheck: there is no site s4000: the report has "), std::string::npos) << site.err;
}

TEST_F(Verbs, show_takes_a_site) {
    const Outcome outcome = run("show s1 " + path());
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_TRUE(outcome.out.starts_with("Site s1 ")) << outcome.out;
}

TEST_F(Verbs, a_report_by_size_is_a_table) {
    const Outcome outcome = run("report --by-size " + path());
    EXPECT_EQ(outcome.status, 0);
    EXPECT_TRUE(outcome.out.starts_with("Host to device (H2D)\n")) << outcome.out;
    EXPECT_EQ(run("report --by-size /no/such.pcr").status, 2);
}

TEST_F(Verbs, an_unreadable_file_of_patterns_is_an_error) {
    const Outcome outcome = run("report --origins /no/such.json " + path());
    EXPECT_EQ(outcome.status, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find("/no/such.json"), std::string::npos) << outcome.err;
}

TEST(Explain, lists_and_tells) {
    const Outcome list = run("explain");
    EXPECT_EQ(list.status, 0);
    for (const ExplainTopic& topic : explain_topics()) {
        EXPECT_NE(list.out.find(topic.slug), std::string::npos) << topic.slug;
        const Outcome told = run("explain " + topic.slug);
        EXPECT_EQ(told.status, 0);
        EXPECT_TRUE(told.out.starts_with(topic.slug + ": ")) << told.out;
        // Causes of waits have a short page each; hidden-wait has what they have in common.
        const int least = rule_by_slug(topic.slug) != nullptr ? 15 : 6;
        EXPECT_GE(std::ranges::count(told.out, '\n'), least) << "a text, not a line: " << topic.slug;
    }
}

TEST(Explain, offers_the_nearest_names) {
    const std::string tail = " 'pincheck explain' lists the names\n";
    expect_error("explain pagable",
                 "pincheck: nothing is called \"pagable\". Did you mean pageable-async-copy?" + tail);
    expect_error("explain gates", "pincheck: nothing is called \"gates\". Did you mean default-gate or gate?" + tail);
    expect_error("explain zzz", "pincheck: nothing is called \"zzz\"." + tail);
    expect_error("explain $'a\\e[2J'", "pincheck: nothing is called \"$a\\\\e[2J\"." + tail);
}

TEST(Explain, nearest_are_few_and_near) {
    using Strings = std::vector<std::string>;
    const Strings names = {"aaaa-bbbb", "aaaa-cccc", "aaaa-dddd", "aaaa-eeee", "xxxx"};
    EXPECT_EQ(nearest("aaaa", names).size(), 3u);
    EXPECT_EQ(nearest("ccc", names), Strings{"aaaa-cccc"});
    EXPECT_EQ(nearest("yyyy", names), Strings{});
    EXPECT_EQ(nearest(std::string(1'000'000, 'a'), names), Strings{});
}

}  // namespace
}  // namespace pincheck::report::test
