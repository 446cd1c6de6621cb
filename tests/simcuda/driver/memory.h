// What memory is this: device, pinned, registered and managed ranges. Host memory that is none of these is pageable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "cuda_symbols.h"

namespace simcuda {

struct Context;

// host_located: host memory from a pool or from the virtual memory functions; that of a pool has a pool in its range.
enum class Kind { device, pinned, registered, managed, host_located };

struct Range {
    std::uintptr_t base = 0;
    std::size_t size = 0;
    Kind kind = Kind::device;
    Context* context = nullptr;
    unsigned flags = 0;     // as asked for; of pinned memory in a slab, what the slab was asked for
    bool array = false;     // see arrays.h
    bool slab = false;      // pinned memory that shares its pages, see pinned_slabs.h
    char* alias = nullptr;  // the same pinned memory in a second mapping, see host_access.h
    int dma = -1;           // descriptor of registered memory's pages, see host_access.h
    std::uint64_t id = 0;   // CU_POINTER_ATTRIBUTE_BUFFER_ID
    CUmemoryPool pool = nullptr;
    bool imported = false;             // device memory of another process, see ipc.h
    std::uintptr_t reserved_base = 0;  // of memory in a reservation of virtual addresses, see virtual_memory.h
    std::size_t reserved_size = 0;
    std::shared_ptr<void> backing = {};  // what goes when the range and every copy of it are gone

    bool pinned_host() const { return kind == Kind::pinned || kind == Kind::registered || kind == Kind::host_located; }
    // Memory of pools and mappings of virtual addresses belong to no context (measured: H200, driver 580.159.04).
    bool without_context() const { return pool || reserved_size; }
    bool pool_host() const { return kind == Kind::host_located && pool; }
};

CUresult allocate_device(Context* context, std::size_t size, CUdeviceptr* out);
CUresult allocate_managed(Context* context, std::size_t size, CUdeviceptr* out);
CUresult allocate_pinned(Context* context, std::size_t size, unsigned flags, void** out);
CUresult register_host(Context* context, void* address, std::size_t size, unsigned flags);

// Host memory that engines reach through a second mapping.
CUresult allocate_host_located(Context* context, std::size_t size, std::uintptr_t* out);

// Marks memory as a pool's; `backing` keeps the pool's account of it.
void assign_pool(std::uintptr_t base, CUmemoryPool pool, std::shared_ptr<void> backing);

// Keeps something for as long as the memory that begins at the address lives.
void keep_with(std::uintptr_t base, std::shared_ptr<void> backing);

// Makes memory known that somebody else has mapped, and forgets it without unmapping it.
CUresult add_mapping(Range range);
void forget_mapping(std::uintptr_t base);

// The range that holds the address.
std::optional<Range> find_range(std::uintptr_t address);

// Forgets the range that begins at the address if its kind is allowed. CUDA_ERROR_INVALID_VALUE otherwise. The caller
// has waited for the device.
CUresult release(std::uintptr_t base, bool (*allowed)(Kind));
void free_context_memory(Context* context);
void memory_info(int device, std::size_t* free_bytes, std::size_t* total);

// Device memory that has no address, for arrays: zeroed and part of memory_info, but find_range does not know it. Null
// when there is not enough.
char* map_device(int device, std::size_t size);
void unmap_device(int device, char* memory, std::size_t size);

// Device memory that nobody touches: part of memory_info only. False when there is not enough.
bool take_device_bytes(int device, std::size_t size);
void give_device_bytes(int device, std::size_t size);

// One end of a copy.
// Whether the range's device was given access to its pool.
bool device_reaches(const Range& range);

struct Span {
    std::uintptr_t address = 0;
    std::size_t size = 0;
    std::optional<Range> range;  // none: pageable

    bool pageable() const { return !range; }
    // Host memory of a pool that the device has no access to is copied as pageable memory is; with access, and mappings
    // of virtual addresses, as pinned memory is (measured: H200, driver 580.159.04).
    bool copied_as_pageable() const { return !range || (range->pool_host() && !device_reaches(*range)); }
    bool managed() const { return range && range->kind == Kind::managed; }
    bool device() const { return range && range->kind == Kind::device; }
};

// CUDA_ERROR_INVALID_VALUE for a span that is only partly inside a range (measured: H200, driver 580.159.04). Mappings
// that follow each other in one reservation of virtual addresses count as one range.
CUresult classify(std::uintptr_t address, std::size_t size, Span* out);

}  // namespace simcuda
