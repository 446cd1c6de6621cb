// What a report says about its process and its devices, and the report's name.
#pragma once

#include <cstddef>

#include "state.h"

namespace pincheck {

// Appends the process record: executable, command line, host, options.
void record_process(State& state) noexcept;

// Appends the current device's record, once a device. Asks the driver; call only where that is allowed.
void record_device(State& state) noexcept;

// The output pattern with its parts filled in. False when it does not fit.
bool report_name(char* out, std::size_t size) noexcept;

// Names the calling thread for ps and debuggers.
void prctl_name() noexcept;

}  // namespace pincheck
