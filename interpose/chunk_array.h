// Objects of one kind for a table of the tool's, with a cap, from memory that is mapped as it is needed.
#pragma once

#include <atomic>
#include <cstdint>

#include "memory.h"

namespace pincheck {

// Objects at fixed addresses, named by index from 1, from mapped chunks; freed ones are used again, oldest first or
// newest first as the caller links them. Callers lock.
template <class T, std::uint32_t kChunk, std::uint32_t kMax>
class ChunkArray {
  public:
    static constexpr std::uint32_t kChunks = kMax / kChunk;
    static_assert(kMax % kChunk == 0);

    // A zeroed object that was never handed out; null: the cap is reached, or memory is refused.
    T* fresh() noexcept {
        if (used_ == kMax) {
            return nullptr;
        }
        const std::uint32_t chunk = used_ / kChunk;
        T* memory = chunks_[chunk].load(std::memory_order_relaxed);
        if (memory == nullptr) {
            memory = map_array<T>(kChunk);
            if (memory == nullptr) {
                return nullptr;
            }
            chunks_[chunk].store(memory, std::memory_order_release);
        }
        return &memory[used_++ % kChunk];
    }
    std::uint32_t used() const noexcept { return used_; }
    // Index from 1, of an object that was handed out.
    T& at(std::uint32_t index) const noexcept {
        return chunks_[(index - 1) / kChunk].load(std::memory_order_acquire)[(index - 1) % kChunk];
    }
    ~ChunkArray() {
        for (std::atomic<T*>& chunk : chunks_) {
            unmap_memory(chunk.load(std::memory_order_relaxed), kChunk * sizeof(T));
        }
    }

  private:
    std::atomic<T*> chunks_[kChunks] = {};
    std::uint32_t used_ = 0;
};

}  // namespace pincheck
