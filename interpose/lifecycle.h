// From "not one CUDA call yet" to the end of the process.
//
//   inert     no State: no file, no thread. Look-ups (dlsym, cuGetProcAddress) change nothing. A process that ends so
//             while CUDA calls went past the tool (bypass.h) makes a State then, to leave a report that says so.
//   running   the first intercepted call made a State, the tool thread creates the file and writes it every 250 ms.
//   ended     the exit handlers ran: what was known then is written, the file says `ended`. Hooks go on as before
//   (other
//             exit handlers may still call CUDA), the tool thread too, until the process is gone.
//   gave up   memory or a thread was refused at the start, or this is a set-id process: hooks only pass through.
//
// A fork's child is inert again: the page that holds the State's address is MADV_WIPEONFORK, which detects fork, _Fork
// and raw clone alike. The child of a process that was running makes no CUDA call of its own and does not unwind.
#pragma once

#include <atomic>
#include <cstdint>

#include "state.h"

namespace pincheck {

struct LifePage {
    std::atomic<State*> state;
    std::atomic<std::uint32_t> starting;
    std::atomic<std::uint32_t> gave_up;
};
extern std::atomic<LifePage*> g_life;

// Null while inert or after giving up.
inline State* current_state() noexcept {
    const LifePage* page = g_life.load(std::memory_order_acquire);
    return page != nullptr ? page->state.load(std::memory_order_acquire) : nullptr;
}

// Starts on the first call. Null when the tool gave up. errno is kept.
State* start() noexcept;

inline State* state_or_start() noexcept {
    State* state = current_state();
    return state != nullptr ? state : start();
}

// For test runners in the process, which look it up (samples/ci/pytest_pincheck.py): returns when the report holds what
// the caller's CUDA calls have been so far, with the number of snapshots that have written something: the same as
// before means that nothing has been recorded since. 0: no report, no CUDA call was made; -1: not written within two
// seconds, or not at all. Any thread; not in a signal handler.
extern "C" std::int64_t pincheck_flush() noexcept;

// Ways by which calls reach the hooks; recorded once each as coverage.
enum class Route : std::uint32_t { exported_runtime, exported_driver, dlsym, lookup };
void note_route(Route route) noexcept;
bool route_seen(Route route) noexcept;

}  // namespace pincheck
