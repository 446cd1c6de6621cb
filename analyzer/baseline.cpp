#include "baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "exported.h"
#include "place_match.h"

namespace pincheck {
namespace {

constexpr Quantity kQuantities[] = {Quantity::count, Quantity::bytes, Quantity::held};

// One fingerprint's findings of one severity, then and now.
struct Group {
    std::set<std::string> places_then;
    std::set<std::string> places_now;
    Amounts then;
    Amounts now;
    std::vector<std::size_t> findings;
};

void add_to(Amounts& sum, const Amounts& more) {
    sum.count += more.count;
    sum.bytes += more.bytes;
    sum.held_ns += more.held_ns;
}

// "count 10 -> 30 (+200 %)"; "" where it did not grow by more than is allowed.
std::string growth(const Group& group, const Worse& worse) {
    std::string text;
    for (const Quantity quantity : kQuantities) {
        const std::optional<std::uint32_t>& percent = worse.percent(quantity);
        const std::uint64_t then = amount(group.then, quantity);
        const std::uint64_t now = amount(group.now, quantity);
        const double allowed = static_cast<double>(then) * (1 + static_cast<double>(percent.value_or(0)) / 100);
        if (!percent || now <= then || static_cast<double>(now) <= allowed) {
            continue;
        }
        text += fmt::format("{}{} {} -> {}", text.empty() ? "" : ", ", name_of(quantity), amount_text(quantity, then),
                            amount_text(quantity, now));
        if (then != 0) {
            const double grown = (static_cast<double>(now) / static_cast<double>(then) - 1) * 100;
            text += fmt::format(" (+{:.0f} %)", grown);
        }
    }
    return text;
}

class GroupJudge {
  public:
    GroupJudge(const Group& group, const Worse& worse, const std::string& file)
        : match_(group.places_then, group.places_now), file_(file), growth_(growth(group, worse)) {}

    Compared of(const Finding& finding) const {
        if (!match_.was_there(finding.identity.place) && match_.has_more_now()) {
            return {Since::fresh, match_.moved_then() == 0
                                      ? "new: not in " + file_
                                      : fmt::format("new: {} has {} of these {}, which only their lines "
                                                    "tell apart",
                                                    file_, match_.moved_then(), match_.moved_now())};
        }
        return growth_.empty() ? Compared{Since::known, "known: in " + file_}
                               : Compared{Since::worse, "worse than in " + file_ + ": " + growth_};
    }

  private:
    PlaceMatch match_;
    const std::string& file_;
    std::string growth_;
};

std::size_t count_fixed(const Baseline& baseline, const std::vector<Finding>& findings) {
    std::map<std::string_view, std::set<std::string_view>> places;
    for (const Finding& finding : findings) {
        places[finding.identity.fingerprint].insert(finding.identity.place);
    }
    std::size_t fixed = 0;
    for (const auto& [fingerprint, entries] : baseline.entries) {
        std::set<std::string_view> counted;
        for (const Baseline::Entry& entry : entries) {
            if (entry.counted) {
                counted.insert(entry.place);
            }
        }
        const auto now = places.find(fingerprint);
        const std::size_t left = now == places.end() ? 0 : now->second.size();
        fixed += counted.size() - std::min(counted.size(), left);
    }
    return fixed;
}

}  // namespace

std::string read_baseline(const std::string& path, Baseline& baseline) {
    ListedRun run;
    baseline = {};
    baseline.file = path;
    if (std::string wrong = read_exported(path, run); !wrong.empty()) {
        return wrong;
    }
    baseline.findings = run.findings.size();
    for (ListedFinding& finding : run.findings) {
        const bool counted = finding.gated || finding.decision == name_of(Decision::in_baseline);
        baseline.entries[finding.fingerprint].push_back(
            {std::move(finding.place), finding.severity, counted, finding.amounts});
    }
    return "";
}

std::optional<std::uint32_t>& Worse::percent(Quantity quantity) {
    return quantity == Quantity::count ? count : quantity == Quantity::bytes ? bytes : held;
}

const std::optional<std::uint32_t>& Worse::percent(Quantity quantity) const {
    return quantity == Quantity::count ? count : quantity == Quantity::bytes ? bytes : held;
}

std::string set_worse(Worse& worse, const std::string& key, const std::string& value) {
    const std::optional<Quantity> quantity = quantity_by_name(key);
    if (!quantity) {
        return "there is no quantity '" + key + "'; there are count, bytes and held";
    }
    std::uint32_t percent = 0;
    const char* const end = value.data() + value.size();
    const char* const begin = value.data() + (value.starts_with('+') ? 1 : 0);
    const auto [rest, error] = std::from_chars(begin, end, percent);
    if (begin == value.data() || error != std::errc{} || std::string_view(rest, end) != "%") {
        return key + " is '" + value + "' and must be a growth in percent, like +50%";
    }
    worse.percent(*quantity) = percent;
    return "";
}

std::string parse_worse(const std::string& text, Worse& worse) {
    const std::size_t equals = text.find('=');
    if (equals == text.npos) {
        return "'" + text + "' is no growth; write count=+50%";
    }
    return set_worse(worse, text.substr(0, equals), text.substr(equals + 1));
}

Comparison compare(const Baseline& baseline, const Worse& worse, const std::vector<Finding>& findings) {
    std::map<std::pair<std::string_view, Severity>, Group> groups;
    for (std::size_t i = 0; i < findings.size(); ++i) {
        const Finding& finding = findings[i];
        const auto [at, is_new] = groups.try_emplace({finding.identity.fingerprint, finding.severity});
        Group& group = at->second;
        group.findings.push_back(i);
        group.places_now.insert(finding.identity.place);
        add_to(group.now, finding.amounts);
        const auto entries = baseline.entries.find(finding.identity.fingerprint);
        if (!is_new || entries == baseline.entries.end()) {
            continue;
        }
        for (const Baseline::Entry& entry : entries->second) {
            // An error that was only a note then is as new as one that was not there.
            if (entry.severity <= finding.severity) {
                group.places_then.insert(entry.place);
                add_to(group.then, entry.amounts);
            }
        }
    }
    Comparison result;
    result.findings.resize(findings.size());
    for (const auto& [key, group] : groups) {
        const GroupJudge judge(group, worse, baseline.file);
        for (const std::size_t i : group.findings) {
            result.findings[i] = judge.of(findings[i]);
        }
    }
    result.fixed = count_fixed(baseline, findings);
    return result;
}

}  // namespace pincheck
