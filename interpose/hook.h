// One intercepted call: who makes it, whether it is recorded, and the real function.
//
// The outermost call wins: a runtime function that reaches the driver through our hooks makes one record, under its own
// name. A call is nested when it comes from libcudart or libcuda, deeper on the stack than a hook that is being
// executed. A hook left behind by longjmp or a cancelled thread is therefore never mistaken for a running one by user
// code.
#pragma once

#include <cerrno>
#include <cstdint>

#include "lifecycle.h"
#include "real.h"
#include "stack.h"
#include "state.h"
#include "thread_state.h"

namespace pincheck {

class Hook {
  public:
    Hook(Api api, Caller caller) noexcept : api_(api), caller_(caller), rule_(caller_rule(caller.return_address)) {}

    // The function behind the hook, as `Function`; null when no CUDA library is there.
    template <class Function>
    Function* real() const noexcept {
        return reinterpret_cast<Function*>(info(api_).side == Side::runtime ? runtime_function(api_, rule_)
                                                                            : driver_function(api_));
    }

    // Enters the call. False: pass it on unrecorded, and do not call leave().
    bool enter() noexcept {
        ThreadState& thread = t_thread;
        if (thread.guard != 0 && rule_.is_cuda() && caller_.frame < thread.guard &&
            thread.guard - caller_.frame < kMaxNestedStack) {
            return false;
        }
        state_ = state_or_start();
        if (state_ == nullptr) {
            return false;
        }
        if (thread.generation != state_->generation && !attach_thread_to(*state_, thread, caller_)) {
            return false;
        }
        // An older hook whose frame is gone (the stack is shorter now) is forgotten; one further out is restored.
        outer_guard_ = caller_.frame < thread.guard ? thread.guard : 0;
        thread.guard = caller_.frame;
        return true;
    }
    void leave() noexcept { t_thread.guard = outer_guard_; }

    Api api() const noexcept { return api_; }
    const Caller& caller() const noexcept { return caller_; }
    CallerRule rule() const noexcept { return rule_; }
    State& state() const noexcept { return *state_; }

  private:
    static constexpr std::uintptr_t kMaxNestedStack = 64 * 1024;
    static bool attach_thread_to(State& state, ThreadState& thread, const Caller& caller) noexcept;

    Api api_;
    Caller caller_;
    CallerRule rule_;
    State* state_ = nullptr;
    std::uintptr_t outer_guard_ = 0;
};

}  // namespace pincheck

// Where the hook that this is written in was called from.
#define PINCHECK_CALLER                                                  \
    ::pincheck::Caller {                                                 \
        reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)),   \
            reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) \
    }
