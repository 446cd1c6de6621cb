// What the device did for one call, as CUPTI's records tell it, and where it goes.
#pragma once

#include <cstdint>

namespace pincheck {

// A copy or memset that the device carried out, matched with the call that asked for it. Times are CLOCK_MONOTONIC
// nanoseconds.
struct DeviceWork {
    enum class Kind : std::uint8_t { copy, peer_copy, fill };
    Kind kind = Kind::copy;
    std::uint8_t copy_kind = 0;         // CUpti_ActivityMemcpyKind
    std::uint8_t source_kind = 0;       // CUpti_ActivityMemoryKind
    std::uint8_t destination_kind = 0;  // CUpti_ActivityMemoryKind
    std::uint32_t correlation = 0;      // a graph's copies have that of its launch
    std::uint32_t context = 0;          // CUPTI's own numbers
    std::uint32_t stream = 0;
    std::uint64_t bytes = 0;
    std::uint64_t device_start_ns = 0;
    std::uint64_t device_end_ns = 0;
    // The call: of a copy, or of the launch of the graph that has it.
    std::uint32_t site = 0;
    std::uint32_t thread = 0;
    std::uint64_t call_start_ns = 0;
    std::uint64_t call_end_ns = 0;
    // Inside the call, waiting for room in the stream's queue (COMMAND_BUFFER_FULL); 0: it did not.
    std::uint64_t queue_full_ns = 0;
    // Of the kernel that ran last before it in its stream, mangled, where cupti=full recorded it; null otherwise.
    const char* kernel = nullptr;
    std::uint64_t kernel_end_ns = 0;
};

// Receives what CUPTI says, on the tool's thread only.
struct DeviceSink {
    void* context;
    void (*work)(void* context, const DeviceWork& work);
    // A call waited for room in its stream's queue. Of launches too, whose ids no hook knows.
    void (*queue_full)(void* context, std::uint32_t correlation, std::uint64_t start_ns, std::uint64_t end_ns);
    // A kernel ran on the device (cupti=full). `name` is mangled and stays.
    void (*kernel)(void* context, const char* name, std::uint64_t start_ns, std::uint64_t end_ns);
};

}  // namespace pincheck
