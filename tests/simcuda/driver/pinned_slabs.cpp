#include "pinned_slabs.h"

#include <sys/mman.h>

#include <map>
#include <mutex>
#include <vector>

#include "cuda_symbols.h"
#include "host_access.h"

namespace simcuda {
namespace {

constexpr std::size_t kStep = 512;

struct Slab {
    PinnedBlock memory;
    std::map<std::size_t, std::size_t> used;  // offset, size

    // The first gap that is large enough, or kSlabSize.
    std::size_t gap(std::size_t size) const {
        std::size_t begin = 0;
        for (const auto& [offset, length] : used) {
            if (offset - begin >= size)
                return begin;
            begin = offset + length;
        }
        return kSlabSize - begin >= size ? begin : kSlabSize;
    }
};

struct Slabs {
    std::mutex mutex;
    std::vector<Slab> all;
};

Slabs& slabs() {
    static Slabs& instance = *new Slabs;
    return instance;
}

bool write_combined(unsigned flags) {
    return flags & CU_MEMHOSTALLOC_WRITECOMBINED;
}

}  // namespace

// Shared and anonymous: listed as "/dev/zero (deleted)" in /proc/self/maps, as real pinned memory is.
bool map_pinned(std::size_t size, unsigned flags, PinnedBlock* out) {
    void* base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (base == MAP_FAILED)
        return false;
    *out = {base, map_alias(base, size), flags};
    return true;
}

bool take_from_slab(std::size_t size, unsigned flags, PinnedBlock* out) {
    const std::size_t rounded = (size + kStep - 1) / kStep * kStep;
    std::lock_guard lock(slabs().mutex);
    Slab* slab = nullptr;
    for (Slab& candidate : slabs().all)
        if (!slab && write_combined(candidate.memory.flags) == write_combined(flags) &&
            candidate.gap(rounded) < kSlabSize)
            slab = &candidate;
    if (!slab) {
        Slab fresh;
        if (!map_pinned(kSlabSize, flags, &fresh.memory))
            return false;
        slab = &slabs().all.emplace_back(std::move(fresh));
    }
    const std::size_t offset = slab->gap(rounded);
    slab->used[offset] = rounded;
    *out = {static_cast<char*>(slab->memory.base) + offset, slab->memory.alias ? slab->memory.alias + offset : nullptr,
            slab->memory.flags};
    return true;
}

void return_to_slab(void* base) {
    std::lock_guard lock(slabs().mutex);
    for (Slab& slab : slabs().all) {
        const auto offset = static_cast<std::size_t>(static_cast<char*>(base) - static_cast<char*>(slab.memory.base));
        if (static_cast<char*>(base) >= slab.memory.base && offset < kSlabSize)
            slab.used.erase(offset);
    }
}

}  // namespace simcuda
