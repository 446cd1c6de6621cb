// What memory a pointer is. The driver's answer is the authority; the program's own requests (PinnedMap) add flags.
//
// Sources: CUDA Driver API, cuPointerGetAttributes ("…if an attribute is not supported … the value is zero", success
// for a pointer CUDA does not know); measured on H200, driver 580.159.04: 65-77 ns on page-locked memory, 150-240 ns on
// a malloc pointer, no context needed, no effect on an open stream capture, error 3 before cuInit, 800 on a host
// function's thread, last error untouched.
#pragma once

#include <cstdint>

#include "real.h"
#include "report/records.h"
#include "state.h"
#include "thread_state.h"

namespace pincheck {

struct PointerClass {
    report::Memory memory{report::MemoryClass::unknown, 0, 0};
    std::uint32_t allocation_site = 0;
    bool ask_again = false;  // the driver was not initialised yet: ask after the call
};

// Class of [pointer, pointer + bytes). `may_ask`: false on the driver's threads and in a fork's child.
PointerClass classify(const State& state, std::uintptr_t pointer, std::uint64_t bytes, bool may_ask) noexcept;

// What the driver says of one byte.
struct PointerAnswer {
    int status = 0;
    unsigned type = 0;
    std::uintptr_t start = 0;
    std::uint64_t bytes = 0;
};
// Numbers of cuda.h, part of the driver's ABI (checked by tests/unit/interpose/abi_test.cpp).
inline constexpr int kAttributeMemoryType = 2;
inline constexpr int kAttributeRangeStart = 11;
inline constexpr int kAttributeRangeSize = 12;
inline constexpr unsigned kMemoryTypeHost = 1;
inline constexpr int kRangeAttributes[] = {kAttributeMemoryType, kAttributeRangeStart, kAttributeRangeSize};

// The ways of classify(): without the driver, and by its answer. `bytes` are not 0.
PointerClass classify_unasked(const State& state, std::uintptr_t pointer, std::uint64_t bytes, bool may_ask) noexcept;
PointerClass classify_answer(const State& state, const Driver& driver, std::uintptr_t pointer, std::uint64_t bytes,
                             const PointerAnswer& answer) noexcept;

// classify(), for the path of every copy. Most use the range of the thread's copy before, and no range came or went
// since: then nothing is searched.
inline __attribute__((always_inline)) PointerClass classify_quickly(const State& state, std::uintptr_t pointer,
                                                                    std::uint64_t bytes, bool may_ask) noexcept {
    bytes = bytes == 0 ? 1 : bytes;
    const Driver* known = driver();
    if (!may_ask || known == nullptr || known->pointer_get_attributes == nullptr) [[unlikely]] {
        return classify_unasked(state, pointer, bytes, may_ask);
    }
    // Not kept in a PointerAnswer: what the driver stored in parts would be read again as a whole.
    unsigned type = 0;
    std::uintptr_t start = 0;
    std::uint64_t length = 0;
    void* values[] = {&type, &start, &length};
    const int status = known->pointer_get_attributes(3, kRangeAttributes, values, pointer);
    const LastRange& last = t_thread.last_range;
    if (status != 0 || type != kMemoryTypeHost || start != last.address || start == 0 ||
        last.version != state.pinned.version() || bytes > length - (pointer - start)) [[unlikely]] {
        return classify_answer(state, *known, pointer, bytes, {status, type, start, length});
    }
    return {last.memory, last.site, false};
}

// Of a partly registered range: bytes from its start to where its page-locked part begins or ends; 0: not known.
std::uint64_t registration_boundary(std::uintptr_t pointer, std::uint64_t bytes) noexcept;

// The request's flags as MemoryFlags: cuMemHostAlloc / cudaHostAlloc (1 portable, 2 mapped, 4 write-combined) and
// cuMemHostRegister / cudaHostRegister (1 portable, 2 mapped, 4 I/O memory, 8 read-only).
std::uint16_t allocation_flags(unsigned requested) noexcept;
std::uint16_t registration_flags(unsigned requested) noexcept;

}  // namespace pincheck
