// Pinned memory. Measured: H200, driver 580.159.04: allocations below 2 MiB are cut from 2 MiB slabs in steps of 512
// bytes, so that they share pages with each other; a slab has the flags of its first allocation, write-combined memory
// has slabs of its own, and a slab stays mapped when a block is freed.
#pragma once

#include <cstddef>

namespace simcuda {

constexpr std::size_t kSlabSize = 2 << 20;

struct PinnedBlock {
    void* base = nullptr;
    char* alias = nullptr;
    unsigned flags = 0;
};

// False when there is no memory.
bool map_pinned(std::size_t size, unsigned flags, PinnedBlock* out);
bool take_from_slab(std::size_t size, unsigned flags, PinnedBlock* out);
void return_to_slab(void* base);

}  // namespace simcuda
