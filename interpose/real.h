// The real functions behind the hooks, and who is calling.
//
// Driver: the exported functions of the one libcuda.so.1 in the process (its look-up returns the same addresses;
// measured: H200, driver 580.159.04, tests/conformance). Runtime: those of the *caller's own* libcudart, since two
// runtimes can be in one process. Found in the mapped objects themselves: no dlopen, no reference held, no lock but the
// loader's inside dl_iterate_phdr.
#pragma once

#include <atomic>
#include <cstdint>

#include "address_cache.h"
#include "api.h"
#include "cuda_structs.h"

namespace pincheck {

// What a hook returns when no CUDA library can be found behind it: cudaErrorInitializationError and
// CUDA_ERROR_NOT_INITIALIZED are both 3.
inline constexpr int kNoCuda = 3;

struct Driver {
    std::uintptr_t base = 0;
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char path[256] = "";
    void* functions[kApiCount] = {};  // null where this driver lacks it
    // For the tool's own questions.
    int (*pointer_get_attributes)(unsigned, const int*, void**, unsigned long long) = nullptr;
    int (*driver_get_version)(int*) = nullptr;
    int (*ctx_get_device)(int*) = nullptr;
    int (*ctx_get_current)(void**) = nullptr;
    int (*primary_context_get_state)(int, unsigned*, int*) = nullptr;
    int (*stream_get_flags)(void*, unsigned*) = nullptr;
    int (*stream_get_context)(void*, void**) = nullptr;
    int (*device_get_name)(char*, int, int) = nullptr;
    int (*device_get_attribute)(int*, int, int) = nullptr;
    int (*stream_is_capturing)(void*, int*) = nullptr;
    int (*array_get_descriptor)(cuda_abi::ArrayDescriptor*, void*) = nullptr;
    int (*graph_get_nodes)(void*, void**, std::size_t*) = nullptr;
    int (*graph_node_get_type)(void*, int*) = nullptr;
    int (*graph_memcpy_node_get_params)(void*, cuda_abi::Copy3DV2*) = nullptr;
    int (*graph_memset_node_get_params)(void*, cuda_abi::MemsetNode*) = nullptr;
    int (*graph_child_get_graph)(void*, void**) = nullptr;
    int (*graph_record_node_get_event)(void*, void**) = nullptr;

    bool contains(const void* address) const noexcept {
        const auto value = reinterpret_cast<std::uintptr_t>(address);
        return value >= begin && value < end;
    }
};

// Looks for the driver: one that was unloaded and loaded anew lies elsewhere.
const Driver* find_driver_again() noexcept;
// The loaded driver, or null. Cheap after the first success.
extern std::atomic<const Driver*> g_driver;
inline __attribute__((always_inline)) const Driver* driver() noexcept {
    const Driver* known = g_driver.load(std::memory_order_acquire);
    return known != nullptr ? known : find_driver_again();
}

// What is known about a return address. Cached; forgotten when an object is unmapped (see forget_callers()).
class CallerRule {
  public:
    static constexpr std::uint8_t kNoRuntime = 31;

    constexpr CallerRule() noexcept = default;
    constexpr explicit CallerRule(std::uint64_t bits) noexcept : bits_(static_cast<std::uint8_t>(bits)) {}
    static constexpr CallerRule of(bool is_cuda, bool may_hold_runtime, std::uint8_t runtime) noexcept {
        return CallerRule(kKnown | (is_cuda ? kCuda : 0u) | (may_hold_runtime ? kHolder : 0u) | runtime);
    }

    // The address lies in libcudart, libcuda or this library.
    constexpr bool is_cuda() const noexcept { return (bits_ & kCuda) != 0; }
    // Its object looked functions up through cuGetProcAddress: it holds a static runtime, perhaps.
    constexpr bool may_hold_runtime() const noexcept { return (bits_ & kHolder) != 0; }
    // Index of the runtime that this caller's own libraries name; kNoRuntime: none.
    constexpr std::uint8_t runtime() const noexcept { return bits_ & kNoRuntime; }
    constexpr std::uint8_t bits() const noexcept { return bits_; }

  private:
    static constexpr std::uint8_t kCuda = 0x80;
    static constexpr std::uint8_t kHolder = 0x40;
    static constexpr std::uint8_t kKnown = 0x20;  // so that no word of the cache is 0
    std::uint8_t bits_ = 0;
};

extern AddressCache<8, 4096> g_callers;
CallerRule caller_rule_slowly(std::uintptr_t return_address) noexcept;
inline __attribute__((always_inline)) CallerRule caller_rule(std::uintptr_t return_address) noexcept {
    std::uint64_t word = 0;
    return g_callers.find_first(return_address, word) ? CallerRule(word) : caller_rule_slowly(return_address);
}
void forget_callers() noexcept;

// Remembers that the object holding `return_address` asked cuGetProcAddress.
void note_lookup_from(std::uintptr_t return_address) noexcept;

struct Runtime {
    std::atomic<std::uintptr_t> base{0};  // set last; 0: unused
    char path[256] = "";
    void* functions[kApiCount] = {};
};
inline constexpr unsigned kMaxRuntimes = 8;
extern Runtime g_runtimes[kMaxRuntimes];
extern std::atomic<unsigned> g_runtime_count;
// For a program that loaded and unloaded runtimes until the table was full: looked up anew at each call, slow and
// right.
void* any_runtime_function(Api api) noexcept;

// The function behind a hook; null when there is none.
inline __attribute__((always_inline)) void* runtime_function(Api api, CallerRule rule) noexcept {
    return rule.runtime() < g_runtime_count.load(std::memory_order_acquire)
               ? g_runtimes[rule.runtime()].functions[index_of(api)]
               : any_runtime_function(api);
}
inline __attribute__((always_inline)) void* driver_function(Api api) noexcept {
    const Driver* found = driver();
    return found != nullptr ? found->functions[index_of(api)] : nullptr;
}

// Paths of the runtimes seen so far, for coverage; null past the last.
const char* runtime_path(unsigned index) noexcept;

}  // namespace pincheck
