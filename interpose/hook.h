// One intercepted call: who makes it, whether it is recorded, and the real function.
//
// The outermost call wins: a runtime function that reaches the driver through our hooks makes one record, under its own
// name. A call is nested when it comes from libcudart or libcuda, deeper on the stack than a hook that is being
// executed. A hook left behind by longjmp or a cancelled thread is therefore never mistaken for a running one by user
// code.
//
// Some runtime functions say less than the driver function they call (arrays, symbols, structs of two kinds). Their
// hooks only lend their name: the driver's call inside is recorded as theirs (NamedHook).
#pragma once

#include <cerrno>
#include <cstdint>

#include "lifecycle.h"
#include "real.h"
#include "stack.h"
#include "state.h"
#include "thread_state.h"

namespace pincheck {

// The function behind a hook, as `Function`; null when no CUDA library is there.
template <class Function>
inline __attribute__((always_inline)) Function* real_function(Api api, CallerRule rule) noexcept {
    return reinterpret_cast<Function*>(info(api).side == Side::runtime ? runtime_function(api, rule)
                                                                       : driver_function(api));
}

class Hook {
  public:
    Hook(Api api, Caller caller) noexcept : Hook(api, caller, caller_rule(caller.return_address)) {}
    Hook(Api api, Caller caller, CallerRule rule) noexcept
        : api_(api), caller_(caller), rule_(rule), frame_(caller.frame) {}

    template <class Function>
    __attribute__((always_inline)) Function* real() const noexcept {
        return real_function<Function>(api_, rule_);
    }

    // Part of a call that is recorded already: to be passed on as it is.
    __attribute__((always_inline)) static bool is_part_of_another(Caller caller, CallerRule rule) noexcept {
        return is_nested(caller.frame, rule) && !t_thread.named.active;
    }

    // Enters the call. False: pass it on unrecorded, and do not call leave().
    __attribute__((always_inline)) bool enter() noexcept {
        ThreadState& thread = t_thread;
        named_ = false;
        if (is_nested(frame_, rule_)) {
            if (!thread.named.active) {
                return false;
            }
            take_name(thread.named);
        }
        state_ = state_or_start();
        if (state_ == nullptr) {
            return false;
        }
        if (thread.generation != state_->generation && !attach_thread_to(*state_, thread, caller_)) {
            return false;
        }
        // An older hook whose frame is gone (the stack is shorter now) is forgotten; one further out is restored.
        outer_guard_ = frame_ < thread.guard ? thread.guard : 0;
        thread.guard = frame_;
        thread.named.active = false;
        return true;
    }
    void leave() noexcept {
        t_thread.guard = outer_guard_;
        t_thread.named.active = named_;
    }

    // Of the outermost call; is_named() when that is another one than the function behind this hook.
    Api api() const noexcept { return api_; }
    bool is_named() const noexcept { return named_; }
    const Caller& caller() const noexcept { return caller_; }
    CallerRule rule() const noexcept { return rule_; }
    State& state() const noexcept { return *state_; }

  private:
    static constexpr std::uintptr_t kMaxNestedStack = 64 * 1024;
    __attribute__((always_inline)) static bool is_nested(std::uintptr_t frame, CallerRule rule) noexcept {
        const std::uintptr_t guard = t_thread.guard;
        return guard != 0 && rule.is_cuda() && frame < guard && guard - frame < kMaxNestedStack;
    }
    void take_name(const NamedCall& named) noexcept {
        named_ = true;
        api_ = named.api;
        caller_ = named.caller;
        rule_ = CallerRule(named.rule);
    }
    static bool attach_thread_to(State& state, ThreadState& thread, const Caller& caller) noexcept;

    Api api_;
    Caller caller_;
    CallerRule rule_;
    std::uintptr_t frame_;  // of this hook, whoever the caller is
    // From enter() on.
    State* state_;
    std::uintptr_t outer_guard_;
    bool named_;
};

// Lends its name and caller to the driver call that its real function makes.
class NamedHook : public Hook {
  public:
    using Hook::Hook;
    // False: pass on; do not call leave().
    bool before() noexcept {
        if (!enter()) {
            return false;
        }
        NamedCall& named = t_thread.named;
        if (!is_named()) {
            named.api = api();
            named.caller = caller();
            named.rule = rule().bits();
        }
        named.active = true;
        return true;
    }
};

}  // namespace pincheck

// Where the hook that this is written in was called from.
#define PINCHECK_CALLER                                                  \
    ::pincheck::Caller {                                                 \
        reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)),   \
            reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) \
    }
