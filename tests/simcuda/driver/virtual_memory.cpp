#include "virtual_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "context.h"
#include "memory.h"
#include "settings.h"

namespace simcuda {
namespace {

// Physical memory: a file without a name. Lives while a handle or a mapping refers to it.
struct Memory {
    int file = -1;
    std::size_t size = 0;
    CUmemAllocationProp properties{};

    ~Memory() {
        if (file >= 0)
            close(file);
    }
    bool on_host() const { return properties.location.type != CU_MEM_LOCATION_TYPE_DEVICE; }
};

struct Handle {
    std::shared_ptr<Memory> memory;
    int references = 1;
};

struct Mapping {
    std::size_t size = 0;
    CUmemGenericAllocationHandle handle = 0;
    std::shared_ptr<Memory> memory;
    std::vector<CUmemAccessDesc> access;
};

struct Reservation {
    std::size_t size = 0;
    char* twin = nullptr;  // the engines' addresses
    std::map<std::uintptr_t, Mapping> mappings;
};

struct State {
    std::mutex mutex;
    std::map<std::uintptr_t, Reservation> reservations;
    std::map<CUmemGenericAllocationHandle, Handle> handles;
    CUmemGenericAllocationHandle next = 1;
};

State& state() {
    static State& instance = *new State;
    return instance;
}

bool whole(std::size_t size) {
    return size != 0 && size % kGranularity == 0;
}

void* address_of(std::uintptr_t address) {
    return reinterpret_cast<void*>(address);
}

// Null when the range does not lie in one reservation. The caller holds the mutex.
Reservation* reservation_of(std::uintptr_t address, std::size_t size, std::uintptr_t* base) {
    auto& all = state().reservations;
    auto it = all.upper_bound(address);
    if (it == all.begin())
        return nullptr;
    --it;
    if (address - it->first >= it->second.size || size > it->second.size - (address - it->first))
        return nullptr;
    *base = it->first;
    return &it->second;
}

// The mapping that holds the address, or null. Call with the state locked.
Mapping* mapping_at(std::uintptr_t address) {
    std::uintptr_t base = 0;
    Reservation* reservation = reservation_of(address, 1, &base);
    if (!reservation)
        return nullptr;
    for (auto& [begin, mapping] : reservation->mappings)
        if (address >= begin && address - begin < mapping.size)
            return &mapping;
    return nullptr;
}

// The mappings that fill the range exactly; none otherwise.
std::vector<std::uintptr_t> mappings_in(const Reservation& reservation, std::uintptr_t address, std::size_t size) {
    std::vector<std::uintptr_t> found;
    std::uintptr_t next = address;
    while (next < address + size) {
        const auto it = reservation.mappings.find(next);
        if (it == reservation.mappings.end())
            return {};
        found.push_back(next);
        next += it->second.size;
    }
    return next == address + size ? found : std::vector<std::uintptr_t>{};
}

// Memory of its own again: nothing there, nothing accessible.
bool blank(void* address, std::size_t size) {
    return mmap(address, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
}

// Page alignment is not enough: reserve more and give back what sticks out.
char* reserve_aligned(std::size_t size, std::size_t alignment) {
    void* raw = mmap(nullptr, size + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED)
        return nullptr;
    const auto begin = reinterpret_cast<std::uintptr_t>(raw);
    const std::uintptr_t aligned = (begin + alignment - 1) / alignment * alignment;
    if (aligned > begin)
        munmap(raw, aligned - begin);
    if (aligned + size < begin + size + alignment)
        munmap(address_of(aligned + size), begin + alignment - aligned);
    return static_cast<char*>(address_of(aligned));
}

bool same(const CUmemLocation& a, const CUmemLocation& b) {
    return a.type == b.type && (a.type != CU_MEM_LOCATION_TYPE_DEVICE || a.id == b.id);
}

}  // namespace

CUresult check_allocation(const CUmemAllocationProp& properties) {
    if (properties.type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    switch (properties.location.type) {
        case CU_MEM_LOCATION_TYPE_DEVICE:
            if (properties.location.id < 0 || properties.location.id >= settings().devices)
                return CUDA_ERROR_INVALID_DEVICE;
            return CUDA_SUCCESS;
        case CU_MEM_LOCATION_TYPE_HOST:
            return properties.requestedHandleTypes == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
        case CU_MEM_LOCATION_TYPE_HOST_NUMA:
            return properties.location.id == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;  // one node here
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult reserve_addresses(std::size_t size, std::size_t alignment, CUdeviceptr* out) {
    if (!whole(size) || (alignment & (alignment - 1)))
        return CUDA_ERROR_INVALID_VALUE;
    alignment = std::max(alignment, kGranularity);
    char* base = reserve_aligned(size, alignment);
    char* twin = base ? reserve_aligned(size, kGranularity) : nullptr;
    if (!twin) {
        if (base)
            munmap(base, size);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = reinterpret_cast<CUdeviceptr>(base);
    std::lock_guard lock(state().mutex);
    state().reservations[*out] = {size, twin, {}};
    return CUDA_SUCCESS;
}

std::optional<Reserved> find_reservation(CUdeviceptr address) {
    std::lock_guard lock(state().mutex);
    std::uintptr_t base = 0;
    const Reservation* reservation = reservation_of(address, 1, &base);
    return reservation ? std::optional<Reserved>{{base, reservation->size}} : std::nullopt;
}

CUresult free_addresses(CUdeviceptr address, std::size_t size) {
    std::lock_guard lock(state().mutex);
    const auto it = state().reservations.find(address);
    if (it == state().reservations.end() || it->second.size != size || !it->second.mappings.empty())
        return CUDA_ERROR_INVALID_VALUE;
    munmap(address_of(address), size);
    munmap(it->second.twin, size);
    state().reservations.erase(it);
    return CUDA_SUCCESS;
}

CUresult create_memory(std::size_t size, const CUmemAllocationProp& properties, CUmemGenericAllocationHandle* out) {
    if (const CUresult result = check_allocation(properties); result != CUDA_SUCCESS)
        return result;
    if (!whole(size))
        return CUDA_ERROR_INVALID_VALUE;
    auto memory = std::make_shared<Memory>();
    memory->size = size;
    memory->properties = properties;
    memory->file = memfd_create("simcuda", MFD_CLOEXEC);
    if (memory->file < 0 || ftruncate(memory->file, static_cast<off_t>(size)) != 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    std::lock_guard lock(state().mutex);
    *out = state().next++;
    state().handles[*out] = {std::move(memory), 1};
    return CUDA_SUCCESS;
}

CUresult release_memory(CUmemGenericAllocationHandle handle) {
    std::lock_guard lock(state().mutex);
    const auto it = state().handles.find(handle);
    if (it == state().handles.end())
        return CUDA_ERROR_INVALID_VALUE;
    if (--it->second.references == 0)
        state().handles.erase(it);
    return CUDA_SUCCESS;
}

CUresult properties_of(CUmemGenericAllocationHandle handle, CUmemAllocationProp* out) {
    std::lock_guard lock(state().mutex);
    const auto it = state().handles.find(handle);
    if (it == state().handles.end())
        return CUDA_ERROR_INVALID_VALUE;
    *out = it->second.memory->properties;
    return CUDA_SUCCESS;
}

CUresult retain_memory_at(std::uintptr_t address, CUmemGenericAllocationHandle* out) {
    std::lock_guard lock(state().mutex);
    const Mapping* mapping = mapping_at(address);
    if (!mapping)
        return CUDA_ERROR_INVALID_VALUE;
    *out = mapping->handle;
    auto& handle = state().handles[mapping->handle];  // may have been released while it is mapped
    handle.references = handle.memory ? handle.references + 1 : 1;
    handle.memory = mapping->memory;
    return CUDA_SUCCESS;
}

CUresult map_memory(CUdeviceptr address, std::size_t size, std::size_t offset, CUmemGenericAllocationHandle wanted) {
    std::lock_guard lock(state().mutex);
    std::uintptr_t base = 0;
    Reservation* reservation = reservation_of(address, size, &base);
    const auto handle = state().handles.find(wanted);
    if (!reservation || handle == state().handles.end() || !whole(size) || (address - base) % kGranularity)
        return CUDA_ERROR_INVALID_VALUE;
    const std::shared_ptr<Memory> memory = handle->second.memory;
    if (offset % kGranularity || offset > memory->size || size > memory->size - offset)
        return CUDA_ERROR_INVALID_VALUE;
    for (const auto& [begin, mapping] : reservation->mappings)
        if (begin < address + size && address < begin + mapping.size)
            return CUDA_ERROR_INVALID_VALUE;
    char* const twin = reservation->twin + (address - base);
    const auto place = [&](void* at, int protection) {
        return mmap(at, size, protection, MAP_SHARED | MAP_FIXED, memory->file, static_cast<off_t>(offset)) !=
               MAP_FAILED;
    };
    if (!place(address_of(address), PROT_NONE) || !place(twin, PROT_READ | PROT_WRITE))
        return CUDA_ERROR_OUT_OF_MEMORY;
    madvise(address_of(address), size, MADV_DONTFORK);
    madvise(twin, size, MADV_DONTFORK);
    reservation->mappings[address] = {size, wanted, memory, {}};
    Range range{.base = address, .size = size};
    range.kind = memory->on_host() ? Kind::host_located : Kind::device;
    range.context = primary_context(memory->on_host() ? 0 : memory->properties.location.id);
    range.alias = twin;
    range.reserved_base = base;
    range.reserved_size = reservation->size;
    return add_mapping(std::move(range));
}

CUresult unmap_memory(CUdeviceptr address, std::size_t size) {
    std::lock_guard lock(state().mutex);
    std::uintptr_t base = 0;
    Reservation* reservation = reservation_of(address, size, &base);
    if (!reservation)
        return CUDA_ERROR_INVALID_VALUE;
    const auto begins = mappings_in(*reservation, address, size);
    if (begins.empty())
        return CUDA_ERROR_INVALID_VALUE;
    for (const std::uintptr_t begin : begins) {
        forget_mapping(begin);
        reservation->mappings.erase(begin);
    }
    return blank(address_of(address), size) && blank(reservation->twin + (address - base), size)
               ? CUDA_SUCCESS
               : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult set_access(CUdeviceptr address, std::size_t size, const CUmemAccessDesc* entries, std::size_t count) {
    std::lock_guard lock(state().mutex);
    std::uintptr_t base = 0;
    Reservation* reservation = reservation_of(address, size, &base);
    if (!reservation)
        return CUDA_ERROR_INVALID_VALUE;
    const auto begins = mappings_in(*reservation, address, size);
    if (begins.empty())
        return CUDA_ERROR_INVALID_VALUE;
    for (const std::uintptr_t begin : begins)  // cuda.h: the host reaches memory of the host only
        for (std::size_t i = 0; i < count; ++i)
            if (entries[i].location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA &&
                !reservation->mappings[begin].memory->on_host())
                return CUDA_ERROR_INVALID_VALUE;
    for (const std::uintptr_t begin : begins) {
        Mapping& mapping = reservation->mappings[begin];
        for (std::size_t i = 0; i < count; ++i) {
            std::erase_if(mapping.access,
                          [&](const CUmemAccessDesc& entry) { return same(entry.location, entries[i].location); });
            mapping.access.push_back(entries[i]);
        }
        int protection = PROT_NONE;
        for (const CUmemAccessDesc& entry : mapping.access) {
            protection |= entry.flags & CU_MEM_ACCESS_FLAGS_PROT_READ ? PROT_READ : 0;
            protection |= entry.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ? PROT_WRITE : 0;
        }
        if (mprotect(address_of(begin), mapping.size, protection) != 0)
            return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

CUresult get_access(CUdeviceptr address, const CUmemLocation& location, unsigned long long* flags) {
    std::lock_guard lock(state().mutex);
    const Mapping* mapping = mapping_at(address);
    if (!mapping)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    for (const CUmemAccessDesc& entry : mapping->access)
        if (same(entry.location, location))
            *flags = entry.flags;
    return CUDA_SUCCESS;
}

}  // namespace simcuda
