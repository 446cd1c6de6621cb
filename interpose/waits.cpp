#include "waits.h"

#include "log.h"

namespace pincheck {
namespace {

using report::load;
using report::store;
using report::WaitSlot;

// The slot of that site, cause and evidence, made when there is none.
WaitSlot* slot_of(State& state, Shard& shard, const Wait& wait) noexcept {
    HashTable<WaitSlot*>& table = shard.waits;
    const Hash128 key{std::uint64_t{wait.site} | static_cast<std::uint64_t>(wait.cause) << 32 |
                          static_cast<std::uint64_t>(wait.evidence) << 48,
                      1};
    WaitSlot** known = table.find(key);
    if (known == nullptr && table.insert(key, nullptr)) {
        known = table.find(key);
    }
    if (known == nullptr) {
        return nullptr;
    }
    if (*known == nullptr) {
        *known = state.image.new_wait();
        if (*known != nullptr) {
            store((*known)->site, wait.site);
            store((*known)->cause, wait.cause);
            store((*known)->evidence, wait.evidence);
            store((*known)->thread, shard.slot->thread);
            store((*known)->first_ns, wait.start_ns);
        }
    }
    return *known;
}

constexpr std::uint64_t overlap(std::uint64_t a_start, std::uint64_t a_end, std::uint64_t b_start,
                                std::uint64_t b_end) noexcept {
    const std::uint64_t start = a_start > b_start ? a_start : b_start;
    const std::uint64_t end = a_end < b_end ? a_end : b_end;
    return end > start ? end - start : 0;
}

}  // namespace

void add_wait(State& state, Shard& shard, const Wait& wait) noexcept {
    const KeepErrno keep;
    WaitSlot* slot = wait.site != 0 ? slot_of(state, shard, wait) : nullptr;
    if (slot == nullptr) {
        state.image.lose(report::Loss::waits, 1, 0, wait.start_ns);
        return;
    }
    if (slot->calls == 0 || wait.ns > slot->ns_max) {
        store(slot->ns_max, wait.ns);
        store(slot->stream, wait.stream);
        store(slot->behind_site, wait.behind_site);
        store(slot->kernel, wait.kernel);
    }
    if (wait.items > slot->items) {
        store(slot->items, wait.items);
    }
    store(slot->calls, slot->calls + 1);
    store(slot->ns, slot->ns + wait.ns);
    store(slot->last_ns, wait.start_ns);
}

void record_wait(State& state, ThreadState& thread, std::uint32_t site, HeldCall call, std::uint64_t start_ns,
                 std::uint64_t end_ns) noexcept {
    call.host_ns = end_ns - start_ns;
    const OtherCall other = call_beside(state, *thread.shard, start_ns, end_ns);
    call.beside_other = other.found;
    call.other_site = other.site;
    const WaitVerdict verdict = cause_of(call);
    Wait wait;
    wait.site = site;
    wait.cause = verdict.cause;
    wait.evidence = verdict.evidence;
    wait.start_ns = start_ns;
    wait.ns = call.host_ns;
    wait.behind_site = verdict.behind_site;
    wait.items = verdict.items;
    add_wait(state, *thread.shard, wait);
}

void show_long_call(Shard& shard, std::uint64_t start_ns, std::uint64_t end_ns, std::uint32_t site) noexcept {
    store(shard.long_call.start_ns, start_ns);
    store(shard.long_call.end_ns, end_ns);
    store(shard.long_call.site, site);
}

OtherCall call_beside(const State& state, const Shard& own, std::uint64_t start_ns, std::uint64_t end_ns) noexcept {
    OtherCall found;
    std::uint64_t earliest = UINT64_MAX;
    const auto consider = [&](std::uint64_t start, std::uint64_t end, std::uint32_t site) {
        if (start < earliest && overlap(start, end, start_ns, end_ns) >= (end_ns - start_ns) / 2) {
            earliest = start;
            found = {true, site};
        }
    };
    for (const Shard* shard = state.all_shards.load(std::memory_order_acquire); shard != nullptr;
         shard = shard->next_of_all) {
        if (shard == &own) {
            continue;
        }
        // The call that it is inside of first: when that ends meanwhile, it is the last long one already.
        const report::CounterSlot* counters = load(shard->in_call);
        const std::uint64_t since = load(shard->slot->in_call_since_ns);
        if (since != 0 && counters != nullptr) {
            consider(since, end_ns, load(counters->site));
        }
        consider(load(shard->long_call.start_ns), load(shard->long_call.end_ns), load(shard->long_call.site));
    }
    return found;
}

}  // namespace pincheck
