// A map from a 128-bit hash to a small value: open addressing, grows, never erases. Not thread-safe; callers lock.
// Two different keys with the same 128 bits are taken for one: at 10^6 keys that has a chance of 10^-27.
#pragma once

#include <cstddef>
#include <cstdint>

#include "memory.h"

namespace pincheck {

struct Hash128 {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    bool operator==(const Hash128&) const = default;
};

// Two independent multiply-and-fold lanes.
class Hasher {
  public:
    void add(std::uint64_t value) noexcept {
        low_ = fold(low_ ^ value, 0x9e3779b97f4a7c15ull);
        high_ = fold(high_ + value, 0xd6e8feb86659fd93ull);
    }
    Hash128 result() const noexcept {
        // A zero low word marks an empty entry.
        return {low_ == 0 ? 1 : low_, high_};
    }

  private:
    static std::uint64_t fold(std::uint64_t value, std::uint64_t factor) noexcept {
        const auto product = static_cast<unsigned __int128>(value ^ 0xa0761d6478bd642full) * factor;
        return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
    }
    std::uint64_t low_ = 0x2545f4914f6cdd1dull;
    std::uint64_t high_ = 0x517cc1b727220a95ull;
};

template <class V>
class HashTable {
  public:
    HashTable() = default;
    HashTable(const HashTable&) = delete;
    HashTable& operator=(const HashTable&) = delete;
    ~HashTable() { unmap_memory(entries_, capacity_ * sizeof(Entry)); }

    // Null when the key is not there.
    V* find(Hash128 key) noexcept {
        if (capacity_ == 0) {
            return nullptr;
        }
        for (std::size_t i = key.low & (capacity_ - 1);; i = (i + 1) & (capacity_ - 1)) {
            Entry& entry = entries_[i];
            if (entry.key == key) {
                return &entry.value;
            }
            if (entry.key.low == 0) {
                return nullptr;
            }
        }
    }

    // False when memory is refused. The key must not be there yet.
    bool insert(Hash128 key, V value) noexcept {
        if ((count_ + 1) * 4 > capacity_ * 3 && !grow()) {
            return false;
        }
        place(key, value);
        ++count_;
        return true;
    }

    std::size_t size() const noexcept { return count_; }

  private:
    struct Entry {
        Hash128 key;
        V value;
    };

    void place(Hash128 key, V value) noexcept {
        std::size_t i = key.low & (capacity_ - 1);
        while (entries_[i].key.low != 0) {
            i = (i + 1) & (capacity_ - 1);
        }
        entries_[i] = {key, value};
    }

    bool grow() noexcept {
        const std::size_t old_capacity = capacity_;
        Entry* old = entries_;
        const std::size_t capacity = old_capacity == 0 ? 128 : old_capacity * 2;
        auto* fresh = map_array<Entry>(capacity);
        if (fresh == nullptr) {
            return (count_ + 1) < capacity_;  // fuller than liked, still correct
        }
        entries_ = fresh;
        capacity_ = capacity;
        for (std::size_t i = 0; i < old_capacity; ++i) {
            if (old[i].key.low != 0) {
                place(old[i].key, old[i].value);
            }
        }
        unmap_memory(old, old_capacity * sizeof(Entry));
        return true;
    }

    Entry* entries_ = nullptr;
    std::size_t capacity_ = 0;
    std::size_t count_ = 0;
};

}  // namespace pincheck
