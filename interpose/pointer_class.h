// What memory a pointer is. The driver's answer is the authority; the program's own requests (PinnedMap) add flags.
//
// Sources: CUDA Driver API, cuPointerGetAttributes ("…if an attribute is not supported … the value is zero", success
// for a pointer CUDA does not know); measured on H200, driver 580.159.04: 65-77 ns on page-locked memory, 150-240 ns on
// a malloc pointer, no context needed, no effect on an open stream capture, error 3 before cuInit, 800 on a host
// function's thread, last error untouched.
#pragma once

#include <cstdint>

#include "report/records.h"
#include "state.h"

namespace pincheck {

struct PointerClass {
    report::Memory memory{report::MemoryClass::unknown, 0, 0};
    std::uint32_t allocation_site = 0;
    bool ask_again = false;  // the driver was not initialised yet: ask after the call
};

// Class of [pointer, pointer + bytes). `may_ask`: false on the driver's threads and in a fork's child.
PointerClass classify(const State& state, std::uintptr_t pointer, std::uint64_t bytes, bool may_ask) noexcept;

// Of a partly registered range: bytes from its start to where its page-locked part begins or ends; 0: not known.
std::uint64_t registration_boundary(std::uintptr_t pointer, std::uint64_t bytes) noexcept;

// The request's flags as MemoryFlags: cuMemHostAlloc / cudaHostAlloc (1 portable, 2 mapped, 4 write-combined) and
// cuMemHostRegister / cudaHostRegister (1 portable, 2 mapped, 4 I/O memory, 8 read-only).
std::uint16_t allocation_flags(unsigned requested) noexcept;
std::uint16_t registration_flags(unsigned requested) noexcept;

}  // namespace pincheck
