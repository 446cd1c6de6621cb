// One call of every listed function that moves or sets memory, for each kind of host memory and direction that it
// takes. The functions come from the list itself (report/cuda_api.def): a row is called by the body of its shape, and a
// shape without a body does not compile. What each call must look like in the report is counted here.
//
// The program is two: its driver form calls the rows of the driver, its runtime form those of the runtime.
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "interpose/shapes.h"

namespace every_copy {

namespace abi = pincheck::cuda_abi;

inline constexpr std::size_t kBytes = 4096;
inline constexpr std::size_t kWidth = 64;  // of strided copies: kRows rows of kWidth bytes, kPitch apart
inline constexpr std::size_t kRows = 16;
inline constexpr std::size_t kPitch = 128;

// ---- What was called

struct Counts {
    std::uint64_t calls = 0;
    std::uint64_t bytes = 0;
};
using Key = std::tuple<std::string, std::string, std::string, std::string, std::string>;
inline std::map<Key, Counts> g_expected;

inline void expect(const std::string& api, const char* kind, const char* direction, const char* source,
                   const char* destination, std::uint64_t bytes, std::uint64_t calls = 1) {
    Counts& counts = g_expected[{api, kind, direction, source, destination}];
    counts.calls += calls;
    counts.bytes += bytes * calls;
}

inline void print_expected() {
    for (const auto& [key, counts] : g_expected) {
        const auto& [api, kind, direction, source, destination] = key;
        std::printf("%s %s %s %s %s %llu %llu\n", api.c_str(), kind.c_str(), direction.c_str(), source.c_str(),
                    destination.c_str(), static_cast<unsigned long long>(counts.calls),
                    static_cast<unsigned long long>(counts.bytes));
    }
}

inline int g_failures = 0;
inline bool worked(int status, const char* api, const char* what) {
    if (status != 0) {
        std::fprintf(stderr, "%s (%s): error %d\n", api, what, status);
        ++g_failures;
    }
    return status == 0;
}

// ---- The memory

struct Host {
    const char* kind;  // as report/records.h names it
    char* memory;      // at least 64 KiB
};
struct Memory {
    std::vector<Host> hosts;
    std::uint64_t device = 0;
    std::uint64_t device2 = 0;
    std::uint64_t managed = 0;
    void* array = nullptr;  // 64 x 64 elements of 4 bytes
    void* array2 = nullptr;
    void* line = nullptr;  // arrays of one dimension, kBytes long
    void* line2 = nullptr;
    void* stream = nullptr;
    void* context = nullptr;
    const void* symbol = nullptr;  // runtime form: a device symbol of kBytes
};
inline Memory g_memory;

inline void* pointer(std::uint64_t address) {
    return reinterpret_cast<void*>(address);
}
inline std::uint64_t address(const void* memory) {
    return reinterpret_cast<std::uint64_t>(memory);
}

// Directions of a copy between two ends, as the tool works them out: managed and device memory are the device's side.
inline bool is_host(const std::string& kind) {
    return kind == "pageable" || kind == "pinned" || kind == "registered" || kind == "host-pool";
}
inline const char* direction_between(const char* source, const char* destination) {
    return is_host(source) ? (is_host(destination) ? "host-to-host" : "host-to-device")
                           : (is_host(destination) ? "device-to-host" : "device-to-device");
}

}  // namespace every_copy
