#include "waits.h"

#include <mutex>  // lock_guard

#include "clock.h"
#include "log.h"

namespace pincheck {
namespace {

using report::load;
using report::store;
using report::WaitSlot;

// Without room its longest call gets no kernel's name.
void link(State& state, Shard& shard, WaitSlot& slot) noexcept {
    WaitLink* fresh = nullptr;
    {
        const std::lock_guard lock(state.wait_links_mutex);
        fresh = state.wait_links.fresh();
    }
    if (fresh != nullptr) {
        *fresh = {&slot, shard.wait_links.load(std::memory_order_relaxed)};
        shard.wait_links.store(fresh, std::memory_order_release);
    }
}

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
            link(state, shard, **known);
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

WaitSlot* add_wait(State& state, Shard& shard, const Wait& wait) noexcept {
    const KeepErrno keep;
    WaitSlot* slot = wait.site != 0 ? slot_of(state, shard, wait) : nullptr;
    if (slot == nullptr) {
        state.image.lose(report::Loss::waits, 1, 0, wait.start_ns);
        return nullptr;
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
    return slot;
}

void add_pending(const ThreadState& thread, HeldCall& call) noexcept {
    const auto place = [](const Pending& pending) {
        return PendingWork{true, pending.work, pending.items, pending.site, pending.stream};
    };
    if (thread.pending.entry != nullptr) {
        const Pending pending = Streams::pending_then(thread.pending);
        call.own = place(pending);
        call.joined = {true, pending.behind, 0, pending.behind_site, pending.behind_stream};
    } else if (thread.context_pending.known) {
        call.own = call.device = place(thread.context_pending.work);
    }
}

// A program may wait for nothing in every step: the slot is found at once where it is the last one's.
void count_idle_wait(State& state, ThreadState& thread, std::uint32_t site, std::uint64_t start_ns,
                     std::uint64_t end_ns) noexcept {
    Shard::IdleWait& last = thread.shard->idle_wait;
    const std::uint64_t ns = end_ns - start_ns;
    if (last.slot == nullptr || last.site != site || ns > last.slot->ns_max) [[unlikely]] {
        Wait wait;
        wait.site = site;
        wait.cause = report::WaitCause::idle_sync;
        wait.evidence = report::WaitEvidence::order;
        wait.start_ns = start_ns;
        wait.ns = ns;
        wait.stream = Streams::pending_then(thread.pending).stream;
        last = {add_wait(state, *thread.shard, wait), site};
        return;
    }
    store(last.slot->calls, last.slot->calls + 1);
    store(last.slot->ns, last.slot->ns + ns);
    store(last.slot->last_ns, start_ns);
}

void note_delayed(const StreamEntry& entry) noexcept {
    ThreadState& thread = t_thread;
    WaitSlot* slot = thread.delaying;
    const std::uint32_t stream = Streams::report_id(entry);
    if (slot == nullptr || --thread.delaying_left == 0) {
        thread.delaying = nullptr;
        return;
    }
    if (&entry == thread.delaying_call || stream == 0 || stream == slot->stream) {
        return;
    }
    for (std::uint32_t& delayed : slot->delayed_streams) {
        if (delayed == stream) {
            return;
        }
        if (delayed == 0) {
            store(delayed, stream);
            return;
        }
    }
}

namespace {

// After a call that held the host unasked, what comes next came later than it could.
void delay_next(ThreadState& thread, WaitSlot* slot, const Wait& wait) noexcept {
    constexpr std::uint32_t kLookedAt = 64;
    if (wait.cause == report::WaitCause::unknown || wait.cause == report::WaitCause::requested ||
        wait.cause == report::WaitCause::idle_sync) {
        return;
    }
    thread.delaying = slot;
    thread.delaying_call = thread.pending.entry;
    thread.delaying_left = kLookedAt;
}

}  // namespace

namespace {

bool waits_for_device(const HeldCall& call, report::WaitCause cause) noexcept {
    using enum report::WaitCause;
    const bool copies = call.kind == report::SiteKind::copy || call.kind == report::SiteKind::fill;
    return !copies && (cause == earlier_work || cause == device_wide || cause == queue_full || cause == legacy_stream ||
                       cause == requested);
}

}  // namespace

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
    wait.stream = verdict.stream;
    if (options().cupti == CuptiUse::full && waits_for_device(call, verdict.cause)) {
        state.held_calls.add({site, thread.shard->slot->thread, start_ns, now_ns(), call.host_ns, 0});
    }
    delay_next(thread, add_wait(state, *thread.shard, wait), wait);
}

// On the tool's thread. Where the slot's thread has had a longer call meanwhile, the name is not that call's.
void name_kernel(const State& state, std::uint32_t thread, std::uint32_t site, std::uint64_t call_ns,
                 std::uint32_t kernel) noexcept {
    for (const Shard* shard = state.all_shards.load(std::memory_order_acquire); shard != nullptr;
         shard = shard->next_of_all) {
        if (shard->slot->thread != thread) {
            continue;
        }
        for (WaitLink* link = shard->wait_links.load(std::memory_order_acquire); link != nullptr; link = link->next) {
            WaitSlot& slot = *link->slot;
            if (slot.site == site && load(slot.ns_max) == call_ns) {
                store(slot.kernel, kernel);
                if (load(slot.ns_max) != call_ns) {
                    store(slot.kernel, 0u);
                }
            }
        }
    }
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
