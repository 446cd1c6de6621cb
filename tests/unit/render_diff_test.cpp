// What `pincheck diff` says, word for word.
#include <algorithm>

#include "analyzer/render_markdown_diff.h"
#include "analyzer/render_text_diff.h"
#include "golden.h"
#include "render_test_sample.h"

namespace pincheck {
namespace {

using test::kMs;
using test::kSecond;

ListedFinding listed(const std::string& fingerprint, const std::string& heading, const Amounts& amounts,
                     Severity severity = Severity::error) {
    ListedFinding finding;
    finding.fingerprint = fingerprint;
    finding.place = "1";
    finding.rule = "pageable-async-copy";
    finding.heading = heading;
    finding.api = "cudaMemcpyAsync";
    finding.severity = severity;
    finding.gated = severity == Severity::error;
    finding.amounts = amounts;
    return finding;
}

void expect_golden_file(const std::string& name, const std::string& text) {
    const std::string path = PINCHECK_GOLDEN "/" + name;
    if (std::getenv("PINCHECK_UPDATE_GOLDEN") != nullptr) {
        std::ofstream(path, std::ios::binary) << text;
    }
    std::ostringstream golden;
    golden << std::ifstream(path, std::ios::binary).rdbuf();
    EXPECT_EQ(text, golden.str()) << path;
}

// One of everything.
struct Runs {
    ListedRun then;
    ListedRun now;

