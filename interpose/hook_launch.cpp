#include "hook_launch.h"

#include "hook_copy.h"
#include "log.h"

namespace pincheck {

std::uint64_t LaunchHook::tick_ns() noexcept {
    static const std::uint64_t tick = coarse_tick_ns();
    return tick;
}

// Shows the thread as inside, so that a program that hangs in a full queue can be explained.
__attribute__((noinline)) void LaunchHook::start_exactly() noexcept {
    ThreadState& thread = t_thread;
    const bool known = thread.generation == state_.generation || attach_thread(state_, thread, caller_);
    shown_ = known && thread.guard == 0;  // a part of another call is that call
    start_ns_ = now_ns();
    if (shown_) {
        report::store(thread.shard->slot->in_call_api, state_.api_name(api_));
        report::store(thread.shard->in_call, static_cast<report::CounterSlot*>(nullptr));
        report::store(thread.shard->slot->in_call_since_ns, start_ns_);
    }
}

__attribute__((noinline)) void LaunchHook::end_exactly(int status) noexcept {
    const std::uint64_t end_ns = now_ns();
    if (is_held(state_, end_ns - start_ns_)) {
        held(status, end_ns);
    }
    if (shown_) {
        report::store(t_thread.shard->slot->in_call_since_ns, std::uint64_t{0});
    }
}

// Why the call held the host. Only now is it looked at where the call came from: the frames are still there.
__attribute__((noinline)) void LaunchHook::held(int status, std::uint64_t end_ns) noexcept {
    Hook hook(api_, caller_);
    if (!hook.enter()) {
        return;
    }
    ThreadState& thread = t_thread;
    thread.exact_until = thread.launches + kExactAfterHeld;
    const bool loads = call_ == Call::load;
    SiteFacts facts{hook.api(), loads ? report::SiteKind::module_load : report::SiteKind::launch};
    facts.stream = loads ? report::StreamKind::none : stream_kind(api_, stream_);
    facts.flags = static_cast<std::uint16_t>((loads ? 0 : report::kSiteAsync) | report::kSiteExactStack |
                                             (thread.driver_owned ? report::kSiteOnDriverThread : 0));
    if (report::CounterSlot* counters = counters_of(hook.state(), thread, facts, 0, hook.caller(), hook.rule())) {
        add_call(*counters, {status, 0, start_ns_, end_ns});
        show_long_call(*thread.shard, start_ns_, end_ns, counters->site);
        HeldCall call;
        if (!loads) {
            add_pending(thread, call);
        }
        call.kind = facts.kind;
        call.async = !loads;
        call.takes_slot = call_ == Call::launch;
        call.first_use = first_use_;
        call.status = status;
        record_wait(hook.state(), thread, counters->site, call, start_ns_, end_ns);
    }
    hook.leave();
}

}  // namespace pincheck
