// The tool's CUPTI session: device times of copies, where nobody else wants CUPTI. Its phases are in cupti_state.h.
//
// There is one CUPTI client in a process. The program's own profiler comes first: when it subscribes, or registers
// buffer callbacks without subscribing, hand_over() gives everything back before its call is made. No lock of the
// tool's is held across a call of CUPTI's, and the program's threads make none but in hand_over().
#pragma once

#include <cstdint>

#include "device_work.h"

namespace pincheck {

struct State;

namespace cupti {

// Opens the session, or says in the report why there is none. Makes no CUDA call. Once a process, by the thread that
// starts the tool, outside of any lock; `wake` wakes the tool's thread and may be called by any thread.
void open(State& state, void (*wake)()) noexcept;

// The tool's thread, every 250 ms and when it was woken: brings device times into the report.
void tick(State& state, const DeviceSink& sink) noexcept;

// There is no tool's thread, or it ends: nothing would read what CUPTI records.
void stop() noexcept;

// The program is about to call the CUPTI function of that name from `caller`. Any thread. After it CUPTI has no client,
// as far as the tool goes, and gets none until handed_over(); bounded in time.
void hand_over(const char* function, std::uintptr_t caller) noexcept;
// That call returned. Where it succeeded no session is opened any more.
void handed_over(bool succeeded) noexcept;

}  // namespace cupti
}  // namespace pincheck
