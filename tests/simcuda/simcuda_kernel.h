// A kernel of the simulated device is a host function. It lives in a shared library named by SIMCUDA_KERNELS and is
// found by the kernel's mangled name, so the program that launches it needs no change.
//
// Writing one (grid and block come with the launch; the function runs once a launch, not once a thread):
//
//   static void scale(const SimKernelLaunch& launch, float* data, int count) { ... }
//   SIMCUDA_KERNEL(_Z5scalePfi, scale)
//
// Arguments are copied at launch time, as the driver does (cuLaunchKernel, "kernelParams"). Neither nvcc's host code
// nor cuLaunchKernel tells how long they are, and a real driver reads it from the machine code; here the macro exports
// the sizes next to the function, from its C++ parameter types, as MANGLED_args.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

struct SimDim3 {
    unsigned x, y, z;
};

struct SimKernelLaunch {
    SimDim3 grid;
    SimDim3 block;
    unsigned shared_bytes;
    void** args;  // one pointer an argument, into the copies made at launch time
    int* error;   // set to a CUresult (700: illegal address) to end the launch as a faulting kernel does
};

using SimKernelFunction = void (*)(const SimKernelLaunch*);

namespace simcuda_kernel {

template <auto Function>
struct Twin;

template <typename... Args, void (*Function)(const SimKernelLaunch&, Args...)>
struct Twin<Function> {
    // Ends with a zero, so that it can be exported as a plain array.
    static constexpr std::size_t sizes[] = {sizeof(Args)..., 0};

    template <std::size_t... Index>
    static void call(const SimKernelLaunch& launch, std::index_sequence<Index...>) {
        Function(launch, *static_cast<std::remove_cv_t<std::remove_reference_t<Args>>*>(launch.args[Index])...);
    }
    static void run(const SimKernelLaunch* launch) { call(*launch, std::index_sequence_for<Args...>{}); }
};

}  // namespace simcuda_kernel

#define SIMCUDA_KERNEL(mangled, function)                                                           \
    extern "C" __attribute__((visibility("default"))) const std::size_t* const mangled##_args =     \
        simcuda_kernel::Twin<&function>::sizes;                                                     \
    extern "C" __attribute__((visibility("default"))) void mangled(const SimKernelLaunch* launch) { \
        simcuda_kernel::Twin<&function>::run(launch);                                               \
    }
