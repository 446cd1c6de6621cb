// What the bodies of every_copy_driver.cpp and every_copy_boxes.h share: the driver's functions, and how a call is made
// and counted.
#pragma once

#include "every_copy.h"

extern "C" {
int cuInit(unsigned flags);
int cuDeviceGet(int* device, int ordinal);
int cuDevicePrimaryCtxRetain(void** context, int device);
int cuCtxSetCurrent(void* context);
int cuMemAlloc_v2(std::uint64_t* pointer, std::size_t bytes);
int cuArrayCreate_v2(void** array, const void* descriptor);
int cuStreamCreate(void** stream, unsigned flags);
#define PINCHECK_API(symbol, side, shape, lookup, since, variant) \
    int symbol PINCHECK_PARAMS_##shape __attribute__((weak));
#include "report/cuda_api.def"
#undef PINCHECK_API
}

namespace every_copy {
namespace {

using Name = const char*;

void wait() {
    cuCtxSynchronize();
}

template <class Call>
void each_host(Name api, const char* direction, const char* source, const char* destination, std::uint64_t bytes,
               Call&& call) {
    for (const Host& host : g_memory.hosts) {
        if (worked(call(host), api, host.kind)) {
            expect(api, "copy", direction, source != nullptr ? source : host.kind,
                   destination != nullptr ? destination : host.kind, bytes);
        }
        wait();
    }
}
void once(Name api, const char* kind, const char* direction, const char* source, const char* destination,
          std::uint64_t bytes, int status, std::uint64_t calls = 1) {
    if (worked(status, api, kind)) {
        expect(api, kind, direction, source, destination, bytes, calls);
    }
    wait();
}

std::uint32_t low(std::uint64_t address) {
    return static_cast<std::uint32_t>(address);
}
constexpr std::uint32_t kLowBytes = kBytes;

#define BODY(shape) void body_##shape(int(*f) PINCHECK_PARAMS_##shape, Name api)
#define NO_COPY(shape) \
    BODY(shape) {      \
        (void)f;       \
        (void)api;     \
    }

// Unified addressing: any two ends.
template <class Call>
void any_ends(Name api, Call&& call, std::uint64_t bytes = kBytes) {
    std::vector<Host> ends = g_memory.hosts;
    ends.push_back({"device", static_cast<char*>(pointer(g_memory.device2))});
    for (const Host& source : ends) {
        for (const Host& destination : ends) {
            if (source.memory == destination.memory) {
                continue;
            }
            if (worked(call(address(destination.memory), address(source.memory)), api, source.kind)) {
                expect(api, "copy", direction_between(source.kind, destination.kind), source.kind, destination.kind,
                       bytes);
            }
            wait();
        }
    }
}

}  // namespace
}  // namespace every_copy
