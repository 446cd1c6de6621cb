#include "watch_budget.h"

namespace pincheck {
namespace {

// Calls in no pattern: of buffers that are used by turns, a fixed step would watch always the same one.
std::uint64_t scattered(std::uint64_t call) noexcept {
    call *= 0x9e3779b97f4a7c15ull;
    call = (call ^ (call >> 32)) * 0xd6e8feb86659fd93ull;
    return call ^ (call >> 32);
}

}  // namespace

std::uint64_t WatchBudget::allowed(std::uint64_t since, std::uint64_t now_ns, bool first_calls) const noexcept {
    const std::uint64_t elapsed = now_ns > since ? now_ns - since : 0;
    const std::uint64_t all = elapsed / 1000 * permille_;
    return first_calls ? all : all / 2;
}

bool WatchBudget::wants(WatchSite& site, std::uint64_t now_ns) noexcept {
    const std::uint64_t call = site.calls.fetch_add(1, std::memory_order_relaxed) + 1;
    if (policy_ != Policy::by_cost) {
        return policy_ == Policy::all || is_watched_by_count(call);
    }
    if (now_ns >= window_start_ns_.load(std::memory_order_relaxed) + kWindowNs) {
        end_window(now_ns);
    }
    const bool first = call <= kFirstCalls;
    if (!first && scattered(call) % every() != 0) {
        return false;
    }
    const bool has_room = spent_ns() <= kStartNs + allowed(start_ns_, now_ns, first);
    (has_room ? window_granted_ : window_denied_).fetch_add(1, std::memory_order_relaxed);
    return has_room;
}

void WatchBudget::spent(std::uint64_t ns, std::uint64_t faulted_pages) noexcept {
    spent_ns_.fetch_add(ns + faulted_pages * kFaultNs, std::memory_order_relaxed);
}

void WatchBudget::end_window(std::uint64_t now_ns) noexcept {
    std::uint64_t start = window_start_ns_.load(std::memory_order_relaxed);
    if (now_ns < start + kWindowNs || !window_start_ns_.compare_exchange_strong(start, now_ns)) {
        return;  // another thread did
    }
    const std::uint64_t total = spent_ns();
    const std::uint64_t cost = total - window_spent_ns_.exchange(total, std::memory_order_relaxed);
    const std::uint64_t granted = window_granted_.exchange(0, std::memory_order_relaxed);
    const std::uint64_t denied = window_denied_.exchange(0, std::memory_order_relaxed);
    const std::uint64_t limit = allowed(start, now_ns, false);
    const std::uint64_t now_every = every();
    std::uint64_t next = now_every;
    // What was denied would have cost as much again. Where all was, the time that is being caught up with says nothing.
    const std::uint64_t wanted_cost = granted == 0 ? 0 : cost / granted * (granted + denied);
    if (wanted_cost > limit) {
        // At most 64 times as many at once: one huge copy says little about the next ones.
        const std::uint64_t factor = limit == 0 ? 64 : (wanted_cost + limit - 1) / limit;
        next = now_every * (factor < 64 ? factor : 64);
    } else if (denied == 0 && wanted_cost < limit / 2) {
        next = now_every / 2;
    }
    next = next < 1 ? 1 : next;
    every_.store(next < kMostEvery ? next : kMostEvery, std::memory_order_relaxed);
}

}  // namespace pincheck
