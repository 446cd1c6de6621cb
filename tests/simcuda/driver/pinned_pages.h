// Physical access to registered host memory through io_uring fixed buffers (io_uring_register(2)): the kernel holds the
// pages and copies to and from them without going through the process's page tables, as DMA does.
#pragma once

#include <cstddef>
#include <cstdint>

namespace simcuda {

// A slot, or -1 where the kernel refuses (no io_uring, memory lock limit, file mappings).
int pin_pages(void* address, std::size_t size);
void unpin_pages(int slot);

// False when the slot cannot be used; then nothing was copied.
bool read_pinned_pages(int slot, std::uintptr_t from, char* into, std::size_t size);
bool write_pinned_pages(int slot, std::uintptr_t into, const char* from, std::size_t size);

}  // namespace simcuda
