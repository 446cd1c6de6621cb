// Races as findings: which are errors, whose they are, and what is said.
#include <gtest/gtest.h>

#include <algorithm>

#include "analyzer/explain.h"
#include "analyzer/names.h"
#include "analyzer/race_text.h"
#include "analyzer/races.h"
#include "races_sample.h"

namespace pincheck::test {
namespace {

using report::Direction;
using report::Loss;
using report::MemoryClass;
using report::RaceLevel;
using report::RaceRule;

std::vector<Finding> find(const Capture& capture) {
    return pincheck::find(capture, Origins());
}

// The findings of this race, in a capture with nothing else that is wrong.
std::vector<Finding> find(std::vector<CaptureRace> races) {
    Capture capture = racing_sites();
    capture.races = std::move(races);
    std::vector<Finding> findings = find(capture);
    std::erase_if(findings, [](const Finding& finding) { return finding.races.empty(); });
    return findings;
}

Finding only(const CaptureRace& race) {
    const std::vector<Finding> findings = find(std::vector{race});
    EXPECT_EQ(findings.size(), 1u);
    return findings.empty() ? Finding() : findings[0];
}

Judgement judged(const CaptureRace& race, const PolicyOptions& options = {}) {
    LoadResult loaded;
    loaded.capture = racing_sites();
    loaded.capture.sites[kPageable - 1].source.kind = MemoryClass::pinned;
    loaded.capture.races = {race};
    return judge(loaded, find(loaded.capture), Origins(), options, {});
}

std::string text(const Finding& finding) {
    return finding.why + " Fix: " + finding.fix;
}

TEST(Races, have_the_slugs_that_the_recorder_names_them_by) {
    for (std::uint16_t i = 1; i <= 9; ++i) {
        const auto recorded = static_cast<RaceRule>(i);
        const std::optional<Rule> rule = rule_of(recorded);
        ASSERT_TRUE(rule) << i;
        const RuleInfo* info = rule_by_slug(name(recorded));
        ASSERT_NE(info, nullptr) << name(recorded);
        EXPECT_EQ(info->rule, *rule);
    }
    EXPECT_FALSE(rule_of(static_cast<RaceRule>(10))) << "of a newer recorder";
    EXPECT_TRUE(find(std::vector{race_sample(static_cast<RaceRule>(10), kUpload, kMemset)}).empty());
}

// cudaMemset and cudaMemcpy within the device do not wait, but few know.
TEST(Races, of_device_memory_behind_blocking_functions_are_presumed) {
    Capture capture = racing_sites();
    capture.sites[kUpload - 1].flags = 0;
    capture.races = {race_sample(RaceRule::unordered_copies, kUpload, kMemset)};
    capture.races[0].flags = report::kRaceOnDevice;
    std::vector<Finding> findings = find(capture);
    std::erase_if(findings, [](const Finding& finding) { return finding.races.empty(); });
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].severity, Severity::note);
    EXPECT_TRUE(findings[0].presumed);
    EXPECT_NE(findings[0].why.find("Presumed: the call may have waited for its work, which CUDA does not promise."),
              std::string::npos)
        << findings[0].why;
}

TEST(Races, are_errors_and_gate) {
    for (const RaceRule rule :
         {RaceRule::unordered_copies, RaceRule::source_overwritten_in_flight,
          RaceRule::destination_overwritten_in_flight, RaceRule::destination_read_in_flight,
          RaceRule::result_never_awaited, RaceRule::graph_buffer_gone, RaceRule::staged_too_early}) {
        for (const bool corrupting : {true, false}) {
            CaptureRace race = race_sample(rule, kUpload, kMemset);
            race.corrupting = corrupting ? 60 : 0;
            EXPECT_EQ(only(race).severity, Severity::error) << name(rule);
            EXPECT_EQ(judged(race).verdict, Verdict::violated) << name(rule);
        }
    }
}

TEST(Races, that_are_presumed_are_notes_and_say_why) {
    CaptureRace race = race_sample(RaceRule::source_overwritten_in_flight, kUpload, kMemset);
    race.flags = report::kRacePresumed;
    const Finding finding = only(race);
    EXPECT_EQ(finding.severity, Severity::note);
    EXPECT_TRUE(finding.presumed);
    EXPECT_TRUE(
        finding.why.ends_with(" Presumed: streams that signal through memory, or work that was not followed, "
                              "may order the two unseen."))
        << finding.why;
    PolicyOptions options;
    EXPECT_EQ(judged(race, options).verdict, Verdict::pass);
    options.strict = true;
    for (const Finding& gated : judged(race, options).gated) {
        EXPECT_TRUE(gated.races.empty()) << "a note never gates";
    }
}

