// Which point of which stream each event stands for: the last record of it.
//
// Events that were never recorded, or were destroyed, are not here. Thread rules: every member from any thread. Where
// two threads use one event at the same time, which record a wait is for cannot be told: the event then stands for
// nothing until it is recorded again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>  // lock_guard

#include "report/mutex.h"
#include "stream_entry.h"

namespace pincheck {

struct EventEntry {
    std::uintptr_t handle = 0;
    EventEntry* next = nullptr;
    std::uint32_t number = 0;   // which life of the entry
    std::uint32_t version = 0;  // records begun
    std::uint32_t recording = 0;
    bool recorded = false;
    bool foreign = false;
    bool maybe_gated = false;
    StreamPoint point{};
};

// An event as it was when a call that uses it began.
struct EventUse {
    EventEntry* entry = nullptr;  // null: never recorded, or the table is full
    std::uintptr_t handle = 0;
    std::uint32_t number = 0;
    std::uint32_t version = 0;
    bool recorded = false;  // and no other thread was recording it
    bool alone = false;     // a record: no other one was under way
    bool foreign = false;   // see Streams::event_is_foreign()
    bool maybe_gated = false;
    StreamPoint point{};
};

class EventBook {
  public:
    static constexpr std::uint32_t kMaxEvents = 65536;

    EventBook() = default;
    EventBook(const EventBook&) = delete;
    EventBook& operator=(const EventBook&) = delete;
    ~EventBook();

    void forget(std::uintptr_t event) noexcept;
    void set_foreign(std::uintptr_t event) noexcept;
    void clear(std::uintptr_t event) noexcept;  // it stands for nothing until its next record
    EventUse begin_record(std::uintptr_t event) noexcept;
    void end_record(const EventUse& use, bool recorded, const StreamPoint& point, bool maybe_gated) noexcept;
    EventUse look(std::uintptr_t event) noexcept;
    // Nothing was recorded since, nor is being recorded: what the use says is what the call was about.
    bool is_still(const EventUse& use) noexcept;

    std::uint64_t lost() const noexcept { return lost_.load(std::memory_order_relaxed); }

  private:
    static constexpr std::size_t kBuckets = 16384;
    static constexpr std::size_t kLocks = 64;

    EventEntry** bucket(std::uintptr_t event) noexcept;
    Mutex& lock_of(std::uintptr_t event) noexcept;
    EventEntry* find(std::uintptr_t event) noexcept;  // with the lock held
    EventEntry* find_or_add(std::uintptr_t event) noexcept;
    EventEntry* same(const EventUse& use) noexcept;
    static EventUse use_of(EventEntry* entry) noexcept;

    Mutex locks_[kLocks];
    std::atomic<EventEntry**> buckets_{nullptr};
    Mutex pool_mutex_;
    ChunkArray<EventEntry, 512, kMaxEvents> entries_;
    EventEntry* free_ = nullptr;
    std::atomic<std::uint64_t> lost_{0};
};

}  // namespace pincheck
