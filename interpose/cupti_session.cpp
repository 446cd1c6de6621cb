// What the tool's thread does with the session, and the end of the process.
#include "cupti_session.h"

#include <cstdlib>

#include "cupti_state.h"
#include "futex.h"
#include "lifecycle.h"
#include "log.h"

namespace pincheck::cupti {
namespace {

using report::CoverageKind;

constexpr std::uint64_t kExitNs = 1'000'000'000;

// False: CUPTI is not to be called. Else leave_cupti() follows.
bool enter_cupti(Session& session) noexcept {
    session.inside.store(1);
    if (g_phase.load() == kOpen) {
        return true;
    }
    session.inside.store(0);
    futex_wake(session.inside);
    return false;
}

void leave_cupti(Session& session) noexcept {
    session.inside.store(0);
    if (g_phase.load() != kOpen) {
        futex_wake(session.inside);
    }
}

// Reading needs CUPTI's function that walks over the records, which touches nothing but the buffer.
void read_buffers(Session& session, const DeviceSink& sink, bool at_end) noexcept {
    const std::uint64_t start = now_ns();
    session.buffers.read_full([&](unsigned pass, std::uint8_t* buffer, std::size_t valid) {
        Record* record = nullptr;
        while (session.library.functions.next_record(buffer, valid, &record) == kSuccess && record != nullptr) {
            session.reader->read(pass, *record, sink);
        }
    });
    session.reader->retry(sink, at_end);
    session.reading_ns += now_ns() - start;
}

void tell_losses(State& state, Session& session) noexcept {
    const RecordCounts& counts = session.reader->counts();
    const std::uint64_t lost =
        session.dropped.load(std::memory_order_relaxed) + counts.unmatched + counts.without_times;
    state.image.lose(report::Loss::transfers, lost - session.told_lost, 0, now_ns());
    state.image.lose(report::Loss::unseen_copies, counts.unhooked - session.told_unhooked, 0, now_ns());
    session.told_lost = lost;
    session.told_unhooked = counts.unhooked;
}

// Keeps CUPTI's cost within the budget. Inside enter_cupti().
void keep_budget(State& state, Session& session) noexcept {
    const std::uint64_t now = now_ns();
    const std::uint64_t wall = now - session.window_start;
    if (wall < Budget::kWindowNs) {
        return;
    }
    const RecordCounts& counts = session.reader->counts();
    if (session.recording) {
        const RecordCounts& before = session.window_counts;
        const std::uint64_t copies = counts.delivered + counts.unmatched + counts.without_times + counts.unhooked -
                                     before.delivered - before.unmatched - before.without_times - before.unhooked;
        const std::uint64_t kernels = counts.kernels - before.kernels;
        session.budget.recorded(copies * Budget::kCopyNs + kernels * Budget::kKernelNs + session.reading_ns, wall);
    } else {
        session.budget.skipped();
    }
    session.window_counts = counts;
    session.window_start = now;
    session.reading_ns = 0;
    const bool record = session.budget.record_next();
    if (record != session.recording) {
        record_work(session, record);
        session.recording = record;
    }
    if (!record && !session.sampled) {
        session.sampled = true;
        tell(state, CoverageKind::some_device_times,
             "taken now and then, or they would cost more than 2 % of the time");
    }
}

// ---- The end

// Registered when the first copy has been made, so that it runs before the exit handlers of the driver and of CUPTI
// itself, which were registered earlier: "In general, it can be done in the at-exit handler" (CUPTI,
// "cuptiActivityFlush All"). The tool's thread does it; the process does not wait for ever.
void at_exit() {
    const KeepErrno keep;
    Session* session = own_session();
    if (session == nullptr || g_phase.load() != kOpen) {
        return;
    }
    session->exit_wanted.store(1);
    session->wake();
    wait_until_set(session->exit_done, kExitNs);
    std::uint32_t expected = kOpen;
    g_phase.compare_exchange_strong(expected, kEnded);
}

}  // namespace

void call_ended(ThreadState& thread, const MatchedCall& call) noexcept {
    thread.errands &= static_cast<Errands>(~kIdTold);
    Session* session = g_session.load(std::memory_order_acquire);
    if (session == nullptr || thread.device_call.told_ns != call.start_ns) {
        return;
    }
    session->calls->ended(thread.device_call.correlation, call);
    if (!session->exit_registered.load(std::memory_order_relaxed) && !session->exit_registered.exchange(true)) {
        const KeepErrno keep;
        std::atexit(&at_exit);
    }
}

void stop() noexcept {
    const KeepErrno keep;
    Session* session = own_session();
    if (session == nullptr) {
        return;
    }
    if (enter_cupti(*session)) {
        record_work(*session, false);
        leave_cupti(*session);
    }
    std::uint32_t expected = kOpen;
    g_phase.compare_exchange_strong(expected, kEnded);
    set_and_wake(session->exit_done);
}

void tick(State& state, const DeviceSink& sink) noexcept {
    Session* session = g_session.load(std::memory_order_acquire);
    const std::uint32_t phase = g_phase.load();
    if (session == nullptr || session->state != &state || phase == kClosed || phase == kOpening) {
        return;
    }
    session->flush_wanted.store(0);
    session->flushed_ns.store(now_ns(), std::memory_order_relaxed);
    const bool at_exit = session->exit_wanted.load() != 0 && !session->flushed_at_exit;
    read_buffers(*session, sink, false);
    if (enter_cupti(*session)) {
        add_clock_pair(*session);
        // A flush waits for locks of CUPTI's: not where there is nothing to have.
        if (session->buffers.outstanding() != 0) {
            flush(*session, at_exit ? kFlushForced : 0);
        }
        keep_budget(state, *session);
        leave_cupti(*session);
        read_buffers(*session, sink, at_exit);
    }
    tell_losses(state, *session);
    if (at_exit) {
        session->flushed_at_exit = true;
        set_and_wake(session->exit_done);
    }
}

}  // namespace pincheck::cupti