TEST(Races, by_a_release_are_warnings_where_cuda_waits_for_the_device) {
    const Finding freed = only(race_sample(RaceRule::released_in_flight, kUpload, kFreeHost));
    EXPECT_EQ(freed.severity, Severity::warning);
    EXPECT_EQ(freed.corrupting, 0u) << "nothing is lost";
    EXPECT_NE(text(freed).find("The call waits for the device"), std::string::npos);
    CaptureRace unmapped = race_sample(RaceRule::released_in_flight, kUpload, 0, RaceLevel::watch);
    unmapped.call = "munmap";
    EXPECT_EQ(only(unmapped).severity, Severity::error);
    EXPECT_EQ(judged(unmapped).verdict, Verdict::violated);
    EXPECT_NE(only(unmapped).why.find("The host, by munmap(), takes the memory away"), std::string::npos)
        << only(unmapped).why;
    // The same where the recorder saw the release itself.
    unmapped.other_site = kAccess;
    EXPECT_EQ(only(unmapped).severity, Severity::error);
}

TEST(Races, between_a_librarys_own_calls_do_not_gate) {
    const auto race = [](std::uint32_t copy, std::uint32_t other) {
        return race_sample(RaceRule::source_overwritten_in_flight, copy, other);
    };
    PolicyOptions strict;
    strict.strict = true;
    for (const CaptureRace& one : {race(kNccl, kNccl), race(kTorch, kTorch), race(kTorch, kNccl)}) {
        EXPECT_EQ(judged(one).verdict, Verdict::pass);
        EXPECT_EQ(judged(one, strict).gated.at(0).rule, Rule::source_overwritten_in_flight);
    }
    EXPECT_EQ(only(race(kNccl, kNccl)).issuer, Origin::vendor);
    EXPECT_EQ(only(race(kTorch, kTorch)).issuer, Origin::framework);
    // One party is the user's.
    for (const CaptureRace& one :
         {race(kNccl, kMemset), race(kTorch, kMemset), race(kUpload, kNccl), race(kUpload, kTorch)}) {
        EXPECT_EQ(only(one).issuer, Origin::user);
        EXPECT_EQ(judged(one).verdict, Verdict::violated);
    }
}

// A tensor's elements, written by the framework's code on the CPU because the user says so.
TEST(Races, by_an_access_of_a_frameworks_code_are_the_users) {
    Capture capture = racing_sites();
    capture.sites[kAccess - 1].stack.insert(capture.sites[kAccess - 1].stack.begin(), frame_sample(2, 0x99));
    capture.races = {race_sample(RaceRule::source_overwritten_in_flight, kTorch, kAccess, RaceLevel::trap)};
    EXPECT_EQ(find(capture).at(0).issuer, Origin::user);
    capture.sites[kAccess - 1].stack[0].module = 1;
    capture.races[0].copy_site = kNccl;
    EXPECT_EQ(find(capture).at(0).issuer, Origin::vendor);
}

// Nobody saw who wrote. A framework copies from the user's buffers, a vendor's library from its own too.
TEST(Races, with_an_unseen_access_are_the_librarys_only_in_a_vendors_own_buffer) {
    const auto race = [](std::uint32_t copy, std::uint32_t pin) {
        CaptureRace one = race_sample(RaceRule::source_overwritten_in_flight, copy, 0, RaceLevel::watch);
        one.pin_site = pin;
        return one;
    };
    EXPECT_EQ(judged(race(kTorch, kPin)).verdict, Verdict::violated);
    EXPECT_EQ(judged(race(kTorch, 0)).verdict, Verdict::violated);
    EXPECT_EQ(judged(race(kNccl, kPin)).verdict, Verdict::violated);
    EXPECT_EQ(judged(race(kNccl, 0)).verdict, Verdict::violated);
    EXPECT_EQ(judged(race(kNccl, kNcclPin)).verdict, Verdict::pass);
    EXPECT_NE(only(race(kTorch, kPin)).fix.find("PyTorch: event.record()"), std::string::npos);
    EXPECT_TRUE(only(race(kNccl, kNcclPin)).fix.starts_with("nothing in your code"));
}

