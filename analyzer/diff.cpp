#include "diff.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "place_match.h"

namespace pincheck {
namespace {

using Places = std::map<std::string, DiffSide>;

struct Group {
    Places then;
    Places now;
};

void add_to(DiffSide& sum, const DiffSide& more) {
    sum.finding = std::min(sum.finding, more.finding);
    sum.severity = std::min(sum.severity, more.severity);  // an error is the least
    sum.gated |= more.gated;
    sum.amounts.count += more.amounts.count;
    sum.amounts.bytes += more.amounts.bytes;
    sum.amounts.held_ns += more.amounts.held_ns;
}

void add_findings(const ListedRun& run, Places Group::*side, std::map<std::string_view, Group>& groups) {
    for (std::size_t i = 0; i < run.findings.size(); ++i) {
        const ListedFinding& finding = run.findings[i];
        const DiffSide one{i, 1, finding.severity, finding.gated, finding.amounts};
        const auto [at, is_new] = (groups[finding.fingerprint].*side).try_emplace(finding.place, one);
        if (!is_new) {
            add_to(at->second, one);
        }
    }
}

std::set<std::string> names_of(const Places& places) {
    std::set<std::string> names;
    for (const auto& [name, side] : places) {
        names.insert(name);
    }
    return names;
}

std::uint64_t distance(std::uint64_t a, std::uint64_t b) {
    return a < b ? b - a : a - b;
}

// 1: grew by more than the limit, -1: fell, 0: neither.
int direction(std::uint64_t then, std::uint64_t now, unsigned percent) {
    // A long double holds every product of these to within far less than a percent.
    const bool beyond = static_cast<long double>(distance(then, now)) * 100 > static_cast<long double>(then) * percent;
    return !beyond ? 0 : now > then ? 1 : -1;
}

Change change_of(const DiffSide& then, const DiffSide& now, const DiffLimits& limits) {
    const Amounts& a = then.amounts;
    const Amounts& b = now.amounts;
    const bool held_tells = distance(a.held_ns, b.held_ns) >= kLeastHeldNs;
    const int directions[] = {now.severity < then.severity   ? 1
                              : now.severity > then.severity ? -1
                                                             : 0,
                              direction(a.count, b.count, limits.percent), direction(a.bytes, b.bytes, limits.percent),
                              held_tells ? direction(a.held_ns, b.held_ns, limits.held_percent) : 0};
    return std::ranges::find(directions, 1) != std::end(directions)    ? Change::worse
           : std::ranges::find(directions, -1) != std::end(directions) ? Change::better
                                                                       : Change::unchanged;
}

class Comparer {
  public:
    explicit Comparer(const DiffLimits& limits) : limits_(limits) {}

    void compare(const Group& group) {
        const PlaceMatch match(names_of(group.then), names_of(group.now));
        DiffEntry moved;
        moved.moved = true;
        for (const auto& [place, side] : group.now) {
            if (match.was_there(place)) {
                const DiffSide& then = group.then.at(place);
                entries_.push_back({change_of(then, side, limits_), false, then, side});
            } else if (match.moved_then() == 0) {
                entries_.push_back({Change::fresh, false, std::nullopt, side});
            } else {
                add_moved(moved.now, side);
            }
        }
        for (const auto& [place, side] : group.then) {
            if (group.now.contains(place)) {
                continue;
            }
            if (match.moved_now() == 0) {
                entries_.push_back({Change::fixed, false, side, std::nullopt});
            } else {
                add_moved(moved.then, side);
            }
        }
        if (moved.then && moved.now) {
            moved.change = change_of_moved(moved, match);
            entries_.push_back(moved);
        }
    }
    std::vector<DiffEntry> take() { return std::move(entries_); }

  private:
    static void add_moved(std::optional<DiffSide>& sum, const DiffSide& side) {
        if (sum) {
            add_to(*sum, side);
            ++sum->places;
        } else {
            sum = side;
        }
    }

    Change change_of_moved(const DiffEntry& moved, const PlaceMatch& match) const {
        if (match.has_more_now()) {
            return Change::fresh;
        }
        const Change change = change_of(*moved.then, *moved.now, limits_);
        return change == Change::unchanged && moved.now->places < moved.then->places ? Change::better : change;
    }

    const DiffLimits& limits_;
    std::vector<DiffEntry> entries_;
};

// What comes first is less.
auto rank(const DiffEntry& entry) {
    const std::size_t place = entry.now ? entry.now->finding : entry.then->finding;
    const bool both = entry.then && entry.now && entry.change != Change::fresh && entry.change != Change::unchanged;
    const bool same_severity = !both || entry.then->severity == entry.now->severity;
    const std::uint64_t held = both ? distance(entry.then->amounts.held_ns, entry.now->amounts.held_ns) : 0;
    return std::tuple(entry.change, same_severity, ~held, place);
}

}  // namespace

const char* name_of(Change change) {
    switch (change) {
        case Change::fresh:
            return "new";
        case Change::worse:
            return "worse";
        case Change::better:
            return "better";
        case Change::fixed:
            return "fixed";
        case Change::unchanged:
            break;
    }
    return "unchanged";
}

std::size_t Diff::count(Change change) const {
    return static_cast<std::size_t>(std::ranges::count(entries, change, &DiffEntry::change));
}

Diff diff_runs(const ListedRun& then, const ListedRun& now, const DiffLimits& limits) {
    std::map<std::string_view, Group> groups;
    add_findings(then, &Group::then, groups);
    add_findings(now, &Group::now, groups);
    Comparer comparer(limits);
    for (const auto& [fingerprint, group] : groups) {
        comparer.compare(group);
    }
    Diff diff;
    diff.entries = comparer.take();
    std::ranges::stable_sort(diff.entries, {}, [](const DiffEntry& entry) { return rank(entry); });
    diff.processes = then.processes != now.processes;
    diff.cuda_calls = direction(then.cuda_calls, now.cuda_calls, limits.percent) != 0;
    diff.duration = direction(then.duration_ns, now.duration_ns, limits.held_percent) != 0;
    return diff;
}

}  // namespace pincheck
