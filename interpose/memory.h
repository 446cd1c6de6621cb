// Memory for the tool's own tables, straight from the kernel: the program's allocator is never called.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace pincheck {

// Zeroed, or null. errno may change.
inline void* map_memory(std::size_t bytes) noexcept {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
}

template <class T>
T* map_array(std::size_t count) noexcept {
    return static_cast<T*>(map_memory(count * sizeof(T)));
}

inline void unmap_memory(void* memory, std::size_t bytes) noexcept {
    if (memory != nullptr) {
        munmap(memory, bytes);
    }
}

}  // namespace pincheck
