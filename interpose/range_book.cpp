#include "range_book.h"

#include <algorithm>
#include <bit>

#include "memory.h"

namespace pincheck {
namespace {

constexpr std::uintptr_t end_of(std::uintptr_t address, std::uint64_t bytes) noexcept {
    return bytes > UINTPTR_MAX - address ? UINTPTR_MAX : address + bytes;
}

bool overlap(const RangeUse& use, std::uintptr_t begin, std::uintptr_t end) noexcept {
    return use.address < end && begin < end_of(use.address, use.bytes);
}

}  // namespace

RangeBook::~RangeBook() {
    unmap_memory(buckets_, kBuckets * sizeof(std::uint32_t));
}

unsigned RangeBook::level_of(std::uint64_t bytes) noexcept {
    const unsigned bits = bytes <= 1 ? 0 : 64u - static_cast<unsigned>(std::countl_zero(bytes - 1));
    return std::min(std::max(bits, kLowestLevel) - kLowestLevel, kLevels - 1);
}

std::uint32_t& RangeBook::bucket(unsigned level, std::uintptr_t cell) noexcept {
    const std::uint64_t key = (cell << 6 | level) * 0x9e3779b97f4a7c15ull;
    return buckets_[key >> 51];
}
static_assert(std::uint64_t{1} << (64 - 51) == 8192);

RangeUse RangeBook::use_of(const Entry& entry) noexcept {
    RangeUse use = entry.use;
    const std::uint64_t sequence = entry.word.load(std::memory_order_acquire) & kSequenceMask;
    use.call_ns = sequence == (use.ticket.sequence & kSequenceMask) ? use.call_ns : 0;
    use.ticket.sequence = sequence;
    return use;
}

bool RangeBook::is_over(const Entry& entry) const noexcept {
    return streams_.is_known_complete(use_of(entry).ticket);
}

// Calls look(entry) for each entry in the chain that overlaps; takes out those that are over.
template <class F>
void RangeBook::each_in_bucket(std::uint32_t& head, std::uintptr_t address, std::uint64_t bytes, F&& look) noexcept {
    const std::uintptr_t end = end_of(address, bytes);
    for (std::uint32_t index = head; index != 0;) {
        Entry& entry = entries_.at(index);
        index = entry.next_in_bucket;
        if (overlap(entry.use, address, end)) {
            if (is_over(entry)) {
                remove(entry);
            } else {
                look(entry);
            }
        }
    }
}

template <class F>
void RangeBook::each_overlapping(std::uintptr_t address, std::uint64_t bytes, F&& look) noexcept {
    if (bytes == 0 || buckets_ == nullptr) {
        return;
    }
    const std::uintptr_t last = end_of(address, bytes) - 1;
    for (std::uint64_t levels = levels_; levels != 0; levels &= levels - 1) {
        const auto level = static_cast<unsigned>(std::countr_zero(levels));
        const unsigned shift = level + kLowestLevel;
        // What begins in the cell before may reach into this one.
        const std::uintptr_t first_cell = (address >> shift) - ((address >> shift) != 0 ? 1 : 0);
        const std::uintptr_t cells = (last >> shift) - first_cell + 1;
        if (cells > count_in_level_[level]) {
            const std::uintptr_t end = end_of(address, bytes);
            for (std::uint32_t index = first_in_level_[level]; index != 0;) {
                Entry& entry = entries_.at(index);
                index = entry.next_in_level;
                if (!overlap(entry.use, address, end)) {
                    continue;
                }
                if (is_over(entry)) {
                    remove(entry);
                } else {
                    look(entry);
                }
            }
            continue;
        }
        for (std::uintptr_t cell = first_cell; cell - first_cell < cells; ++cell) {
            std::uint32_t& head = bucket(level, cell);
            // Two cells may share a chain, which is then gone through twice: an entry is looked at in its own cell.
            each_in_bucket(head, address, bytes, [&](Entry& entry) {
                if (entry.level == level && entry.use.address >> shift == cell) {
                    look(entry);
                }
            });
        }
    }
}

RangeBook::Entry* RangeBook::fresh() noexcept {
    if (buckets_ == nullptr) {
        buckets_ = map_array<std::uint32_t>(kBuckets);
        if (buckets_ == nullptr) {
            return nullptr;
        }
    }
    if (free_ == 0 && entries_.used() >= swept_at_) {
        sweep();
        // Then as many new ones are made as there are, before all are looked at again.
        swept_at_ = std::max<std::uint32_t>(free_ == 0 ? 2 * entries_.used() : entries_.used(), 1024);
    }
    if (free_ != 0) {
        Entry& entry = entries_.at(free_);
        free_ = entry.next_in_bucket;
        return &entry;
    }
    Entry* entry = entries_.fresh();
    if (entry == nullptr) {
        sweep();
        if (free_ == 0) {
            return nullptr;
        }
        entry = &entries_.at(free_);
        free_ = entry->next_in_bucket;
    } else {
        entry->index = entries_.used();
    }
    return entry;
}

void RangeBook::sweep() noexcept {
    for (std::uint32_t index = 1; index <= entries_.used(); ++index) {
        Entry& entry = entries_.at(index);
        if (entry.used && is_over(entry)) {
            remove(entry);
        }
    }
}

void RangeBook::insert(Entry& entry) noexcept {
    entry.level = static_cast<std::uint8_t>(level_of(entry.use.bytes));
    std::uint32_t& head = bucket(entry.level, entry.use.address >> (entry.level + kLowestLevel));
    entry.next_in_bucket = head;
    head = entry.index;
    std::uint32_t& first = first_in_level_[entry.level];
    entry.next_in_level = first;
    entry.previous_in_level = 0;
    if (first != 0) {
        entries_.at(first).previous_in_level = entry.index;
    }
    first = entry.index;
    ++count_in_level_[entry.level];
    levels_ |= std::uint64_t{1} << entry.level;
    entry.used = true;
}

void RangeBook::remove(Entry& entry) noexcept {
    std::uint32_t* link = &bucket(entry.level, entry.use.address >> (entry.level + kLowestLevel));
    while (*link != entry.index) {
        link = &entries_.at(*link).next_in_bucket;
    }
    *link = entry.next_in_bucket;
    if (entry.previous_in_level != 0) {
        entries_.at(entry.previous_in_level).next_in_level = entry.next_in_level;
    } else {
        first_in_level_[entry.level] = entry.next_in_level;
    }
    if (entry.next_in_level != 0) {
        entries_.at(entry.next_in_level).previous_in_level = entry.previous_in_level;
    }
    if (--count_in_level_[entry.level] == 0) {
        levels_ &= ~(std::uint64_t{1} << entry.level);
    }
    entry.used = false;
    entry.alone.store(false, std::memory_order_release);
    // Another life: renew() with what was known of this one fails.
    const std::uint64_t word = entry.word.load(std::memory_order_relaxed);
    entry.word.store(word_of((word >> kSequenceBits) + 1, 0), std::memory_order_release);
    entry.next_in_bucket = free_;
    free_ = entry.index;
}

void RangeBook::note(Found& found, const Entry& entry, bool is_same) noexcept {
    if (found.count < kMaxFound) {
        found.uses[found.count++] = use_of(entry);
        return;
    }
    found.all = false;
    if (is_same) {
        found.uses[kMaxFound - 1] = use_of(entry);
    }
}

void RangeBook::add(const RangeUse& use, Found& found, KnownUse& known) noexcept {
    found.count = 0;
    found.all = true;
    known.entry = nullptr;
    if (use.bytes == 0 || !use.ticket) {
        return;
    }
    const std::lock_guard lock(mutex_);
    Entry* same = nullptr;
    bool alone = true;
    each_overlapping(use.address, use.bytes, [&](Entry& entry) {
        const bool is_same = entry.use.is_like(use);
        note(found, entry, is_same);
        if (is_same) {
            same = &entry;
        } else if (entry.use.writes() || use.writes()) {  // many may read one range, each from its own thread
            alone = false;
            entry.alone.store(false, std::memory_order_release);
        }
    });
    Entry* entry = same;
    if (entry == nullptr) {
        entry = fresh();
        if (entry == nullptr) {
            lost_.fetch_add(1, std::memory_order_relaxed);
            return;
        }
    }
    const std::uint64_t life = entry->word.load(std::memory_order_relaxed) >> kSequenceBits;
    const std::uint64_t word = word_of(life, use.ticket.sequence);
    entry->use = use;
    entry->word.store(word, std::memory_order_release);
    entry->alone.store(alone, std::memory_order_release);
    if (same == nullptr) {
        insert(*entry);
    }
    known = {entry, word};
}

void RangeBook::find(std::uintptr_t address, std::uint64_t bytes, Found& found) noexcept {
    found.count = 0;
    found.all = true;
    const std::lock_guard lock(mutex_);
    each_overlapping(address, bytes, [&](Entry& entry) { note(found, entry, false); });
}

void RangeBook::set_consumed(const RangeUse& use) noexcept {
    const std::lock_guard lock(mutex_);
    each_overlapping(use.address, use.bytes, [&](Entry& entry) {
        if (entry.use.is_like(use) && use_of(entry).ticket.sequence == use.ticket.sequence) {
            entry.use.consumed = true;
            entry.alone.store(false, std::memory_order_release);
        }
    });
}

void RangeBook::forget(std::uintptr_t address, std::uint64_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    each_overlapping(address, bytes, [&](Entry& entry) { remove(entry); });
}

bool RangeBook::next_in(std::uintptr_t address, std::uint64_t bytes, std::uint32_t& next, RangeUse& use) noexcept {
    while (this->next(next, use)) {
        if (overlap(use, address, end_of(address, bytes))) {
            return true;
        }
    }
    return false;
}

bool RangeBook::next(std::uint32_t& next, RangeUse& use) noexcept {
    const std::lock_guard lock(mutex_);
    while (next < entries_.used()) {
        const Entry& entry = entries_.at(++next);
        if (entry.used && !is_over(entry)) {
            use = use_of(entry);
            return true;
        }
    }
    next = 0;
    return false;
}

}  // namespace pincheck
