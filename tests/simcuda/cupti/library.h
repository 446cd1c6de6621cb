// The stand-in libcupti.so.N: its tie to the stand-in driver, its clock, and what every function does last.
#pragma once

#include <cupti.h>

#include <cstdint>

#include "../observer.h"

#define SIM_EXPORT extern "C" __attribute__((visibility("default")))

namespace simcupti {

// The stand-in driver's functions, with this library observing from then on. Null when there is no such driver.
const SimcudaDriver* connect();
// Null before the first connect(), and after disconnect().
const SimcudaDriver* connected();
void disconnect();

// SIMCUDA_CUPTI_VERSION, or what the headers say.
std::uint32_t version();

// Nanoseconds of CLOCK_REALTIME, or what the program's function says.
std::uint64_t now();

// Remembers a failure for cuptiGetLastError.
CUptiResult finish(CUptiResult result);

// Around each call into the program: what the program does inside has no callbacks of its own.
class InsideProgram {
  public:
    InsideProgram() { ++depth_; }
    ~InsideProgram() { --depth_; }
    InsideProgram(const InsideProgram&) = delete;
    InsideProgram& operator=(const InsideProgram&) = delete;
    static bool here() { return depth_ > 0; }

  private:
    static thread_local int depth_;
};

}  // namespace simcupti
