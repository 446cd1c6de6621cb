#include "pinned_map.h"

#include "memory.h"

namespace pincheck {

PinnedMap::~PinnedMap() {
    Table* table = table_.load();
    while (table != nullptr) {
        Table* previous = table->previous;
        unmap_memory(table, table->bytes);
        table = previous;
    }
}

void PinnedMap::load(const Entry& entry, PinnedRange& range) noexcept {
    const std::uint64_t what = entry.what.load(std::memory_order_relaxed);
    range.address = entry.address.load(std::memory_order_relaxed);
    range.bytes = entry.bytes.load(std::memory_order_relaxed);
    range.kind = static_cast<report::RangeKind>(what >> 48);
    range.memory_flags = static_cast<std::uint16_t>(what >> 32);
    range.site = static_cast<std::uint32_t>(what);
    range.slot = entry.slot.load(std::memory_order_relaxed);
}

void PinnedMap::save(Entry& entry, const PinnedRange& range) noexcept {
    const std::uint64_t what = (static_cast<std::uint64_t>(range.kind) << 48) |
                               (static_cast<std::uint64_t>(range.memory_flags) << 32) | range.site;
    entry.bytes.store(range.bytes, std::memory_order_relaxed);
    entry.what.store(what, std::memory_order_relaxed);
    entry.slot.store(range.slot, std::memory_order_relaxed);
    entry.address.store(range.address, std::memory_order_relaxed);
}

std::size_t PinnedMap::home(const Table& table, std::uintptr_t address) noexcept {
    return (address * 0x9e3779b97f4a7c15ull >> 20) & (table.capacity - 1);
}

PinnedMap::Table* PinnedMap::make_table(std::size_t capacity) noexcept {
    const std::size_t bytes = sizeof(Table) + capacity * sizeof(Entry);
    auto* table = static_cast<Table*>(map_memory(bytes));
    if (table != nullptr) {
        table->bytes = bytes;
        table->capacity = capacity;
    }
    return table;
}

bool PinnedMap::grow() noexcept {
    Table* old = table_.load(std::memory_order_relaxed);
    Table* fresh = make_table(old == nullptr ? 256 : old->capacity * 2);
    if (fresh == nullptr) {
        return false;
    }
    fresh->previous = old;
    for (std::size_t i = 0; old != nullptr && i < old->capacity; ++i) {
        PinnedRange range;
        load(old->entries()[i], range);
        if (range.address == 0) {
            continue;
        }
        std::size_t slot = home(*fresh, range.address);
        while (fresh->entries()[slot].address.load(std::memory_order_relaxed) != 0) {
            slot = (slot + 1) & (fresh->capacity - 1);
        }
        save(fresh->entries()[slot], range);
    }
    table_.store(fresh, std::memory_order_release);
    return true;
}

bool PinnedMap::insert(const PinnedRange& range) noexcept {
    if (range.address == 0) {
        return false;
    }
    const std::lock_guard lock(mutex_);
    Table* table = table_.load(std::memory_order_relaxed);
    if (table == nullptr || (size() + 1) * 4 > table->capacity * 3) {
        if (!grow()) {
            return false;
        }
        table = table_.load(std::memory_order_relaxed);
    }
    std::size_t slot = home(*table, range.address);
    for (;; slot = (slot + 1) & (table->capacity - 1)) {
        const std::uintptr_t there = table->entries()[slot].address.load(std::memory_order_relaxed);
        if (there == range.address) {
            break;
        }
        if (there == 0) {
            count_.fetch_add(1, std::memory_order_relaxed);
            break;
        }
    }
    sequence_.fetch_add(1, std::memory_order_acq_rel);
    std::atomic_thread_fence(std::memory_order_release);
    save(table->entries()[slot], range);
    sequence_.fetch_add(1, std::memory_order_release);
    return true;
}

bool PinnedMap::remove(std::uintptr_t address, PinnedRange& range) noexcept {
    const std::lock_guard lock(mutex_);
    Table* table = table_.load(std::memory_order_relaxed);
    if (table == nullptr || address == 0) {
        return false;
    }
    const std::size_t mask = table->capacity - 1;
    std::size_t hole = home(*table, address);
    for (;; hole = (hole + 1) & mask) {
        const std::uintptr_t there = table->entries()[hole].address.load(std::memory_order_relaxed);
        if (there == 0) {
            return false;
        }
        if (there == address) {
            break;
        }
    }
    load(table->entries()[hole], range);
    sequence_.fetch_add(1, std::memory_order_acq_rel);
    std::atomic_thread_fence(std::memory_order_release);
    // Move later entries of the same run back, so that no probe stops short.
    for (std::size_t next = (hole + 1) & mask;; next = (next + 1) & mask) {
        PinnedRange moved;
        load(table->entries()[next], moved);
        if (moved.address == 0) {
            break;
        }
        const std::size_t wanted = home(*table, moved.address);
        if (((next - wanted) & mask) >= ((next - hole) & mask)) {
            save(table->entries()[hole], moved);
            hole = next;
        }
    }
    save(table->entries()[hole], PinnedRange{});
    sequence_.fetch_add(1, std::memory_order_release);
    count_.fetch_sub(1, std::memory_order_relaxed);
    return true;
}

// Runs `look` over the table until no writer interfered.
template <class F>
bool PinnedMap::read(F&& look) const noexcept {
    constexpr int kTries = 16;
    for (int i = 0; i < kTries; ++i) {
        const std::uint32_t before = sequence_.load(std::memory_order_acquire);
        if ((before & 1) != 0) {
            continue;
        }
        Table* table = table_.load(std::memory_order_acquire);
        const bool found = table != nullptr && look(*table);
        std::atomic_thread_fence(std::memory_order_acquire);
        if (sequence_.load(std::memory_order_relaxed) == before) {
            return found;
        }
    }
    const std::lock_guard lock(mutex_);
    Table* table = table_.load(std::memory_order_acquire);
    return table != nullptr && look(*table);
}

bool PinnedMap::find(std::uintptr_t address, PinnedRange& range) const noexcept {
    return address != 0 && read([&](Table& table) {
               // A writer may leave no empty entry in sight for a moment: the count bounds the probe.
               std::size_t slot = home(table, address);
               for (std::size_t i = 0; i < table.capacity; ++i, slot = (slot + 1) & (table.capacity - 1)) {
                   const Entry& entry = table.entries()[slot];
                   const std::uintptr_t there = entry.address.load(std::memory_order_relaxed);
                   if (there == address) {
                       load(entry, range);
                       return true;
                   }
                   if (there == 0) {
                       return false;
                   }
               }
               return false;
           });
}

bool PinnedMap::find_containing(std::uintptr_t address, PinnedRange& range) const noexcept {
    return read([&](Table& table) {
        for (std::size_t i = 0; i < table.capacity; ++i) {
            load(table.entries()[i], range);
            if (range.address != 0 && address >= range.address && address - range.address < range.bytes) {
                return true;
            }
        }
        return false;
    });
}

}  // namespace pincheck