    std::string text(const DiffScreen& screen) const { return diff_text(then, now, diff_runs(then, now, {}), screen); }
};

Runs sample() {
    Runs runs;
    runs.then.file = "reports-main";
    runs.now.file = "reports-branch";
    for (ListedRun* run : {&runs.then, &runs.now}) {
        run->processes = 2;
        run->cuda_calls = 30'408;
        run->duration_ns = 214 * kSecond;
    }
    const Amounts some = {100, 100 << 16, 300 * kMs};
    ListedFinding wait = listed("wait", "Ring::push(int) (ring.cu:45)", {12, 0, 80 * kMs}, Severity::warning);
    wait.rule = "hidden-wait";
    wait.cause = "device-wide";
    wait.api = "cudaFree";
    ListedFinding less = wait;
    less.amounts = {12, 0, 31 * kMs};
    ListedFinding presumed = listed("race", "Pool::take() (pool.cu:7)", {3, 0, 0}, Severity::note);
    presumed.rule = "source-overwritten-in-flight";
    ListedFinding known = presumed;
    known.severity = Severity::error;
    known.gated = true;
    ListedFinding second = listed("moved", "to_device(Batch&) (data.cu:95)", some);
    ListedFinding third = second;
    second.place = "2";
    third.place = "3";
    runs.then.findings = {listed("grew", "Meter::update(float*) (meter.cu:41)", {6'240, 24'960, 19 * kSecond}),
                          listed("gone", "Cache::fill() (cache.cu:88)", some),
                          second,
                          listed("same", "Log::flush() (log.cu:12)", some),
                          presumed,
                          wait,
                          listed("more", "Queue::send() (queue.cu:30)", some)};
    runs.now.findings = {known,
                         listed("grew", "Meter::update(float*) (meter.cu:41)", {9'360, 37'440, 30 * kSecond}),
                         listed("new", "Trainer::step() (train.cu:52)", {50, 50 << 16, 150 * kMs}),
                         third,
                         listed("same", "Log::flush() (log.cu:12)", {101, 101 << 16, 310 * kMs}),
                         listed("more", "Queue::send() (queue.cu:33)", some),
                         listed("more", "Queue::send() (queue.cu:37)", some),
                         less};
    runs.now.findings[5].place = "8";
    runs.now.findings[6].place = "9";
    return runs;
}

TEST(DiffScreen, tells_what_changed) {
    DiffScreen screen;
    screen.show_then = "reports-main";
    screen.show_now = "reports-branch";
    expect_golden("diff", sample().text(screen));
}

TEST(DiffScreen, lists_all_and_fits_a_narrow_terminal) {
    DiffScreen screen;
    screen.all = true;
    screen.width = 60;
    expect_golden("diff_narrow", sample().text(screen), 60);
}

TEST(DiffScreen, warns_of_runs_that_cannot_be_compared) {
    Runs runs = sample();
    runs.then.findings.resize(1);
    runs.now.findings.resize(2);
    runs.now.processes = 1;
    runs.now.cuda_calls = 15'204;
    runs.now.duration_ns = 30 * kSecond;
    runs.then.reasons = {"x.pcr is empty"};
    runs.now.reasons = {"y.pcr: the file ends 10 bytes early; copy it again, or run the program again", "another"};
    expect_golden("diff_not_comparable", runs.text({}));
}

TEST(DiffScreen, says_little_of_nothing) {
    Runs runs = sample();
    runs.now = runs.then;
    expect_golden("diff_unchanged", runs.text({}));
    runs.then.findings = runs.now.findings = {};
    EXPECT_TRUE(runs.text({}).starts_with("pincheck: no findings in either run\n"));
}

void make_hostile(Runs& runs, const std::string& hostile) {
    for (ListedRun* run : {&runs.then, &runs.now}) {
        run->file = hostile;
        run->reasons = {hostile, hostile};
        run->processes = run->cuda_calls = run->duration_ns = UINT64_MAX;
        for (ListedFinding& finding : run->findings) {
            finding.rule = finding.cause = finding.heading = finding.api = hostile;
            finding.amounts = {UINT64_MAX, UINT64_MAX, UINT64_MAX};
        }
    }
}

TEST(DiffScreen, is_tidy_whatever_runs_say) {
    Runs runs = sample();
    const std::string hostile = "a\n\x1b[2J\x07\xff\xe2\x80\xae" + std::string(500, 'x');
    make_hostile(runs, hostile);
    DiffScreen screen;
    screen.all = true;
    screen.show_then = screen.show_now = hostile;
    for (const unsigned width : {60u, 92u, 200u}) {
        screen.width = width;
        expect_tidy(runs.text(screen), width);
    }
}

std::string markdown_of(const Runs& runs, bool all = false, std::size_t most_bytes = 60 * 1024) {
    return diff_markdown(runs.then, runs.now, diff_runs(runs.then, runs.now, {}), all, most_bytes);
}

TEST(DiffMarkdown, is_one_table) {
    Runs runs = sample();
    runs.now.cuda_calls = 20'000;
    runs.now.reasons = {"y.pcr is empty"};
    expect_golden_file("diff.md", markdown_of(runs));
    EXPECT_NE(markdown_of(runs, true).find("| Unchanged |"), std::string::npos);
    runs.then = runs.now;
    EXPECT_EQ(markdown_of(runs).find("\n|"), std::string::npos) << "no table of nothing";
}

TEST(DiffMarkdown, has_no_markup_of_others) {
    Runs runs = sample();
    make_hostile(runs, "a\n\x1b[2J<b>`x`</code>|@you ![i](http://x)\xff" + std::string(500, 'x'));
    const std::string text = markdown_of(runs, true);
    for (const char* markup : {"<b>", "`x`", "@you", "![", "http:", "\x1b", "\xff", "a\n"}) {
        EXPECT_EQ(text.find(markup), std::string::npos) << markup;
    }
}

TEST(DiffMarkdown, ends_where_there_is_no_more_room) {
    const std::string text = markdown_of(sample(), false, 1'000);
    EXPECT_LE(text.size(), 1'100u);
    EXPECT_NE(text.find(" more: there is no more room.\n"), std::string::npos) << text;
}

TEST(DiffScreen, paints_only_when_asked) {
    DiffScreen screen;
    EXPECT_EQ(sample().text(screen).find('\x1b'), std::string::npos);
    screen.color = true;
    EXPECT_NE(sample().text(screen).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace pincheck
