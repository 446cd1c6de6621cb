// Which call a device record belongs to. CUPTI gives every API call a correlation id; its driver callback, enabled for
// the functions that copy, fill or launch a graph, tells it while the call runs. The hook around the call writes site
// and times beside it, and the tool's thread looks the records' ids up. A ring: the newest call of an id's remainder is
// kept.
#pragma once

#include <atomic>
#include <cstdint>

#include "memory.h"
#include "thread_state.h"

namespace pincheck::cupti {

struct MatchedCall {
    std::uint32_t site;
    std::uint32_t thread;
    std::uint64_t start_ns;
    std::uint64_t end_ns;
};

enum class Match {
    found,
    running,   // its hook has not finished yet
    inside,    // made inside another call that the tool recorded, or one that it could not record
    unhooked,  // no hook was around it
    unknown,   // before the session, overwritten, or no call of the API at all
};

class CallTable {
  public:
    static constexpr std::uint32_t kEntries = 64 * 1024;

    static CallTable* create() noexcept { return static_cast<CallTable*>(map_memory(sizeof(CallTable))); }

    // From the callback, on the thread that makes the call. `in_call_since_ns`: the start of the hook that shows itself
    // as being executed there; 0: none.
    void began(ThreadState& thread, std::uint64_t in_call_since_ns, std::uint32_t correlation) noexcept {
        std::uint32_t site = kUnhooked;
        DeviceCall& call = thread.device_call;
        const bool expected = in_call_since_ns != 0 && in_call_since_ns == call.start_ns;
        // An id that was told to a hook that longjmp left is nobody's.
        if (expected && ((thread.errands & kIdTold) == 0 || call.told_ns != in_call_since_ns)) {
            call.correlation = correlation;
            call.told_ns = in_call_since_ns;
            thread.errands |= kIdTold;
            site = kRunning;
        } else if (expected || thread.guard != 0) {
            site = kInside;
        }
        entry(correlation).key.store(key(correlation, site), std::memory_order_release);
    }

    // From the hook, after the real function returned.
    void ended(std::uint32_t correlation, const MatchedCall& call) noexcept {
        Entry& target = entry(correlation);
        if (target.key.load(std::memory_order_relaxed) >> 32 != correlation) {
            return;  // a later call has the entry
        }
        target.start_ns.store(call.start_ns, std::memory_order_relaxed);
        target.end_ns.store(call.end_ns, std::memory_order_relaxed);
        target.thread.store(call.thread, std::memory_order_relaxed);
        const std::uint32_t site = call.site != 0 && call.site < kUnhooked ? call.site : kInside;
        target.key.store(key(correlation, site), std::memory_order_release);
    }

    // By any thread.
    Match find(std::uint32_t correlation, MatchedCall& call) const noexcept {
        const Entry& source = entries_[correlation % kEntries];
        const std::uint64_t before = source.key.load(std::memory_order_acquire);
        if (static_cast<std::uint32_t>(before >> 32) != correlation || correlation == 0) {
            return Match::unknown;
        }
        call.site = static_cast<std::uint32_t>(before);
        switch (call.site) {
            case kRunning:
                return Match::running;
            case kInside:
                return Match::inside;
            case kUnhooked:
                return Match::unhooked;
            default:
                break;
        }
        call.start_ns = source.start_ns.load(std::memory_order_relaxed);
        call.end_ns = source.end_ns.load(std::memory_order_relaxed);
        call.thread = source.thread.load(std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_acquire);
        return source.key.load(std::memory_order_relaxed) == before ? Match::found : Match::unknown;
    }

  private:
    // In place of a site.
    static constexpr std::uint32_t kUnhooked = 0xfffffffd;
    static constexpr std::uint32_t kInside = 0xfffffffe;
    static constexpr std::uint32_t kRunning = 0xffffffff;

    struct Entry {
        std::atomic<std::uint64_t> key;  // correlation id above, site below
        std::atomic<std::uint64_t> start_ns;
        std::atomic<std::uint64_t> end_ns;
        std::atomic<std::uint32_t> thread;
    };
    static constexpr std::uint64_t key(std::uint32_t correlation, std::uint32_t site) noexcept {
        return std::uint64_t{correlation} << 32 | site;
    }
    Entry& entry(std::uint32_t correlation) noexcept { return entries_[correlation % kEntries]; }

    Entry entries_[kEntries];
};

// Tells the session of a call whose id was seen; see cupti_session.cpp.
void call_ended(ThreadState& thread, const MatchedCall& call) noexcept;

// For the hooks: before the real function of a call that copies, fills or launches a graph, which shows itself as being
// executed since `start_ns`. One store.
inline void begin_call(ThreadState& thread, std::uint64_t start_ns) noexcept {
    thread.device_call.start_ns = start_ns;
}
// After it: true where call_ended() is to be called.
inline bool id_was_told(const ThreadState& thread) noexcept {
    return (thread.errands & kIdTold) != 0;
}

}  // namespace pincheck::cupti
