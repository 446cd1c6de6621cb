#include "transfers.h"

#include <algorithm>
#include <span>

#include "clock.h"
#include "memory.h"
#include "report/image.h"
#include "waits.h"

namespace pincheck {

using report::store;
using report::TransferSlot;

namespace {

// The device's clock is known to some microseconds.
constexpr std::uint64_t kClockNs = 20'000;

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
            [](void*, std::uint32_t, std::uint64_t, std::uint64_t) {},
            [](void* self, const char* name, std::uint64_t start_ns, std::uint64_t end_ns) {
                static_cast<Transfers*>(self)->add_kernel(name, start_ns, end_ns);
            }};
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
    if (const std::uint32_t name = text_of(work.kernel)) {
        name_kernel(state_, work.thread, work.site, call_ns, name);
    }
}

std::uint32_t Transfers::text_of(const char* kernel) noexcept {
    const Hash128 key{reinterpret_cast<std::uintptr_t>(kernel), 1};
    std::uint32_t* known = names_.find(key);
    if (known == nullptr && names_.insert(key, state_.image.add_string(kernel))) {
        known = names_.find(key);
    }
    return known != nullptr ? *known : 0;
}

void Transfers::add_kernel(const char* name, std::uint64_t start_ns, std::uint64_t end_ns) noexcept {
    if (kernels_ == nullptr) {
        kernels_ = map_array<Kernel>(kKernels);
        if (kernels_ == nullptr) {
            return;
        }
    }
    kernels_[next_kernel_] = {text_of(name), start_ns, end_ns};  // the text goes when CUPTI is left
    next_kernel_ = (next_kernel_ + 1) % kKernels;
}

void Transfers::name_kernels() noexcept {
    if (kernels_ == nullptr) {
        return;
    }
    // The call ends right behind its kernel.
    WaitedCall held[LaterLooks<WaitedCall>::kMax];
    const unsigned count = state_.held_calls.take(held);
    for (const WaitedCall& call : std::span(held, count)) {
        state_.held_calls.put_back(call);  // a kernel that fits better may come
        const Kernel* last = nullptr;
        for (unsigned k = 0; k < kKernels; ++k) {
            const Kernel& kernel = kernels_[k];
            if (kernel.name != 0 && kernel.end_ns > call.start_ns && kernel.end_ns <= call.end_ns + kClockNs &&
                (last == nullptr || kernel.end_ns > last->end_ns)) {
                last = &kernel;
            }
        }
        if (last != nullptr) {
            name_kernel(state_, call.thread, call.site, call.call_ns, last->name);
        }
    }
}

// Whether the device had finished the copies whose memory was used.
void Transfers::judge_accesses() noexcept {
    TimedAccess accesses[LaterLooks<TimedAccess>::kMax];
    const unsigned count = state_.races.accesses().take(accesses);
    for (const TimedAccess& access : std::span(accesses, count)) {
        const bool by_host = access.other.call_ns == 0;
        const Copy* copy = copy_of(access.copy);
        const Copy* other = by_host ? nullptr : copy_of(access.other);
        if (copy == nullptr || (!by_host && other == nullptr)) {
            state_.races.accesses().put_back(access);
            continue;
        }
        // Another copy uses the memory from its start to its end; one of those moments is enough.
        const std::uint64_t not_before_ns = by_host ? access.begin_ns : other->start_ns;
        const std::uint64_t not_after_ns = by_host ? access.end_ns : other->start_ns;
        if (not_after_ns + kClockNs < copy->end_ns) {
            add_to(access.slot->corrupting, 1);
        } else if (not_before_ns > copy->end_ns + kClockNs) {
            add_to(access.slot->latent, 1);
        }
    }
}

const Transfers::Copy* Transfers::copy_of(const CopyCall& call) const noexcept {
    for (unsigned i = 0; i < kCopies && copies_ != nullptr; ++i) {
        if (copies_[i].call == call) {
            return &copies_[i];
        }
    }
    return nullptr;
}

void Transfers::add(const DeviceWork& work) noexcept {
    if (copies_ == nullptr) {
        copies_ = map_array<Copy>(kCopies);
    }
    if (copies_ != nullptr) {
        copies_[next_copy_] = {{work.site, work.thread, work.call_start_ns}, work.device_start_ns, work.device_end_ns};
        next_copy_ = (next_copy_ + 1) % kCopies;
    }
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
