// The report while it is being made: records and slots in anonymous memory, and snapshots of them to a file.
//
// Written by the preload library inside other people's programs, so: no exception leaves, no heap is used (memory comes
// from mmap in whole segments), every function may fail by saying "dropped" (id 0 or null), and each loss is counted.
//
// Threads: records may be appended and slots handed out by any thread (a short mutex inside, never held over a system
// call other than mmap). A slot's fields are stored by one thread at a time with relaxed atomic stores (see store()).
// snapshot() is called by one thread at a time.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

#include "slots.h"

namespace pincheck::report {

// Single-writer fields: plain loads by the owner, relaxed stores that a snapshot may read at any moment.
template <class T>
inline void store(T& field, T value) noexcept {
    std::atomic_ref<T>(field).store(value, std::memory_order_relaxed);
}
template <class T>
inline T load(const T& field) noexcept {
    return std::atomic_ref<T>(const_cast<T&>(field)).load(std::memory_order_relaxed);
}

struct ImageLimits {
    std::uint32_t segments = 4096;  // 256 MiB
    std::uint32_t sites = 32768;
    std::uint32_t stacks = 32768;
    std::uint32_t strings = 65536;
    std::uint32_t streams = 16384;
};

// What writing to the file came to: `written` when the file now holds everything (also when there was nothing new and
// no write was made), otherwise `error`, an errno value.
struct SnapshotResult {
    bool written = false;
    int error = 0;
};

class Image {
  public:
    // Null when the system refuses memory. The image lives until the process ends (hooks may run at any time).
    static Image* create(const ImageLimits& limits, std::uint32_t pid, std::uint64_t start_ns,
                         std::uint64_t start_realtime_ns) noexcept;
    // Unmaps everything. For tests.
    static void destroy(Image* image) noexcept;

    // Append a record; each returns the new id, or 0 when it was dropped (and counted). Strings longer than 32 KiB are
    // cut.
    std::uint32_t add_string(std::string_view text) noexcept;
    std::uint32_t add_module(std::uint32_t path, std::uint64_t base, std::uint64_t begin, std::uint64_t end,
                             std::span<const std::uint8_t> build_id) noexcept;
    std::uint32_t add_stack(std::span<const Frame> frames, StackOrigin origin, bool cut) noexcept;
    // `site.id` and `site.key_count` are filled in here.
    std::uint32_t add_site(SiteRecord site, std::span<const Frame> key) noexcept;
    void add_process(const ProcessRecord& process) noexcept;
    void add_device(const DeviceRecord& device) noexcept;
    void add_memory(std::uint32_t site, MemoryDetail detail, std::uint32_t text, std::uint64_t value) noexcept;
    // `stream.id` is filled in here.
    std::uint32_t add_stream(StreamRecord stream) noexcept;
    void add_coverage(CoverageKind kind, std::uint32_t text, std::uint64_t time_ns) noexcept;

    // Hand out a zeroed slot with its state set to live, or null. Counter slots are handed out of pages that belong to
    // one thread each (`last` is the thread's previous slot, or null), so that threads share no cache line.
    CounterSlot* new_counter(CounterSlot* last) noexcept;
    ThreadSlot* new_thread() noexcept;
    WaitSlot* new_wait() noexcept;
    RaceSlot* new_race() noexcept;
    ReadSlot* new_read() noexcept;
    TransferSlot* new_transfer() noexcept;
    RangeSlot* new_range() noexcept;
    void free_range(RangeSlot* slot) noexcept;

    void lose(Loss kind, std::uint64_t count, int error, std::uint64_t now_ns) noexcept;

    // Writes what changed since the last successful snapshot to `descriptor` with pwrite. The order (data, then segment
    // header, then file header) makes every prefix of the writes a valid report. On failure nothing is considered
    // written and the next call tries again.
    SnapshotResult snapshot(int descriptor, std::uint64_t now_ns, FileState state) noexcept;

    // How many have written something. By the thread that takes them.
    std::uint64_t snapshots() const noexcept;

    // Memory in use, for tests and the memory budget.
    std::uint64_t bytes_used() const noexcept;

  private:
    Image() = default;
    struct Impl;
    Impl* impl_ = nullptr;
};

}  // namespace pincheck::report
