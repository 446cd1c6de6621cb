// Copies of the bytes in the partly covered first and last page of watched buffers: neighbours on the same page write
// too, so the page being dirty says nothing, and the bytes decide. Blocks of two sizes (most buffers are cut at
// multiples of 256 or 512 bytes), with caps. Callers lock.
#pragma once

#include <cstdint>

#include "chunk_array.h"

namespace pincheck {

class EdgeBytes {
  public:
    static constexpr std::uint32_t kSmallBytes = 256;
    static constexpr std::uint32_t kLargeBytes = 4096;
    static constexpr std::uint32_t kSmallBlocks = 4096;  // 1 MiB
    static constexpr std::uint32_t kLargeBlocks = 512;   // 2 MiB

    // 0: there is no room.
    std::uint32_t take(std::uint32_t bytes) noexcept {
        if (bytes <= kSmallBytes) {
            if (const std::uint32_t index = small_.take()) {
                return index;
            }
        }
        const std::uint32_t index = large_.take();
        return index != 0 ? index | kLarge : 0;
    }
    void give_back(std::uint32_t block) noexcept {
        if ((block & kLarge) != 0) {
            large_.give_back(block & ~kLarge);
        } else if (block != 0) {
            small_.give_back(block);
        }
    }
    unsigned char* bytes(std::uint32_t block) const noexcept {
        return (block & kLarge) != 0 ? large_.blocks.at(block & ~kLarge).bytes : small_.blocks.at(block).bytes;
    }

  private:
    static constexpr std::uint32_t kLarge = 1u << 31;

    template <std::uint32_t kBytes, std::uint32_t kCount>
    struct Pool {
        union Block {
            std::uint32_t next_free;
            unsigned char bytes[kBytes];
        };
        std::uint32_t take() noexcept {
            if (const std::uint32_t index = first_free; index != 0) {
                first_free = blocks.at(index).next_free;
                return index;
            }
            return blocks.fresh() != nullptr ? blocks.used() : 0;
        }
        void give_back(std::uint32_t index) noexcept {
            blocks.at(index).next_free = first_free;
            first_free = index;
        }
        ChunkArray<Block, 32, kCount> blocks;
        std::uint32_t first_free = 0;
    };
    Pool<kSmallBytes, kSmallBlocks> small_;
    Pool<kLargeBytes, kLargeBlocks> large_;
};

}  // namespace pincheck
