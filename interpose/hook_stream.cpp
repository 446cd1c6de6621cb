#include "hook_stream.h"

#include "log.h"
#include "real.h"
#include "recorder.h"

namespace pincheck {
namespace {

using report::Direction;
using report::MemoryClass;
using report::SiteKind;

constexpr std::uintptr_t kLegacy = 1;
constexpr std::uintptr_t kPerThread = 2;
constexpr unsigned kNonBlocking = 1;  // cuda.h, CU_STREAM_NON_BLOCKING

// The driver, where this thread may ask it.
const Driver* driver_to_ask(State& state, const Caller& caller) noexcept {
    ThreadState& thread = t_thread;
    if (thread.generation != state.generation && !attach_thread(state, thread, caller)) {
        return nullptr;
    }
    return thread.driver_owned ? nullptr : driver();
}

std::uintptr_t context_from(const Driver* known) noexcept {
    void* context = nullptr;
    if (known == nullptr || known->ctx_get_current == nullptr || known->ctx_get_current(&context) != 0) {
        return 0;
    }
    return reinterpret_cast<std::uintptr_t>(context);
}

int device_from(const Driver* known) noexcept {
    int device = -1;
    return known != nullptr && known->ctx_get_device != nullptr && known->ctx_get_device(&device) == 0 ? device : -1;
}

// Which of the thread's default streams; from 1. The number ends with the thread (see on_thread_exit()).
std::uint32_t thread_of_streams(State& state) noexcept {
    std::uint32_t& thread = t_thread.stream_thread;
    if (thread == 0) {
        thread = state.last_stream_thread.fetch_add(1, std::memory_order_relaxed) + 1;
    }
    return thread;
}

bool is_page_locked(MemoryClass kind) noexcept {
    return kind == MemoryClass::pinned || kind == MemoryClass::registered || kind == MemoryClass::host_pool;
}

}  // namespace

std::uintptr_t current_context(State& state, const Caller& caller) noexcept {
    return context_from(driver_to_ask(state, caller));
}

// Default streams, and streams that this thread did not use last. Nothing is followed after a fork.
__attribute__((noinline)) StreamRef StreamCall::find_stream(std::uintptr_t identity) noexcept {
    t_thread.context_pending.known = false;
    if (state_ == nullptr || state_->after_fork) {
        state_ = nullptr;
        return {};
    }
    const KeepErrno keep;
    captured_ = state_->open_captures.load(std::memory_order_relaxed) != 0 && is_capturing(*state_, identity);
    if (captured_) {
        return {};
    }
    if (identity > kPerThread) {
        const StreamRef found = streams().find(t_thread.last_stream, 0, identity, 0);
        if (found) {
            return found;
        }
    }
    const Driver* known = driver_to_ask(*state_, caller_);
    if (known == nullptr) {
        return {};
    }
    if (identity == kLegacy || identity == kPerThread) {
        const std::uintptr_t context = context_from(known);
        if (context == 0) {
            return {};
        }
        const std::uint32_t thread = identity == kPerThread ? thread_of_streams(*state_) : 0;
        const StreamRef found = streams().find(t_thread.last_stream, context, identity, thread);
        return found ? found : streams().add(context, device_from(known), identity, thread, false, 0);
    }
    // Created by a call that went past the hooks. While a capture is open nothing is asked.
    void* const handle = reinterpret_cast<void*>(identity);
    void* context = nullptr;
    unsigned flags = 0;
    if (state_->open_captures.load(std::memory_order_relaxed) != 0 || known->stream_get_flags == nullptr ||
        known->stream_get_context == nullptr || known->stream_get_flags(handle, &flags) != 0 ||
        known->stream_get_context(handle, &context) != 0) {
        return {};
    }
    return streams().add(reinterpret_cast<std::uintptr_t>(context), device_from(known), identity, 0,
                         (flags & kNonBlocking) != 0, 0);
}

bool is_primary_context_active(const State& state, int device) noexcept {
    const KeepErrno keep;
    const Driver* known = state.after_fork || t_thread.driver_owned ? nullptr : driver();
    unsigned flags = 0;
    int active = 1;
    return known == nullptr || known->primary_context_get_state == nullptr ||
           known->primary_context_get_state(device, &flags, &active) != 0 || active != 0;
}

void stream_created(State& state, const Caller& caller, void* stream, unsigned flags, std::uint32_t site) noexcept {
    const KeepErrno keep;
    const Driver* known = driver_to_ask(state, caller);
    const std::uintptr_t context = context_from(known);
    if (context != 0) {
        state.streams.add(context, device_from(known), reinterpret_cast<std::uintptr_t>(stream), 0,
                          (flags & kNonBlocking) != 0, site);
    }
}

// Once a stream, when the first work goes in.
__attribute__((noinline)) void StreamCall::report_stream() noexcept {
    const StreamRef stream{operation_.entry, operation_.number};
    if (!Streams::claim_report(stream)) {
        return;
    }
    const KeepErrno keep;
    const StreamInfo info = streams().info(stream);
    report::StreamRecord record{};
    record.site = info.site;
    record.context = info.context_number;
    record.device = info.device >= 0 ? static_cast<std::uint32_t>(info.device) : report::kNoDevice;
    record.handle = info.handle;
    record.kind = info.kind;
    record.flags = info.non_blocking ? std::uint8_t{report::kStreamNonBlocking} : std::uint8_t{0};
    Streams::set_report_id(stream, state_->image.add_stream(record));
}

// CUDA Driver API, "API synchronization behavior", of functions without "Async": uploads wait for the stream first, and
// are complete on return from page-locked memory; downloads are complete on return; copies on the device do not wait;
// copies between host memory are fully synchronous; fills are asynchronous except of page-locked memory. Older editions
// promise the same of managed memory, later ones do not: nothing is learned there.
__attribute__((noinline)) void StreamCall::copied_blocking(int status) noexcept {
    if (status != 0 || operation_.entry == nullptr) {
        return;
    }
    const Ticket ticket = copied(status);
    const CopyFacts& copy = t_thread.copy;
    bool waits = false;
    bool complete = false;
    if (!copy.known) {
    } else if (copy.kind == SiteKind::fill) {
        waits = complete = is_page_locked(copy.destination);
    } else if (copy.direction == Direction::host_to_device) {
        waits = true;
        complete = is_page_locked(copy.source);
    } else if (copy.direction == Direction::device_to_host || copy.direction == Direction::host_to_host) {
        waits = complete = true;
    }
    if (waits) {
        streams().learned(operation_);
    }
    if (complete) {
        streams().completed(operation_, ticket);
    }
}

__attribute__((noinline)) void StreamCall::issued_gate(int status, std::uint64_t gate) noexcept {
    if (status == 0 && operation_.entry != nullptr) {
        const KeepErrno keep;
        streams().issued_gate(operation_, gate);
        if (!Streams::is_reported(operation_)) {
            report_stream();
        }
    }
}

namespace {

void look_at_context(State& state, std::uintptr_t handle) noexcept {
    ContextPending& pending = t_thread.context_pending;
    t_thread.pending.entry = nullptr;
    pending.known = handle != 0;
    if (pending.known) {
        pending.work = state.streams.pending_in_context(handle);
    }
}

}  // namespace

void look_at_context(State& state, const Caller& caller) noexcept {
    const KeepErrno keep;
    look_at_context(state, state.after_fork ? 0 : current_context(state, caller));
}

ContextWait begin_context_wait(State& state, const Caller& caller, const void* context) noexcept {
    const KeepErrno keep;
    std::uintptr_t handle = reinterpret_cast<std::uintptr_t>(context);
    if (handle == 0) {
        handle = current_context(state, caller);
    }
    look_at_context(state, handle);
    return state.streams.begin_context_wait(handle);
}

}  // namespace pincheck
