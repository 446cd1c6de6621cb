#include "event_book.h"

namespace pincheck {
namespace {

std::size_t hash_of(std::uintptr_t event) noexcept {
    return static_cast<std::size_t>((event * 0x9e3779b97f4a7c15ull) >> 40);
}

}  // namespace

EventBook::~EventBook() {
    unmap_memory(buckets_.load(std::memory_order_relaxed), kBuckets * sizeof(EventEntry*));
}

Mutex& EventBook::lock_of(std::uintptr_t event) noexcept {
    return locks_[hash_of(event) % kBuckets % kLocks];
}

// Null when memory is refused.
EventEntry** EventBook::bucket(std::uintptr_t event) noexcept {
    EventEntry** buckets = buckets_.load(std::memory_order_acquire);
    if (buckets == nullptr) {
        const std::lock_guard lock(pool_mutex_);
        buckets = buckets_.load(std::memory_order_relaxed);
        if (buckets == nullptr) {
            buckets = map_array<EventEntry*>(kBuckets);
            if (buckets == nullptr) {
                return nullptr;
            }
            buckets_.store(buckets, std::memory_order_release);
        }
    }
    return &buckets[hash_of(event) % kBuckets];
}

EventEntry* EventBook::find(std::uintptr_t event) noexcept {
    EventEntry** first = bucket(event);
    EventEntry* entry = first != nullptr ? *first : nullptr;
    while (entry != nullptr && entry->handle != event) {
        entry = entry->next;
    }
    return entry;
}

EventEntry* EventBook::find_or_add(std::uintptr_t event) noexcept {
    EventEntry* entry = find(event);
    EventEntry** first = bucket(event);
    if (entry != nullptr || first == nullptr) {
        return entry;
    }
    {
        const std::lock_guard lock(pool_mutex_);
        if (free_ != nullptr) {
            entry = free_;
            free_ = entry->next;
        } else {
            entry = entries_.fresh();
        }
    }
    if (entry == nullptr) {
        lost_.fetch_add(1, std::memory_order_relaxed);
        return nullptr;
    }
    const std::uint32_t number = entry->number + 1;
    *entry = EventEntry{};
    entry->number = number;
    entry->handle = event;
    entry->next = *first;
    *first = entry;
    return entry;
}

EventUse EventBook::use_of(EventEntry* entry) noexcept {
    EventUse use;
    if (entry != nullptr) {
        use.entry = entry;
        use.handle = entry->handle;
        use.number = entry->number;
        use.version = entry->version;
        use.recorded = entry->recorded && entry->recording == 0;
        use.foreign = entry->foreign;
        use.maybe_gated = entry->maybe_gated;
        use.point = entry->point;
    }
    return use;
}

// The entry, in the same life.
EventEntry* EventBook::same(const EventUse& use) noexcept {
    return use.entry != nullptr && use.entry->handle == use.handle && use.entry->number == use.number ? use.entry
                                                                                                      : nullptr;
}

void EventBook::forget(std::uintptr_t event) noexcept {
    const std::lock_guard lock(lock_of(event));
    EventEntry** link = bucket(event);
    while (link != nullptr && *link != nullptr && (*link)->handle != event) {
        link = &(*link)->next;
    }
    if (link == nullptr || *link == nullptr) {
        return;
    }
    EventEntry* entry = *link;
    *link = entry->next;
    entry->handle = 0;
    const std::lock_guard pool(pool_mutex_);
    entry->next = free_;
    free_ = entry;
}

void EventBook::set_foreign(std::uintptr_t event) noexcept {
    const std::lock_guard lock(lock_of(event));
    if (EventEntry* entry = find_or_add(event)) {
        entry->foreign = true;
    }
}

void EventBook::clear(std::uintptr_t event) noexcept {
    const std::lock_guard lock(lock_of(event));
    if (EventEntry* entry = find(event)) {
        ++entry->version;
        entry->recorded = false;
    }
}

EventUse EventBook::begin_record(std::uintptr_t event) noexcept {
    const std::lock_guard lock(lock_of(event));
    EventEntry* entry = find_or_add(event);
    EventUse use = use_of(entry);
    if (entry != nullptr) {
        use.alone = entry->recording == 0;
        ++entry->recording;
        use.version = ++entry->version;
    }
    return use;
}

void EventBook::end_record(const EventUse& use, bool recorded, const StreamPoint& point, bool maybe_gated) noexcept {
    if (use.entry == nullptr) {
        return;
    }
    const std::lock_guard lock(lock_of(use.handle));
    EventEntry* entry = same(use);
    if (entry == nullptr) {
        return;
    }
    --entry->recording;
    if (!recorded) {
        return;
    }
    // Of records that overlap nobody knows which is the last one.
    entry->recorded = use.alone && entry->version == use.version;
    entry->point = point;
    entry->maybe_gated = maybe_gated;
}

EventUse EventBook::look(std::uintptr_t event) noexcept {
    if (buckets_.load(std::memory_order_acquire) == nullptr) {
        return {};
    }
    const std::lock_guard lock(lock_of(event));
    return use_of(find(event));
}

bool EventBook::is_still(const EventUse& use) noexcept {
    if (use.entry == nullptr) {
        return false;
    }
    const std::lock_guard lock(lock_of(use.handle));
    const EventEntry* entry = same(use);
    return entry != nullptr && entry->version == use.version && entry->recording == 0;
}

}  // namespace pincheck