TEST(Races, come_before_everything_that_only_costs_time_and_corrupting_ones_first) {
    const std::vector<Finding> findings = find(racing_capture());
    ASSERT_EQ(findings.size(), 10u);
    int rank = 0;
    for (const Finding& finding : findings) {
        EXPECT_GE(race_rank(finding), rank);
        rank = race_rank(finding);
    }
    EXPECT_NE(findings[0].corrupting, 0u);
    EXPECT_EQ(findings[7].rule, Rule::pageable_async_copy);
    EXPECT_EQ(findings[7].held_ns, 100 * 881'410u);
    EXPECT_EQ(findings[8].rule, Rule::released_in_flight);
    EXPECT_EQ(findings[9].rule, Rule::relies_on_staging);
}

TEST(Races, of_one_rule_and_pair_of_sites_are_one_finding) {
    CaptureRace by_watch = race_sample(RaceRule::source_overwritten_in_flight, kUpload, kMemset, RaceLevel::watch);
    CaptureRace by_trap = race_sample(RaceRule::source_overwritten_in_flight, kUpload, kMemset, RaceLevel::trap);
    by_trap.count = 61;
    const std::vector<Finding> findings = find({by_watch, by_trap});
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].count, 121u);
    EXPECT_EQ(findings[0].races, (std::vector<std::uint32_t>{1, 0})) << "the more frequent one leads";
    EXPECT_NE(findings[0].why.find("; by a trap on the access itself, the kernel's record of written pages."),
              std::string::npos)
        << findings[0].why;
    by_trap.flags = report::kRacePresumed;
    EXPECT_EQ(find({by_watch, by_trap}).size(), 2u) << "a note is not added to an error";
}

TEST(Races, of_a_result_left_at_the_end_belong_to_the_others_of_that_copy) {
    CaptureRace again = race_sample(RaceRule::result_never_awaited, kDownload, kDownload);
    CaptureRace left = race_sample(RaceRule::result_never_awaited, kDownload, 0);
    left.flags = report::kRaceAtExit;
    left.count = 1;
    const std::vector<Finding> findings = find({left, again});
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].other_site, kDownload);
    EXPECT_NE(findings[0].why.find(" One of them when the program ended."), std::string::npos) << findings[0].why;
    const Finding alone = only(left);
    EXPECT_EQ(alone.why.find("The program ends, and the host never learned that the copy was complete"), 0u)
        << alone.why;
    EXPECT_TRUE(alone.once);
    left.flags = report::kRaceReleased;
    left.other_site = kFreeHost;
    EXPECT_EQ(only(left).why.find("cudaFreeHost at src/x.cu:50 gives the destination back, and"), 0u) << only(left).why;
}

TEST(Races, name_both_parties_the_bytes_the_wait_and_how_they_are_known) {
    CaptureRace race = race_sample(RaceRule::source_overwritten_in_flight, kUpload, 0, RaceLevel::watch);
    race.after_site = kUpload;
    race.before_site = race.wait_site = kWait;
    race.pin_site = kPin;
    const Finding finding = only(race);
    EXPECT_EQ(finding.site, kUpload);
    EXPECT_EQ(finding.heading, 0);
    EXPECT_EQ(finding.api, "cudaMemcpyAsync");
    EXPECT_EQ(finding.held_ns, 0u);
    EXPECT_EQ(finding.why,
              "The host, between cudaMemcpyAsync at src/x.cu:10 and cudaEventSynchronize at src/x.cu:60, writes the "
              "copy's source, and the copy is not known to be complete. Both use bytes 4,096 to 8,191 of 1 MiB. Found "
              "60 times: 50 corrupting (the copy was still to come or running), 7 latent (the device had finished it, "
              "but nobody had asked), of 3 it is not known; by the kernel's record of written "
              "pages. cudaEventSynchronize at src/x.cu:60 waits for the copy, too late. Page-locked by cudaMallocHost "
              "at src/x.cu:90.");
    EXPECT_EQ(finding.fix,
              "move the wait (cudaEventSynchronize at src/x.cu:60) before the buffer is written again, or "
              "double-buffer (two buffers in turn, each used again after an event recorded behind its own copy).");
}

