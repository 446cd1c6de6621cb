#include "races.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "explain_races.h"
#include "names.h"
#include "race_text.h"
#include "wait_text.h"

namespace pincheck {
namespace {

using namespace report;

struct RuleRow {
    Rule rule;
    RaceRule recorded;
    Severity severity;
    const char* slug;
    const char* claim;
};

constexpr std::array<RuleRow, 9> kRules = {{
    {Rule::source_overwritten_in_flight, RaceRule::source_overwritten_in_flight, Severity::error,
     "source-overwritten-in-flight", "memory is written while a copy may still read it"},
    {Rule::destination_read_in_flight, RaceRule::destination_read_in_flight, Severity::error,
     "destination-read-in-flight", "a copy's result is read before the copy is known to be complete"},
    {Rule::destination_overwritten_in_flight, RaceRule::destination_overwritten_in_flight, Severity::error,
     "destination-overwritten-in-flight", "memory is written that a copy may still write"},
    {Rule::unordered_copies, RaceRule::unordered_copies, Severity::error, "unordered-copies",
     "two streams use one range, one of them writes, and nothing orders them"},
    {Rule::result_never_awaited, RaceRule::result_never_awaited, Severity::error, "result-never-awaited",
     "a copy's result is overwritten, released or left, and nobody waited for it"},
    {Rule::graph_buffer_gone, RaceRule::graph_buffer_gone, Severity::error, "graph-buffer-gone",
     "a graph copies from or to stack memory of a function that has returned"},
    {Rule::released_in_flight, RaceRule::released_in_flight, Severity::warning, "released-in-flight",
     "memory is given back while a copy may still use it"},
    {Rule::staged_too_early, RaceRule::staged_too_early, Severity::error, "staged-too-early",
     "a pageable source is read before a host function queued earlier has filled it"},
    {Rule::relies_on_staging, RaceRule::relies_on_staging, Severity::note, "relies-on-staging",
     "a buffer's reuse is safe only because its memory is pageable"},
}};

const RuleRow* row_of(RaceRule rule) {
    const auto found = std::ranges::find(kRules, rule, &RuleRow::recorded);
    return found == kRules.end() ? nullptr : &*found;
}

bool is_library(Origin origin) {
    return origin == Origin::vendor || origin == Origin::framework;
}

// Whose race it is: a library's only where both parties are its calls. An access that nobody saw is the library's where
// it copied from a buffer of its own, which only a vendor's can be told to do: frameworks page-lock the user's buffers
// too. What a framework's code writes and reads itself (a tensor's elements), it does for the user.
Origin issuer_of_race(const Capture& capture, const CaptureRace& race, const Origins& origins) {
    const auto issuer_at = [&](std::uint32_t id) {
        return id == 0 || id > capture.sites.size() ? Origin::user : issuer_of(capture, capture.sites[id - 1], origins);
    };
    const Origin copy = issuer_at(race.copy_site);
    if (!is_library(copy)) {
        return copy;
    }
    if (race.other_site == 0 && !race.has(kRaceAtExit)) {
        return copy == Origin::vendor && race.pin_site != 0 && issuer_at(race.pin_site) == Origin::vendor
                   ? copy
                   : Origin::user;
    }
    const Origin other = race.other_site == 0 ? copy : issuer_at(race.other_site);
    if (!is_library(other)) {
        return other;
    }
    if (other == Origin::framework && race.other_site != 0 && race.other_site <= capture.sites.size() &&
        capture.sites[race.other_site - 1].kind == SiteKind::host_access) {
        return Origin::user;
    }
    return copy == Origin::vendor || other == Origin::vendor ? Origin::vendor : Origin::framework;
}

Severity severity_of(const Capture& capture, const RuleRow& row, const CaptureRace& race) {
    if (is_presumed(capture, race)) {
        return Severity::note;
    }
    if (row.rule == Rule::released_in_flight && !is_cuda_release(capture, race)) {
        return Severity::error;
    }
    return row.severity;
}

// What is one finding. A result that is left at the program's end belongs to the copy's other results.
using GroupKey = std::tuple<RaceRule, std::uint32_t, std::uint32_t, bool>;

std::map<GroupKey, std::vector<const CaptureRace*>> grouped(const Capture& capture) {
    std::map<GroupKey, std::vector<const CaptureRace*>> groups;
    const auto key_of = [](const CaptureRace& race) {
        return GroupKey(race.rule, race.copy_site, race.other_site, race.has(kRacePresumed));
    };
    const auto is_left = [](const CaptureRace& race) {
        return race.rule == RaceRule::result_never_awaited && race.has(kRaceAtExit);
    };
    for (const CaptureRace& race : capture.races) {
        if (!is_left(race)) {
            groups[key_of(race)].push_back(&race);
        }
    }
    for (const CaptureRace& race : capture.races) {
        if (is_left(race)) {
            const auto same_copy = std::ranges::find_if(groups, [&](const auto& group) {
                const auto& [rule, copy, other, presumed] = group.first;
                return rule == race.rule && copy == race.copy_site && presumed == race.has(kRacePresumed);
            });
            (same_copy == groups.end() ? groups[key_of(race)] : same_copy->second).push_back(&race);
        }
    }
    for (auto& [key, races] : groups) {
        std::ranges::stable_sort(
            races, {}, [](const CaptureRace* race) { return std::tuple(race->has(kRaceAtExit), ~race->count); });
    }
    return groups;
}

}  // namespace

std::vector<RuleInfo> race_rules() {
    std::vector<RuleInfo> rules;
    for (const RuleRow& row : kRules) {
        rules.push_back({row.rule, row.slug, row.severity, row.claim, race_text(row.rule)});
    }
    return rules;
}

std::optional<Rule> rule_of(RaceRule rule) {
    const RuleRow* row = row_of(rule);
    return row == nullptr ? std::nullopt : std::optional(row->rule);
}

std::vector<Finding> find_races(const Capture& capture, const Origins& origins) {
    std::vector<Finding> findings;
    for (const auto& [key, races] : grouped(capture)) {
        const CaptureRace& first = *races.front();
        const RuleRow* row = row_of(first.rule);
        if (row == nullptr || first.copy_site == 0 || first.copy_site > capture.sites.size()) {
            continue;
        }
        const CaptureSite& copy = capture.sites[first.copy_site - 1];
        Finding finding;
        finding.rule = row->rule;
        finding.severity = severity_of(capture, *row, first);
        finding.site = copy.id;
        finding.heading = heading_frame(capture, copy, origins);
        finding.issuer = issuer_of_race(capture, first, origins);
        finding.api = called_api(capture, copy, origins);
        finding.presumed = is_presumed(capture, first);
        finding.other_site = first.other_site;
        for (const CaptureRace* race : races) {
            finding.count += race->count;
            if (has_outcome(capture, *race)) {
                finding.corrupting += race->corrupting;
                finding.latent += race->latent;
            }
            finding.races.push_back(static_cast<std::uint32_t>(race - capture.races.data()));
        }
        finding.once = finding.count == 1;
        finding.why = race_why(capture, races, origins);
        finding.fix =
            race_fix(capture, first, issuer_of(capture, copy, origins), finding.issuer == Origin::vendor, origins);
        findings.push_back(std::move(finding));
    }
    return findings;
}

int race_rank(const Finding& finding) {
    const bool is_race = !finding.races.empty() && finding.severity == Severity::error;
    return !is_race ? 2 : finding.corrupting != 0 ? 0 : 1;
}

bool relies_on_staging(const Capture& capture, const CaptureSite& site) {
    return std::ranges::any_of(capture.races,
                               [&](const CaptureRace& race) { return race.copy_site == site.id && is_reused(race); });
}

std::string staging_advice(const Capture& capture, const CaptureSite& site, Origin issuer, const Origins& origins) {
    const auto late = std::ranges::find_if(capture.races, [&](const CaptureRace& race) {
        return race.copy_site == site.id && is_reused(race) && race.wait_site != 0;
    });
    const std::string wait = late != capture.races.end() ? call_at(capture, late->wait_site, origins) : "";
    std::string text = "double-buffer, or " + (wait.empty() ? "wait for an event" : "move the wait (" + wait + ")") +
                       " before the buffer's next use: pinning alone would make this a race. With that, ";
    if (issuer == Origin::framework) {
        return text + "give the library page-locked memory (PyTorch: pin_memory=True).";
    }
    return text + (site.direction == Direction::host_to_device ? "copy from" : "copy into") +
           " page-locked memory (cudaMallocHost, or cudaHostRegister, once, outside the loop).";
}

}  // namespace pincheck
