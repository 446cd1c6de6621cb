#include "memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "context.h"
#include "host_access.h"
#include "pinned_slabs.h"
#include "settings.h"

namespace simcuda {
namespace {

constexpr std::size_t kPage = 4096;

struct Ranges {
    std::shared_mutex mutex;
    std::map<std::uintptr_t, Range> by_base;
    std::vector<std::size_t> device_bytes;
    std::uint64_t next_id = 1;

    Ranges() : device_bytes(static_cast<std::size_t>(std::max(1, settings().devices))) {}

    // The last range that begins at or below the address.
    std::map<std::uintptr_t, Range>::iterator at_or_below(std::uintptr_t address) {
        auto it = by_base.upper_bound(address);
        return it == by_base.begin() ? by_base.end() : std::prev(it);
    }
    auto holding(std::uintptr_t address) {
        auto it = at_or_below(address);
        return it != by_base.end() && address - it->first < it->second.size ? it : by_base.end();
    }
};

Ranges& ranges() {
    static Ranges& instance = *new Ranges;
    return instance;
}

std::size_t whole_pages(std::size_t size) {
    return (size + kPage - 1) / kPage * kPage;
}

bool overlaps(Ranges& all, std::uintptr_t base, std::size_t size) {
    if (all.holding(base) != all.by_base.end())
        return true;
    auto it = all.by_base.lower_bound(base);
    return it != all.by_base.end() && it->first - base < size;
}

CUresult add(Range range) {
    Ranges& all = ranges();
    std::unique_lock lock(all.mutex);
    if (overlaps(all, range.base, range.size))
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    range.id = all.next_id++;
    all.by_base[range.base] = std::move(range);
    return CUDA_SUCCESS;
}

void unmap(const Range& range) {
    if (range.kind == Kind::registered) {
        close_dma(range.dma);
        return;
    }
    if (range.slab) {
        return_to_slab(reinterpret_cast<void*>(range.base));
        return;
    }
    munmap(reinterpret_cast<void*>(range.base), whole_pages(range.size));
    if (range.alias)
        munmap(range.alias, whole_pages(range.size));
}

}  // namespace

bool take_device_bytes(int device, std::size_t size) {
    std::unique_lock lock(ranges().mutex);
    std::size_t& used = ranges().device_bytes[static_cast<std::size_t>(device)];
    if (size > settings().device_memory - used)
        return false;
    used += whole_pages(size);
    return true;
}

void give_device_bytes(int device, std::size_t size) {
    std::unique_lock lock(ranges().mutex);
    ranges().device_bytes[static_cast<std::size_t>(device)] -= whole_pages(size);
}

char* map_device(int device, std::size_t size) {
    if (!take_device_bytes(device, size))
        return nullptr;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
#ifdef MAP_32BIT
    if (settings().low_addresses)
        flags |= MAP_32BIT;
#endif
    void* base = mmap(nullptr, whole_pages(size), PROT_READ | PROT_WRITE, flags, -1, 0);
    if (base == MAP_FAILED) {
        give_device_bytes(device, size);
        return nullptr;
    }
    madvise(base, whole_pages(size), MADV_DONTFORK);  // a child has no device memory
    return static_cast<char*>(base);
}

void unmap_device(int device, char* memory, std::size_t size) {
    give_device_bytes(device, size);
    munmap(memory, whole_pages(size));
}

CUresult allocate_device(Context* context, std::size_t size, CUdeviceptr* out) {
    if (size == 0)
        return CUDA_ERROR_INVALID_VALUE;
    char* base = map_device(context->device, size);
    if (!base)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out = reinterpret_cast<CUdeviceptr>(base);
    return add({.base = *out, .size = size, .kind = Kind::device, .context = context});
}

CUresult allocate_managed(Context* context, std::size_t size, CUdeviceptr* out) {
    if (size == 0)
        return CUDA_ERROR_INVALID_VALUE;
    void* base = mmap(nullptr, whole_pages(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out = reinterpret_cast<CUdeviceptr>(base);
    return add({.base = *out, .size = size, .kind = Kind::managed, .context = context});
}

CUresult allocate_pinned(Context* context, std::size_t size, unsigned flags, void** out) {
    if (size == 0) {
        *out = nullptr;
        return CUDA_SUCCESS;
    }
    PinnedBlock block;
    if (!(size < kSlabSize ? take_from_slab(size, flags, &block) : map_pinned(whole_pages(size), flags, &block)))
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out = block.base;
    return add({.base = reinterpret_cast<std::uintptr_t>(block.base),
                .size = size,
                .kind = Kind::pinned,
                .context = context,
                .flags = block.flags,
                .slab = size < kSlabSize,
                .alias = block.alias});
}

CUresult allocate_host_located(Context* context, std::size_t size, std::uintptr_t* out) {
    PinnedBlock block;
    if (size == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (!map_pinned(whole_pages(size), 0, &block))
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out = reinterpret_cast<std::uintptr_t>(block.base);
    return add(
        {.base = *out, .size = size, .kind = Kind::host_located, .context = context, .flags = 0, .alias = block.alias});
}

void assign_pool(std::uintptr_t base, CUmemoryPool pool, std::shared_ptr<void> backing) {
    Ranges& all = ranges();
    std::unique_lock lock(all.mutex);
    Range& range = all.by_base.at(base);
    range.pool = pool;
    range.backing = std::move(backing);
}

void keep_with(std::uintptr_t base, std::shared_ptr<void> backing) {
    std::unique_lock lock(ranges().mutex);
    const auto it = ranges().by_base.find(base);
    if (it != ranges().by_base.end())
        it->second.backing = std::move(backing);
}

CUresult add_mapping(Range range) {
    return add(std::move(range));
}

void forget_mapping(std::uintptr_t base) {
    Range range;  // destroyed outside the lock: what it holds may need it
    std::unique_lock lock(ranges().mutex);
    const auto it = ranges().by_base.find(base);
    if (it == ranges().by_base.end())
        return;
    range = std::move(it->second);
    ranges().by_base.erase(it);
    lock.unlock();
}

CUresult register_host(Context* context, void* address, std::size_t size, unsigned flags) {
    Range range{.base = reinterpret_cast<std::uintptr_t>(address),
                .size = size,
                .kind = Kind::registered,
                .context = context,
                .flags = flags};
    {
        std::shared_lock lock(ranges().mutex);
        if (overlaps(ranges(), range.base, size))
            return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    }
    // Measured: H200, driver 580.159.04: unmapped memory, and read-only memory without the flag for it, are refused.
    if (!mapped(address, size, !(flags & CU_MEMHOSTREGISTER_READ_ONLY)))
        return CUDA_ERROR_INVALID_VALUE;
    range.dma = open_dma(address, size);
    const CUresult result = add(range);
    if (result != CUDA_SUCCESS)
        close_dma(range.dma);
    return result;
}

std::optional<Range> find_range(std::uintptr_t address) {
    Ranges& all = ranges();
    std::shared_lock lock(all.mutex);
    auto it = all.holding(address);
    if (it == all.by_base.end())
        return std::nullopt;
    return it->second;
}

CUresult release(std::uintptr_t base, bool (*allowed)(Kind)) {
    Ranges& all = ranges();
    Range range;
    {
        std::unique_lock lock(all.mutex);
        auto it = all.by_base.find(base);
        if (it == all.by_base.end() || it->second.reserved_size || !allowed(it->second.kind))
            return CUDA_ERROR_INVALID_VALUE;
        range = it->second;
        all.by_base.erase(it);
        if (range.kind == Kind::device && !range.imported)
            all.device_bytes[static_cast<std::size_t>(range.context->device)] -= whole_pages(range.size);
    }
    unmap(range);
    return CUDA_SUCCESS;
}

void free_context_memory(Context* context) {
    std::vector<std::uintptr_t> bases;
    {
        std::shared_lock lock(ranges().mutex);
        for (const auto& [base, range] : ranges().by_base)
            if (range.context == context)
                bases.push_back(base);
    }
    for (std::uintptr_t base : bases)
        release(base, [](Kind) { return true; });
}

void memory_info(int device, std::size_t* free_bytes, std::size_t* total) {
    std::shared_lock lock(ranges().mutex);
    *total = settings().device_memory;
    *free_bytes = *total - ranges().device_bytes[static_cast<std::size_t>(device)];
}

CUresult classify(std::uintptr_t address, std::size_t size, Span* out) {
    *out = {address, size, std::nullopt};
    Ranges& all = ranges();
    std::shared_lock lock(all.mutex);
    auto it = all.holding(address);
    if (it == all.by_base.end()) {
        auto next = all.by_base.lower_bound(address);
        return next != all.by_base.end() && next->first - address < size ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    }
    out->range = it->second;
    Range& range = *out->range;
    if (range.reserved_size)
        for (auto next = std::next(it); next != all.by_base.end() && next->first == range.base + range.size &&
                                        next->second.reserved_base == range.reserved_base;
             ++next)
            range.size += next->second.size;
    if (size > range.size - (address - range.base))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

}  // namespace simcuda
