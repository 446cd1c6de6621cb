// What is known about code addresses, read without a lock: one word an entry, the address above the bits of its value,
// so that no reader sees half an entry. User addresses have 47 bits; what does not fit is not kept. Entries that find
// no room replace others: this is a cache.
#pragma once

#include <atomic>
#include <cstdint>

namespace pincheck {

template <unsigned kValueBits, unsigned kEntries>
class AddressCache {
    static_assert(kValueBits <= 17 && (kEntries & (kEntries - 1)) == 0);

  public:
    // The value of the address in the lowest bits of a word, other bits above it. Inlined: looks into one entry only.
    bool find_first(std::uintptr_t address, std::uint64_t& word) const noexcept {
        word = entries_[slot(address)].load(std::memory_order_relaxed);
        return word >> kValueBits == address;
    }
    // The same, and where it may be otherwise.
    bool find(std::uintptr_t address, std::uint64_t& word) const noexcept {
        const unsigned first = slot(address);
        for (unsigned way = 0; way < kWays; ++way) {
            word = entries_[(first + way) % kEntries].load(std::memory_order_relaxed);
            if (word >> kValueBits == address) {
                return true;
            }
            if (word == 0) {
                break;
            }
        }
        return false;
    }
    void insert(std::uintptr_t address, std::uint64_t value) noexcept {
        if (address >> (64 - kValueBits) != 0) {
            return;
        }
        const std::uint64_t word = static_cast<std::uint64_t>(address) << kValueBits | value;
        const unsigned first = slot(address);
        for (unsigned way = 0; way < kWays; ++way) {
            std::uint64_t expected = 0;
            auto& entry = entries_[(first + way) % kEntries];
            if (entry.compare_exchange_strong(expected, word) || expected >> kValueBits == address) {
                return;
            }
        }
        entries_[first].store(word, std::memory_order_relaxed);
    }
    void clear() noexcept {
        for (auto& entry : entries_) {
            entry.store(0, std::memory_order_relaxed);
        }
    }

  private:
    static constexpr unsigned kWays = 8;
    static constexpr unsigned kShift = 64 - static_cast<unsigned>(__builtin_ctz(kEntries));
    static unsigned slot(std::uintptr_t address) noexcept {
        return static_cast<unsigned>((address * 0x9e3779b97f4a7c15ull) >> kShift);
    }

    std::atomic<std::uint64_t> entries_[kEntries];
};

}  // namespace pincheck
