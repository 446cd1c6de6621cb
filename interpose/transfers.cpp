#include "transfers.h"

#include <algorithm>

#include "clock.h"
#include "memory.h"
#include "report/image.h"
#include "waits.h"

namespace pincheck {

using report::store;
using report::TransferSlot;

namespace {

void add_to(std::uint64_t& field, std::uint64_t value) noexcept {
    store(field, field + value);
}

// Nanoseconds that [start, end) and [other_start, other_end) have in common.
std::uint64_t overlap(std::uint64_t start, std::uint64_t end, std::uint64_t other_start,
                      std::uint64_t other_end) noexcept {
    const std::uint64_t first = std::max(start, other_start);
    const std::uint64_t last = std::min(end, other_end);
    return last > first ? last - first : 0;
}

}  // namespace

DeviceSink Transfers::sink() noexcept {
    return {this, [](void* self, const DeviceWork& work) { static_cast<Transfers*>(self)->add(work); },
            [](void*, std::uint32_t, std::uint64_t, std::uint64_t) {}};
}

TransferSlot* Transfers::slot_of(const DeviceWork& work) noexcept {
    const std::uint16_t size_class = report::size_class(work.bytes);
    const Hash128 key{work.site, size_class};
    if (TransferSlot** known = slots_.find(key)) {
        return *known;
    }
    TransferSlot* slot = state_.image.new_transfer();
    if (slot == nullptr || !slots_.insert(key, slot)) {
        return nullptr;
    }
    store(slot->site, work.site);
    store(slot->size_class, size_class);
    store(slot->device_ns_min, UINT64_MAX);
    return slot;
}

// The copy waited in its call, and a kernel of its stream ended meanwhile, right before it.
void Transfers::name_kernel_of(const DeviceWork& work) noexcept {
    const std::uint64_t call_ns = work.call_end_ns - work.call_start_ns;
    if (!is_held(state_, call_ns) || work.kernel_end_ns <= work.call_start_ns ||
        work.kernel_end_ns > work.call_end_ns) {
        return;
    }
    const Hash128 key{reinterpret_cast<std::uintptr_t>(work.kernel), 1};
    std::uint32_t* known = kernels_.find(key);
    if (known == nullptr && kernels_.insert(key, state_.image.add_string(work.kernel))) {
        known = kernels_.find(key);
    }
    if (known != nullptr && *known != 0) {
        name_kernel(state_, work.thread, work.site, call_ns, *known);
    }
}

void Transfers::add(const DeviceWork& work) noexcept {
    if (work.kernel != nullptr) {
        name_kernel_of(work);
    }
    TransferSlot* slot = slot_of(work);
    if (slot == nullptr) {
        state_.image.lose(report::Loss::transfers, 1, 0, now_ns());
        return;
    }
    const std::uint64_t device = work.device_end_ns - work.device_start_ns;
    add_to(slot->copies, 1);
    add_to(slot->bytes, work.bytes);
    add_to(slot->device_ns, device);
    store(slot->device_ns_min, std::min(slot->device_ns_min, device));
    store(slot->device_ns_max, std::max(slot->device_ns_max, device));
    add_call(work, *slot);
}

void Transfers::add_call(const DeviceWork& work, TransferSlot& slot) noexcept {
    const std::uint64_t completed = std::max(work.device_end_ns, work.call_end_ns);
    if (calls_ == nullptr) {
        calls_ = map_array<Call>(kCalls);
    }
    if (calls_ != nullptr) {
        Call& call = calls_[work.correlation % kCalls];
        if (call.correlation == work.correlation) {
            // A further copy of a call that counts already: the call is done when its last copy is.
            if (call.slot == &slot && completed > call.completed_ns) {
                add_to(slot.completion_ns, completed - call.completed_ns);
                call.completed_ns = completed;
            }
            return;
        }
        call = {work.correlation, completed, &slot};
    }
    add_to(slot.calls, 1);
    add_to(slot.host_ns, work.call_end_ns - work.call_start_ns);
    add_to(slot.completion_ns, completed - work.call_start_ns);
    add_to(slot.before_ns, overlap(work.call_start_ns, work.call_end_ns, work.call_start_ns, work.device_start_ns));
    add_to(slot.during_ns, overlap(work.call_start_ns, work.call_end_ns, work.device_start_ns, work.device_end_ns));
    add_to(slot.returned_early, work.device_end_ns > work.call_end_ns ? 1 : 0);
}

}  // namespace pincheck
