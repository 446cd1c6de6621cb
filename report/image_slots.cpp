// Handing out slots, and taking ranges back.
#include <atomic>

#include "image.h"
#include "image_impl.h"

namespace pincheck::report {
namespace {

std::uint8_t* segment_of(void* slot) noexcept {
    return reinterpret_cast<std::uint8_t*>(reinterpret_cast<std::uintptr_t>(slot) & ~std::uintptr_t{kSegmentBytes - 1});
}

}  // namespace

CounterSlot* Image::new_counter(CounterSlot* last) noexcept {
    // The page is the thread's own: no lock. Slots are taken in order, so the next one is free unless the caller came
    // with an older slot than its last.
    if (last != nullptr) {
        for (CounterSlot* next = last + 1; reinterpret_cast<std::uintptr_t>(next) % kPageBytes != 0; ++next) {
            if (next->state == SlotState::free) {
                store(next->state, SlotState::live);
                return next;
            }
        }
    }
    const KeepErrno keep;
    {
        const Locked lock(impl_->mutex);
        const Chain& chain = impl_->counters;
        // The first page of a segment has its header in it.
        const bool first_page = chain.last == kNoSegment || impl_->segments()[chain.last].committed == kSegmentCapacity;
        const std::uint32_t bytes = first_page ? kPageBytes - kSegmentHeaderBytes : kPageBytes;
        if (std::uint8_t* page = impl_->hand_out(SegmentKind::counters, impl_->counters, bytes); page != nullptr) {
            auto* slot = reinterpret_cast<CounterSlot*>(page);
            store(slot->state, SlotState::live);
            return slot;
        }
    }
    lose(Loss::image_full, 1, 0, monotonic_ns());
    return nullptr;
}

// Takes the mutex. Null when there is no room, which the caller counts.
template <class Slot>
Slot* Image::Impl::new_slot(SegmentKind kind, Chain& chain) noexcept {
    const KeepErrno keep;
    const Locked lock(mutex);
    auto* slot = reinterpret_cast<Slot*>(hand_out(kind, chain, sizeof(Slot)));
    if (slot != nullptr) {
        store(slot->state, SlotState::live);
    }
    return slot;
}

ThreadSlot* Image::new_thread() noexcept {
    auto* slot = impl_->new_slot<ThreadSlot>(SegmentKind::threads, impl_->threads);
    if (slot == nullptr) {
        lose(Loss::image_full, 1, 0, monotonic_ns());
    }
    return slot;
}

WaitSlot* Image::new_wait() noexcept {
    auto* slot = impl_->new_slot<WaitSlot>(SegmentKind::waits, impl_->waits);
    if (slot == nullptr) {
        lose(Loss::waits, 1, 0, monotonic_ns());
        lose(Loss::image_full, 1, 0, monotonic_ns());
    }
    return slot;
}

RaceSlot* Image::new_race() noexcept {
    auto* slot = impl_->new_slot<RaceSlot>(SegmentKind::races, impl_->races);
    if (slot == nullptr) {
        lose(Loss::races, 1, 0, monotonic_ns());
        lose(Loss::image_full, 1, 0, monotonic_ns());
    }
    return slot;
}

ReadSlot* Image::new_read() noexcept {
    auto* slot = impl_->new_slot<ReadSlot>(SegmentKind::reads, impl_->reads);
    if (slot == nullptr) {
        lose(Loss::reads, 1, 0, monotonic_ns());
        lose(Loss::image_full, 1, 0, monotonic_ns());
    }
    return slot;
}

TransferSlot* Image::new_transfer() noexcept {
    auto* slot = impl_->new_slot<TransferSlot>(SegmentKind::transfers, impl_->transfers);
    if (slot == nullptr) {
        lose(Loss::transfers, 1, 0, monotonic_ns());
        lose(Loss::image_full, 1, 0, monotonic_ns());
    }
    return slot;
}

RangeSlot* Image::new_range() noexcept {
    const KeepErrno keep;
    {
        const Locked lock(impl_->mutex);
        std::uint8_t* memory = nullptr;
        for (std::uint32_t i = impl_->ranges.first; impl_->free_ranges > 0 && i != kNoSegment;) {
            Segment& segment = impl_->segments()[i];
            if (segment.free_count > 0) {
                --impl_->free_ranges;
                memory =
                    segment.memory + kSegmentHeaderBytes + segment.free_slots[--segment.free_count] * sizeof(RangeSlot);
                break;
            }
            i = segment.next;
        }
        if (memory == nullptr) {
            memory = impl_->hand_out(SegmentKind::ranges, impl_->ranges, sizeof(RangeSlot));
        }
        if (memory != nullptr) {
            auto* slot = reinterpret_cast<RangeSlot*>(memory);
            store(slot->state, SlotState::live);
            return slot;
        }
    }
    lose(Loss::ranges, 1, 0, monotonic_ns());
    lose(Loss::image_full, 1, 0, monotonic_ns());
    return nullptr;
}

void Image::free_range(RangeSlot* slot) noexcept {
    if (slot == nullptr) {
        return;
    }
    const Locked lock(impl_->mutex);
    if (slot->state == SlotState::free) {
        return;  // freed already: two entries in the list would give one slot to two ranges
    }
    // Free first, then the zeros with release: a snapshot that reads one of them finds the slot free when it looks at
    // the state again, and does not take the half-cleared slot for a range.
    store(slot->state, SlotState::free);
    auto* words = reinterpret_cast<std::uint64_t*>(slot);
    for (std::size_t i = 0; i < sizeof(RangeSlot) / sizeof *words; ++i) {
        std::atomic_ref<std::uint64_t>(words[i]).store(0, std::memory_order_release);
    }
    std::uint8_t* memory = segment_of(slot);
    Segment& segment = impl_->segments()[reinterpret_cast<const SegmentHeader*>(memory)->index];
    const auto offset = static_cast<std::size_t>(reinterpret_cast<std::uint8_t*>(slot) - memory) - kSegmentHeaderBytes;
    segment.free_slots[segment.free_count++] = static_cast<std::uint16_t>(offset / sizeof(RangeSlot));
    ++impl_->free_ranges;
}

}  // namespace pincheck::report
