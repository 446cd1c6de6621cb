#include "policy.h"

#include <algorithm>
#include <utility>

#include "blind.h"

namespace pincheck {
namespace {

// A framework's copies are the user's to change, by what he passes to it; a race between two of its own calls is not.
bool is_a_librarys(const Finding& finding) {
    return finding.issuer == Origin::vendor || (!finding.races.empty() && finding.issuer == Origin::framework);
}

const char* severity_name(Severity severity) {
    return severity == Severity::error ? "error" : severity == Severity::warning ? "warning" : "note";
}

bool is_named(const Finding& finding, const std::string& name) {
    const RuleInfo* rule = rule_by_slug(name);
    return rule != nullptr ? rule->rule == finding.rule : name == severity_name(finding.severity);
}

std::string joined(const std::vector<std::string>& texts) {
    std::string all;
    for (const std::string& text : texts) {
        all += (all.empty() ? "" : ",") + text;
    }
    return all;
}

class Judge {
  public:
    Judge(const Capture& capture, const Origins& origins, const PolicyOptions& options)
        : capture_(capture), origins_(origins), options_(options), matched_(options.suppressions.size()) {}

    // `compared`: null without a baseline.
    Ruling rule_on(const Finding& finding, const Compared* compared) {
        const std::optional<std::size_t> row = suppressing_row(finding);
        Ruling ruling = selected(finding);
        ruling.since = compared == nullptr ? Since::no_baseline : compared->since;
        const auto pass = [&](Decision decision, std::string why) {
            ruling.decision = decision;
            ruling.why = std::move(why);
        };
        if (!gates(ruling.decision)) {
            return ruling;
        }
        if (options_.allow_staged && is_staged(finding)) {
            pass(Decision::staged, "measured not to wait, and --allow-staged is given");
        } else if (row) {
            ruling.suppression = row;
            pass(Decision::suppressed,
                 "suppressed by " + place_of(options_.suppressions[*row]) + ": " + options_.suppressions[*row].reason);
        } else if (const Threshold* threshold = threshold_of(finding)) {
            pass(Decision::within_threshold, "within the threshold of " + limits_text(*threshold));
        } else if (compared != nullptr && compared->since == Since::known) {
            pass(Decision::in_baseline, compared->why);
        } else if (compared != nullptr) {
            ruling.why = compared->why;
        }
        return ruling;
    }
    std::vector<std::size_t> take_matched() { return std::move(matched_); }

  private:
    Ruling selected(const Finding& finding) const {
        if (finding.severity == Severity::note) {
            return {Decision::note, "a note never gates", {}, {}};
        }
        if (is_a_librarys(finding) && !options_.strict) {
            return {Decision::library, "a library's own; --strict gates it", {}, {}};
        }
        if (options_.fail_on.empty()) {
            const bool is_error = finding.severity == Severity::error;
            return options_.strict ? Ruling{Decision::strict, "--strict gates all but notes", {}, {}}
                   : is_error      ? Ruling{Decision::by_default, "an error", {}, {}}
                                   : Ruling{Decision::not_selected, "a warning; --strict gates it", {}, {}};
        }
        const auto named =
            std::ranges::find_if(options_.fail_on, [&](const std::string& name) { return is_named(finding, name); });
        return named != options_.fail_on.end()
                   ? Ruling{Decision::fail_on, "--fail-on " + *named, {}, {}}
                   : Ruling{Decision::not_selected, "not in --fail-on " + joined(options_.fail_on), {}, {}};
    }

    bool is_staged(const Finding& finding) const {
        return finding.rule == Rule::pageable_async_copy && finding.site != 0 &&
               finding.site <= capture_.sites.size() && stayed_staged(capture_.sites[finding.site - 1]);
    }

    // The first that holds. All that match are counted, so that the order of rows does not make one look unused.
    std::optional<std::size_t> suppressing_row(const Finding& finding) {
        std::optional<std::size_t> first;
        for (std::size_t i = 0; i < options_.suppressions.size(); ++i) {
            const Suppression& row = options_.suppressions[i];
            if (!matches(row, capture_, finding, origins_)) {
                continue;
            }
            ++matched_[i];
            if (!first && !is_expired(row, options_.today)) {
                first = i;
            }
        }
        return first;
    }

    const Threshold* threshold_of(const Finding& finding) const {
        const auto found = std::ranges::find(options_.thresholds, finding.rule, &Threshold::rule);
        if (found == options_.thresholds.end() || !is_within(finding.amounts, *found)) {
            return nullptr;
        }
        // How long the launches of a graph were held by its copies is not measured where none was seen.
        const bool unmeasured = finding.site != 0 && finding.site <= capture_.sites.size() &&
                                capture_.sites[finding.site - 1].is_captured();
        return found->held_ns && unmeasured ? nullptr : &*found;
    }

    const Capture& capture_;
    const Origins& origins_;
    const PolicyOptions& options_;
    std::vector<std::size_t> matched_;
};

}  // namespace

Judgement judge(const LoadResult& loaded, const std::vector<Finding>& findings, const Origins& origins,
                const PolicyOptions& options, const std::vector<std::string>& blind_reasons) {
    Judgement result;
    result.policy = options;
    Comparison comparison;
    if (options.baseline) {
        comparison = compare(*options.baseline, options.worse, findings);
        result.fixed = comparison.fixed;
    }
    Judge judge(loaded.capture, origins, options);
    for (std::size_t i = 0; i < findings.size(); ++i) {
        Finding finding = findings[i];
        finding.ruling = judge.rule_on(finding, options.baseline ? &comparison.findings[i] : nullptr);
        (gates(finding.ruling.decision) ? result.gated : result.not_gated).push_back(std::move(finding));
    }
    result.matched = judge.take_matched();
    result.reasons = reasons_for_no_conclusion(loaded, options.allow_no_cuda, blind_reasons);
    result.verdict = !result.gated.empty()    ? Verdict::violated
                     : result.reasons.empty() ? Verdict::pass
                                              : Verdict::no_conclusion;
    return result;
}

std::size_t count_of(const Judgement& judgement, Decision decision) {
    const auto decided = [&](const Finding& finding) { return finding.ruling.decision == decision; };
    return static_cast<std::size_t>(std::ranges::count_if(judgement.gated, decided) +
                                    std::ranges::count_if(judgement.not_gated, decided));
}

}  // namespace pincheck