TEST(Races, say_what_to_do_by_rule_and_party) {
    const auto fix = [](RaceRule rule, std::uint32_t copy, std::uint32_t other) {
        return only(race_sample(rule, copy, other)).fix;
    };
    const auto has = [](const std::string& one, const char* part) {
        EXPECT_NE(one.find(part), std::string::npos) << one;
    };
    has(fix(RaceRule::unordered_copies, kDownload, kMemset), "cudaStreamWaitEvent");
    has(fix(RaceRule::source_overwritten_in_flight, kUpload, kDownload), "cudaStreamWaitEvent");
    has(fix(RaceRule::source_overwritten_in_flight, kUpload, kAccess), "wait for an event recorded after the copy");
    has(fix(RaceRule::destination_read_in_flight, kDownload, kAccess), "before the result is read");
    has(fix(RaceRule::result_never_awaited, kDownload, kDownload), "before the buffer's next use");
    has(fix(RaceRule::graph_buffer_gone, kUpload, kLaunch), "as long as the graph executable");
    has(fix(RaceRule::staged_too_early, kPageable, kHostFunction), "copy from page-locked memory");
    has(fix(RaceRule::destination_read_in_flight, kDownload, kUpload), "cudaStreamWaitEvent");
    has(fix(RaceRule::relies_on_staging, kPageable, kPageable), "Before page-locking it: double-buffer");
    has(fix(RaceRule::released_in_flight, kUpload, kFreeHost), "before giving the memory back");
    has(fix(RaceRule::released_in_flight, kUpload, 0), "cudaHostUnregister");
}

// D1, S3: batch copies that do not read their source where one would think.
TEST(Races, of_batch_copies_tell_what_their_source_order_means) {
    Capture capture = racing_sites();
    capture.sites[kPageable - 1].api = "cudaMemcpyBatchAsync";
    capture.races = {race_sample(RaceRule::released_in_flight, kPageable, 0, RaceLevel::watch)};
    EXPECT_NE(find(capture).at(0).why.find(" The memory is pageable, but with this function and source order it may be "
                                           "read after the call has returned."),
              std::string::npos)
        << find(capture).at(0).why;
    capture.sites[kDownload - 1].source_order = report::SourceOrder::any;
    capture.races = {race_sample(RaceRule::unordered_copies, kDownload, kLaunch)};
    capture.races[0].stream = capture.races[0].other_stream = 1;
    EXPECT_NE(find(capture).at(0).why.find("earlier work of its own stream does not protect its source."),
              std::string::npos)
        << find(capture).at(0).why;
    EXPECT_NE(find(capture).at(0).fix.find("cudaMemcpySrcAccessOrderStream"), std::string::npos);
}

TEST(Races, can_have_a_fill_in_flight) {
    const Finding finding = only(race_sample(RaceRule::unordered_copies, kMemset, kDownload));
    EXPECT_EQ(finding.site, kMemset);
    EXPECT_NE(finding.why.find("nothing orders it with this fill."), std::string::npos) << finding.why;
}

// ---- Pageable copies whose buffer is used again at once

// A7, M1: page-locking alone would make it a race.
TEST(ReliesOnStaging, stops_the_plain_advice_to_page_lock) {
    for (const Direction direction : {Direction::host_to_device, Direction::device_to_host}) {
        Capture capture = racing_sites();
        CaptureSite& copy = capture.sites[kPageable - 1];
        copy.direction = direction;
        std::swap(copy.source, direction == Direction::device_to_host ? copy.destination : copy.source);
        const auto fix = [&] {
            for (const Finding& finding : find(capture)) {
                if (finding.rule == Rule::pageable_async_copy) {
                    return finding.fix;
                }
            }
            return std::string();
        };
        EXPECT_TRUE(fix().starts_with("copy ")) << fix();
        capture.races = {race_sample(RaceRule::relies_on_staging, kPageable, kPageable)};
        EXPECT_TRUE(
            fix().starts_with("double-buffer, or wait for an event before the buffer's next use: pinning alone "
                              "would make this a race."))
            << fix();
        capture.races[0].wait_site = kWait;
        EXPECT_TRUE(
            fix().starts_with("double-buffer, or move the wait (cudaEventSynchronize at src/x.cu:60) before the "
                              "buffer's next use: pinning alone would make this a race."))
            << fix();
        capture.races[0].copy_site = kUpload;
        EXPECT_TRUE(fix().starts_with("copy ")) << "of another copy";
    }
}

