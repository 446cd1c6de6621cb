// Following the driver's calls that put something into streams or wait for them, for Streams.
//
// Done at the driver's functions, nested or not, where each operation happens once: runtime functions get there through
// the hooks too. It is apart from recording, which is the outermost call's: a call is followed around the whole body
// of its hook (wrappers_stream.h). Where the driver's own functions cannot be seen (option dlsym=off), nothing is
// followed.
//
// Captured calls are not issued; their stream is asked about only while a capture is open. Nothing is followed in a
// fork's child, where the driver is not asked anything.
#pragma once

#include <cstdint>

#include "clock.h"
#include "hook_copy.h"
#include "lifecycle.h"
#include "state.h"
#include "stream_capture.h"
#include "thread_state.h"
#include "waits.h"

namespace pincheck {

// Takes what is done in a scope out of the time of the call that it is in.
class OwnTime {
  public:
    OwnTime() noexcept : start_ns_(now_ns()) {}
    ~OwnTime() { t_thread.own_ns += now_ns() - start_ns_; }
    OwnTime(const OwnTime&) = delete;
    OwnTime& operator=(const OwnTime&) = delete;

  private:
    std::uint64_t start_ns_;
};

// The host has just learned that work is complete: watches of copies end that are.
inline void host_learned(State& state) noexcept {
    if (state.watched.any()) [[unlikely]] {
        const OwnTime own;
        state.watched.learned(t_thread.simple_site);
    }
}

// One driver call on a stream, from before its hook's body to after it.
class StreamCall {
  public:
    explicit StreamCall(const Caller& caller) noexcept : StreamCall(state_or_start(), caller) {}
    StreamCall(State* state, const Caller& caller) noexcept : state_(state), caller_(caller) {}

    // Null: nothing is followed, and nothing below may be called but begin(), begin_wait() and the functions that take
    // a status. A call of a stream that nobody saw has an empty operation.
    State* state() const noexcept { return state_; }
    Streams& streams() const noexcept { return state_->streams; }
    const Operation& operation() const noexcept { return operation_; }
    bool is_captured() const noexcept { return captured_; }

    // Something is about to go into the stream; or the host is about to wait for it. What is pending there is left in
    // the thread's state.
    __attribute__((always_inline)) void begin(Api api, void* stream) noexcept {
        const StreamRef found = stream_of(api, stream);
        if (state_ != nullptr) [[likely]] {
            streams().begin(found, operation_);
            streams().look_at_pending(operation_, t_thread.pending);
        } else {
            operation_.entry = nullptr;
        }
    }
    __attribute__((always_inline)) void begin_wait(Api api, void* stream) noexcept {
        const StreamRef found = stream_of(api, stream);
        if (state_ != nullptr) [[likely]] {
            streams().begin_wait(found, operation_);
            streams().look_at_pending(operation_, t_thread.pending, true);
        } else {
            operation_.entry = nullptr;
        }
    }

    // It went in, where the call succeeded: work; the same with the site that CopyHook has left for it; the same for a
    // function that waits, as far as it is documented to.
    __attribute__((always_inline)) Ticket issued(int status) noexcept {
        if (status != 0 || operation_.entry == nullptr) [[unlikely]] {
            return {};
        }
        const Ticket ticket = streams().issued(operation_);
        if (!Streams::is_reported(operation_)) [[unlikely]] {
            report_stream();
        }
        if (t_thread.delaying != nullptr) [[unlikely]] {
            note_delayed(*operation_.entry);
        }
        return ticket;
    }
    __attribute__((always_inline)) Ticket copied(int status) noexcept {
        const Ticket ticket = issued(status);
        CopyFacts& copy = t_thread.copy;
        if (copy.counters != nullptr) {
            Streams::name_work(operation_, ticket, copy.counters->site);
        }
        if (copy.watch) [[unlikely]] {
            end_watch_call(ticket);
        }
        if (copy.known && ticket) [[likely]] {
            follow_ranges(ticket);
        }
        copy.known = false;
        return ticket;
    }
    void copied_blocking(int status) noexcept;
    void issued_gate(int status, std::uint64_t gate = 0) noexcept;
    // What the copies of an executable graph use, that was launched with that ticket.
    void follow_graph_ranges(const void* executable, const Ticket& ticket) noexcept;
    // Calls of this kind let a stream and the host, or another process, order each other through memory.
    void signals() noexcept {
        if (state_ != nullptr) {
            state_->races.set_signals();
        }
    }
    void learned(int status) noexcept {
        if (status == 0 && operation_.entry != nullptr) {
            streams().learned(operation_);
            host_learned(*state_);
        }
    }

  private:
    __attribute__((always_inline)) StreamRef stream_of(Api api, void* stream) noexcept {
        const auto handle = reinterpret_cast<std::uintptr_t>(stream);
        captured_ = false;
        if (handle > 2 && state_ != nullptr && streams().is_last(t_thread.last_stream, handle) &&
            state_->open_captures.load(std::memory_order_relaxed) == 0) [[likely]] {
            return t_thread.last_stream.stream;
        }
        return find_stream(stream_identity(api, stream));
    }
    StreamRef find_stream(std::uintptr_t identity) noexcept;
    void report_stream() noexcept;
    void follow_ranges(const Ticket& ticket) noexcept;
    void end_watch_call(const Ticket& ticket) noexcept;
    void follow_ranges_anew(const Ticket& ticket, KnownPair& pair) noexcept;
    void watch_pageable(const Ticket& ticket, const CopyRanges& ranges) noexcept;

    State* state_;
    const Caller& caller_;
    bool captured_;
    Operation operation_;
};

// The context that is current in this thread; 0: none, or it may not be asked. Attaches the thread.
std::uintptr_t current_context(State& state, const Caller& caller) noexcept;

// A stream was created at that site (0: not known).
void stream_created(State& state, const Caller& caller, void* stream, unsigned flags, std::uint32_t site) noexcept;

// True where it is not known.
bool is_primary_context_active(const State& state, int device) noexcept;

// What is pending in the context that is current in this thread, for ThreadState::context_pending.
void look_at_context(State& state, const Caller& caller) noexcept;

// The same for the context that the call waits for; null: the current one.
ContextWait begin_context_wait(State& state, const Caller& caller, const void* context) noexcept;

}  // namespace pincheck
