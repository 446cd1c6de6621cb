// How the simulated DMA engines reach host memory. A real engine works on physical pages: page protection does not stop
// it, write protection by userfaultfd does not see it, and a page that the process has unmapped does not fault
// (measured: H200, driver 580.159.04: mprotect'ed and write-protected pinned ranges were copied undisturbed and without
// an event). Pinned memory is therefore copied through a second mapping, and registered memory through io_uring's fixed
// buffers, which also hold the pages; where io_uring is not allowed, through /proc/self/mem, which at least never
// faults.
#pragma once

#include <cstddef>
#include <cstdint>

#include "memory.h"

namespace simcuda {

// Not the C library's memcpy: a sanitizer in the program intercepts that one and would check the device's accesses.
void raw_copy(void* destination, const void* source, std::size_t size);

// A second mapping of shared anonymous memory; null if the kernel refuses.
char* map_alias(void* base, std::size_t size);

// Whether every page is mapped, and writable where asked.
bool mapped(const void* address, std::size_t size, bool writable);

// Pins the pages of a registered range. -1 where io_uring is not available.
int open_dma(void* address, std::size_t size);
void close_dma(int dma);

// Copies as the device does; called on engine threads. Never faults on host memory; bytes it cannot reach stay as they
// were.
void dma_copy(const Span& destination, const Span& source, std::size_t offset, std::size_t size);

// One access of 4 or 8 bytes, whole for every other thread where the memory can be reached directly.
void dma_load(const Span& source, void* into, std::size_t size);
void dma_store(const Span& destination, const void* from, std::size_t size);

}  // namespace simcuda
