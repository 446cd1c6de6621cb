// What the program wants done with SIGSEGV. Read and changed from any thread and from signal handlers, in a fork child
// too whose parent was changing it: no lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "raw_calls.h"

namespace pincheck::trap {

class Disposition {
  public:
    // A value and which one it was: no two have the same stamp.
    struct Seen {
        KernelAction action;
        std::uint64_t stamp = 0;
    };

    Seen read() const noexcept {
        for (;;) {
            Seen seen;
            seen.stamp = current_.load(std::memory_order_acquire);
            seen.action = copy(slots_[seen.stamp % kSlots]);
            std::atomic_thread_fence(std::memory_order_acquire);
            if (current_.load(std::memory_order_relaxed) == seen.stamp) {
                return seen;
            }
        }
    }

    std::uint64_t stamp() const noexcept { return current_.load(std::memory_order_acquire); }

    KernelAction exchange(const KernelAction& action) noexcept {
        for (;;) {
            const Seen seen = read();
            if (replace(seen, action)) {
                return seen.action;
            }
        }
    }

    // False: it is another one by now.
    bool replace(const Seen& seen, const KernelAction& action) noexcept {
        const std::size_t slot = take_slot();
        fill(slots_[slot], action);
        std::uint64_t expected = seen.stamp;
        const std::uint64_t next = (expected / kSlots + 1) * kSlots + slot;
        const bool done = current_.compare_exchange_strong(expected, next, std::memory_order_acq_rel);
        slots_[done ? seen.stamp % kSlots : slot].taken.store(false, std::memory_order_release);
        return done;
    }

  private:
    // More than threads that change it at the same time.
    static constexpr std::size_t kSlots = 256;

    struct Slot {
        std::atomic<bool> taken{false};
        std::atomic<std::uint64_t> handler{0};
        std::atomic<std::uint64_t> flags{0};
        std::atomic<std::uint64_t> restorer{0};
        std::atomic<std::uint64_t> mask{0};
    };

    static KernelAction copy(const Slot& slot) noexcept {
        return {slot.handler.load(std::memory_order_relaxed), slot.flags.load(std::memory_order_relaxed),
                slot.restorer.load(std::memory_order_relaxed), slot.mask.load(std::memory_order_relaxed)};
    }
    // A reader that sees one of these words sees, at its second look, that the slot is no longer the current one.
    static void fill(Slot& slot, const KernelAction& action) noexcept {
        std::atomic_thread_fence(std::memory_order_release);
        slot.handler.store(action.handler, std::memory_order_relaxed);
        slot.flags.store(action.flags, std::memory_order_relaxed);
        slot.restorer.store(action.restorer, std::memory_order_relaxed);
        slot.mask.store(action.mask, std::memory_order_relaxed);
    }
    std::size_t take_slot() noexcept {
        for (std::size_t slot = 0;; slot = (slot + 1) % kSlots) {
            bool free = false;
            if (slot != current_.load(std::memory_order_relaxed) % kSlots &&
                slots_[slot].taken.compare_exchange_strong(free, true, std::memory_order_acquire)) {
                return slot;
            }
        }
    }

    std::atomic<std::uint64_t> current_{0};
    Slot slots_[kSlots];
};

}  // namespace pincheck::trap
