#include "stack_record.h"

#include <algorithm>
#include <atomic>
#include <mutex>  // lock_guard

#include "clock.h"
#include "elf_objects.h"
#include "log.h"

namespace pincheck {
namespace {

// First words of keys. Sites have two words of facts there, the first of which is never that small.
constexpr std::uint64_t kUnwound = 1;
constexpr std::uint64_t kReturnAddress = 2;
constexpr std::uint64_t kAccess = 3;

Hash128 hash_of(std::uint64_t first, const Backtrace& trace, std::size_t from = 0) noexcept {
    Hasher hasher;
    hasher.add(first);
    hasher.add(0);
    for (std::size_t i = from; i < trace.count; ++i) {
        hasher.add(trace.addresses[i]);
    }
    return hasher.result();
}

// Found once: the C library is never unloaded.
bool is_in_libc(std::uintptr_t address) noexcept {
    static std::atomic<std::uintptr_t> begin{0};
    static std::atomic<std::uintptr_t> end{0};
    if (end.load(std::memory_order_acquire) == 0) {
        for_each_object([](const ElfObject& object) {
            if (!starts_with(object.name(), "libc.so")) {
                return false;
            }
            begin.store(object.begin, std::memory_order_relaxed);
            end.store(object.end, std::memory_order_release);
            return true;
        });
    }
    return address >= begin.load(std::memory_order_relaxed) && address < end.load(std::memory_order_relaxed);
}

}  // namespace

std::uint32_t stack_id(State& state, const Backtrace& trace) noexcept {
    const Hash128 key = hash_of(trace.unwound ? kUnwound : kReturnAddress, trace);
    if (const std::uint32_t* known = state.stacks.find(key)) {
        return *known;
    }
    report::Frame frames[kMaxDepth];
    state.modules.resolve(trace.addresses, trace.count, frames);
    const std::uint32_t id = state.image.add_stack(
        {frames, trace.count}, trace.unwound ? report::StackOrigin::unwound : report::StackOrigin::return_address,
        trace.cut);
    if (id != 0) {
        state.stacks.insert(key, id);
    }
    return id;
}

std::uint32_t access_site(State& state, const Backtrace& trace) noexcept {
    const KeepErrno keep;
    const std::size_t from = trace.count > 1 && is_in_libc(trace.addresses[0]) ? 1 : 0;
    const Hash128 key = hash_of(kAccess, trace, from);
    const std::lock_guard lock(state.sites_mutex);
    if (const std::uint32_t* known = state.sites.find(key)) {
        return *known;
    }
    if (state.site_count >= kMaxSites) {
        state.image.lose(report::Loss::sites, 1, 0, now_ns());
        return 0;
    }
    report::SiteRecord record{};
    record.kind = report::SiteKind::host_access;
    record.stack = stack_id(state, trace);
    report::Frame frames[report::kMaxKeyFrames];
    const std::size_t count = std::min<std::size_t>(trace.count - from, report::kMaxKeyFrames);
    state.modules.resolve(trace.addresses + from, count, frames);
    const std::uint32_t id = state.image.add_site(record, {frames, count});
    if (id != 0) {
        state.sites.insert(key, id);
        ++state.site_count;
    }
    return id;
}

}  // namespace pincheck
