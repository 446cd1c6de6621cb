// Kernel launches, and event records and waits: calls that only put something into a stream and return at once. They
// pass by unrecorded, at the price of two reads of the coarse clock; one in sixteen is timed exactly, and so are those
// that may well take long: the first launch of a kernel, the loading of a module, and what follows a call that did. A
// call that held the host makes a site.
//
// So are the launches about the length at which a stream's queue is full: the one that finds no room must be seen
// inside.
//
// By the coarse clock alone a call is held when two ticks passed in it: one tick passes in a short call too.
#pragma once

#include "clock.h"
#include "hook.h"
#include "recorder.h"
#include "wait_cause.h"
#include "waits.h"

namespace pincheck {

class LaunchHook {
  public:
    enum class Call : std::uint8_t { launch, event, load };
    LaunchHook(State& state, Api api, Caller caller, Call call, void* stream) noexcept
        : state_(state), api_(api), caller_(caller), call_(call), stream_(stream) {}

    // `kernel` 0: no launch of a kernel.
    __attribute__((always_inline)) void before(std::uintptr_t kernel) noexcept {
        ThreadState& thread = t_thread;
        thread.last_copy = nullptr;
        first_use_ = kernel != 0 && kernel != thread.last_kernel && state_.kernels.is_first(kernel);
        thread.last_kernel = kernel != 0 ? kernel : thread.last_kernel;
        exact_ = (++thread.launches & (kTimedExactly - 1)) == 0 || first_use_ || call_ == Call::load ||
                 thread.launches < thread.exact_until || fills_queue(thread.pending);
        if (exact_) [[unlikely]] {
            start_exactly();
        } else {
            start_ns_ = coarse_ns();
        }
    }
    __attribute__((always_inline)) void after(int status) noexcept {
        if (exact_) [[unlikely]] {
            end_exactly(status);
        } else if (const std::uint64_t end = coarse_ns(); end != start_ns_ && end - start_ns_ >= 2 * tick_ns())
            [[unlikely]] {
            held(status, end);
        }
    }

  private:
    static constexpr std::uint32_t kTimedExactly = 16;
    static constexpr std::uint32_t kExactAfterHeld = 64;
    // Launches about where a queue that the device does not empty is full.
    static bool fills_queue(const PendingThen& pending) noexcept {
        constexpr std::uint64_t kAbout = 128;
        return pending.issued - pending.complete - kFullQueue < kAbout && pending.entry != nullptr;
    }
    static std::uint64_t tick_ns() noexcept;
    void start_exactly() noexcept;
    void end_exactly(int status) noexcept;
    void held(int status, std::uint64_t end_ns) noexcept;

    State& state_;
    Api api_;
    Caller caller_;
    Call call_;
    void* stream_;
    // From before() on.
    bool first_use_;
    bool exact_;
    bool shown_;  // where it is exact
    std::uint64_t start_ns_;
};

}  // namespace pincheck