TEST(ReliesOnStaging, tells_who_used_the_buffer_again) {
    const auto why = [](std::uint32_t copy, std::uint32_t other, std::uint16_t flags = 0) {
        CaptureRace race = race_sample(RaceRule::relies_on_staging, copy, other);
        race.flags = flags;
        return only(race).why;
    };
    EXPECT_EQ(why(kPageable, kPageable)
                  .find("The same call, made again, copies the same buffer with other contents: it "
                        "was filled again before any wait. That is safe only because the driver"),
              0u)
        << why(kPageable, kPageable);
    EXPECT_EQ(why(kDownload, kDownload).find("The same call, made again, copies over the result before any wait. That"),
              0u);
    CaptureRace written = race_sample(RaceRule::relies_on_staging, kPageable, 0, RaceLevel::watch);
    written.after_site = kPageable;
    written.before_site = written.wait_site = kWait;
    EXPECT_NE(only(written).why.find("writes the copy's source before any wait. That is safe only because"),
              std::string::npos)
        << only(written).why;
    EXPECT_NE(only(written).fix.find("move the wait (cudaEventSynchronize at src/x.cu:60)"), std::string::npos);
    written.flags = report::kRaceReleased;
    EXPECT_NE(only(written).why.find("takes the copy's source away before any wait."), std::string::npos);
    EXPECT_EQ(why(kDownload, 0, report::kRaceAtExit).find("The program ends without a wait for this copy. That"), 0u);
    // A batch copy that may be read later.
    EXPECT_EQ(why(kPageable, 0)
                  .find("With this function and source order the pageable source may be read after the "
                        "call has returned. Today's drivers read it inside the call."),
              0u);
    EXPECT_NE(only(race_sample(RaceRule::relies_on_staging, kPageable, 0)).fix.find("DuringApiCall"),
              std::string::npos);
    Capture capture = racing_sites();
    capture.races = {race_sample(RaceRule::relies_on_staging, kPageable, 0)};
    EXPECT_FALSE(relies_on_staging(capture, capture.sites[kPageable - 1])) << "nothing used it again";
}

TEST(Races, with_work_that_has_no_site_do_not_blame_the_host) {
    CaptureRace race = race_sample(RaceRule::unordered_copies, kDownload, 0);
    race.flags = report::kRacePresumed | report::kRaceOnDevice;
    race.stream = 1;
    EXPECT_EQ(only(race).why.find("Earlier work may write the same device memory, and nothing orders it with this copy "
                                  "in stream #1."),
              0u)
        << only(race).why;
    EXPECT_EQ(only(race_sample(RaceRule::staged_too_early, kPageable, 0))
                  .why.find("The bytes of pageable memory are read inside the call. A host function that was queued "
                            "before it fills them later: what was there before is copied."),
              0u);
}

TEST(Races, that_may_be_a_flag_say_so) {
    CaptureRace race = race_sample(RaceRule::result_never_awaited, kDownload, kDownload);
    race.flags = report::kRacePresumed;
    race.copy_bytes = race.end = 4;
    race.begin = 0;
    EXPECT_NE(only(race).why.find(" Presumed: a result this small may be a flag that the host polls"),
              std::string::npos);
}

TEST(ReliesOnStaging, is_a_note) {
    const CaptureRace race = race_sample(RaceRule::relies_on_staging, kPageable, 0);
    EXPECT_EQ(only(race).severity, Severity::note);
    EXPECT_EQ(judged(race).verdict, Verdict::pass);
    EXPECT_EQ(only(race).why.find("device's times"), std::string::npos);
}

// ---- Losses

TEST(RaceLosses, leave_no_conclusion_only_where_a_found_race_is_lost) {
    for (const auto& [loss, verdict] :
         {std::pair(Loss::races, Verdict::no_conclusion), std::pair(Loss::in_flight, Verdict::pass),
          std::pair(Loss::unwatched, Verdict::pass)}) {
        LoadResult loaded;
        loaded.capture = racing_sites();
        loaded.capture.sites[kPageable - 1].source.kind = MemoryClass::pinned;
        loaded.capture.processes[0].losses = {{loss, 3, 0}};
        EXPECT_EQ(judge(loaded, find(loaded.capture), Origins(), {}, {}).verdict, verdict) << name(loss);
    }
}

// ---- Explained

TEST(Explained, is_every_rule_with_what_is_wrong_and_what_is_right) {
    for (const RuleInfo& rule : rules()) {
        EXPECT_GT(std::string(rule.explain).size(), 400u) << rule.slug;
        // The note is about code that is right today, and about what it would be then.
        const bool is_right_today = rule.rule == Rule::relies_on_staging;
        const std::string text = std::string("\n") + rule.explain;
        EXPECT_NE(text.find(is_right_today ? "\n  today:  " : "\n  wrong:  "), std::string::npos) << rule.slug;
        EXPECT_NE(text.find(is_right_today ? "\n  then:   " : "\n  right:  "), std::string::npos) << rule.slug;
    }
    const std::vector<ExplainTopic> topics = explain_topics();
    EXPECT_NE(std::ranges::find(topics, "races", &ExplainTopic::slug), topics.end());
}

}  // namespace
}  // namespace pincheck::test
