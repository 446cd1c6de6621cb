#include "report_since.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <vector>

namespace pincheck {
namespace {

using namespace report;

// What identifies a slot's sums: slots of a file are found again by it, wherever they lie.
auto key_of(const CounterSlot& slot) {
    return std::tuple(slot.site, slot.thread, slot.size_class);
}
auto key_of(const WaitSlot& slot) {
    return std::tuple(slot.site, slot.thread, slot.cause, slot.evidence);
}
auto key_of(const TransferSlot& slot) {
    return std::tuple(slot.site, slot.size_class);
}
auto key_of(const RaceSlot& slot) {
    return std::tuple(slot.rule, slot.level, slot.flags, slot.copy_site, slot.other_site, slot.pin_site,
                      slot.wait_site);
}
auto key_of(const ReadSlot& slot) {
    return std::tuple(slot.site, slot.pin_site, slot.call);
}
auto key_of(const LossSlot& slot) {
    return slot.kind;
}
auto key_of(const ThreadSlot& slot) {
    return slot.thread;
}

// What is a sum in them.
template <class Slot>
std::vector<std::uint64_t*> sums_of(Slot& slot) {
    if constexpr (std::is_same_v<Slot, CounterSlot>) {
        std::vector<std::uint64_t*> sums = {&slot.bytes, &slot.host_ns, &slot.failed, &slot.then_synchronized};
        for (std::uint64_t& bucket : slot.histogram) {
            sums.push_back(&bucket);
        }
        return sums;
    } else if constexpr (std::is_same_v<Slot, WaitSlot>) {
        return {&slot.calls, &slot.ns};
    } else if constexpr (std::is_same_v<Slot, TransferSlot>) {
        return {&slot.copies,        &slot.bytes,     &slot.device_ns, &slot.calls,         &slot.host_ns,
                &slot.completion_ns, &slot.before_ns, &slot.during_ns, &slot.returned_early};
    } else if constexpr (std::is_same_v<Slot, RaceSlot>) {
        return {&slot.count, &slot.corrupting, &slot.latent};
    } else if constexpr (std::is_same_v<Slot, ReadSlot>) {
        return {&slot.samples};
    } else if constexpr (std::is_same_v<Slot, LossSlot>) {
        return {&slot.count};
    } else {
        static_assert(std::is_same_v<Slot, ThreadSlot>);
        return {&slot.calls};
    }
}

template <class Slot>
bool has_nothing(Slot& slot) {
    if constexpr (std::is_same_v<Slot, CounterSlot>) {
        return std::ranges::all_of(slot.histogram, [](std::uint64_t calls) { return calls == 0; });
    } else if constexpr (std::is_same_v<Slot, ThreadSlot>) {
        return false;
    } else {
        return *sums_of(slot).front() == 0;
    }
}

// The longest call since, where it is not the longest of all.
void limit_longest(CounterSlot& slot, const CounterSlot& before) {
    if (slot.host_ns_max > before.host_ns_max) {
        return;
    }
    std::uint64_t most = slot.host_ns;
    for (std::uint32_t bucket = kHistogramBuckets - 1; bucket > 0 && slot.histogram[bucket] == 0; --bucket) {
        most = std::min(slot.host_ns, histogram_lower_bound(bucket));
    }
    slot.host_ns_max = std::min(slot.host_ns_max, most);
}
void limit_longest(WaitSlot& slot, const WaitSlot& before) {
    if (slot.ns_max <= before.ns_max) {
        slot.ns_max = std::min(slot.ns_max, slot.ns);
    }
}
template <class Slot>
void limit_longest(Slot&, const Slot&) {}

template <class Slot>
void take_away(std::vector<Slot>& slots, std::vector<Slot> before, std::uint64_t mark_ns) {
    std::map<decltype(key_of(std::declval<Slot>())), std::vector<Slot*>> known;
    for (Slot& slot : before) {
        known[key_of(slot)].push_back(&slot);
    }
    for (Slot& slot : slots) {
        const auto found = known.find(key_of(slot));
        if (found == known.end()) {
            continue;
        }
        for (Slot* const earlier : found->second) {
            const std::vector<std::uint64_t*> sums = sums_of(slot);
            const std::vector<std::uint64_t*> less = sums_of(*earlier);
            for (std::size_t i = 0; i < sums.size(); ++i) {
                const std::uint64_t both = std::min(*sums[i], *less[i]);
                *sums[i] -= both;
                *less[i] -= both;  // what is left is of another slot with this key
            }
            limit_longest(slot, *earlier);
        }
        if constexpr (requires { slot.first_ns; }) {
            slot.first_ns = std::max(slot.first_ns, mark_ns);
        }
    }
    std::erase_if(slots, [](Slot& slot) { return has_nothing(slot); });
}

void drop_idle_sites(Report& report) {
    std::set<std::uint32_t> used;
    for (const CounterSlot& slot : report.counters) {
        used.insert({slot.site, slot.allocation_site});
    }
    for (const WaitSlot& slot : report.waits) {
        used.insert({slot.site, slot.behind_site});
    }
    for (const TransferSlot& slot : report.transfers) {
        used.insert(slot.site);
    }
    for (const RaceSlot& slot : report.races) {
        used.insert(
            {slot.copy_site, slot.other_site, slot.pin_site, slot.wait_site, slot.after_site, slot.before_site});
    }
    for (const ReadSlot& slot : report.reads) {
        used.insert({slot.site, slot.pin_site});
    }
    for (const auto& [id, stream] : report.streams) {
        used.insert(stream.site);
    }
    std::erase_if(report.sites, [&](const auto& site) { return !used.contains(site.first); });
}

}  // namespace

std::string problem_of_mark(const Report& report, const Report& mark) {
    if (mark.header.pid != report.header.pid || mark.header.start_realtime_ns != report.header.start_realtime_ns ||
        mark.header.start_ns != report.header.start_ns) {
        return "is of another process";
    }
    if (mark.header.snapshot_ns > report.header.snapshot_ns) {
        return "is later than the report";
    }
    return "";
}

void take_away(Report& report, const Report& mark) {
    const std::uint64_t mark_ns = mark.header.snapshot_ns;
    take_away(report.counters, mark.counters, mark_ns);
    take_away(report.waits, mark.waits, mark_ns);
    take_away(report.transfers, mark.transfers, mark_ns);
    take_away(report.races, mark.races, mark_ns);
    take_away(report.reads, mark.reads, mark_ns);
    take_away(report.losses, mark.losses, mark_ns);
    take_away(report.threads, mark.threads, mark_ns);
    drop_idle_sites(report);
    report.header.start_realtime_ns += mark_ns - report.header.start_ns;
    report.header.start_ns = mark_ns;
}

}  // namespace pincheck
