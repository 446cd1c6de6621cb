#include "hook_simple.h"

#include "clock.h"
#include "elf_objects.h"
#include "hook_copy.h"
#include "hook_stream.h"
#include "log.h"
#include "pointer_class.h"
#include "waits.h"

namespace pincheck {

bool SimpleHook::before(report::SiteKind kind, report::StreamKind stream) noexcept {
    const bool is_runtime = info(api()).side == Side::runtime;
    if (!enter()) {
        return false;
    }
    ThreadState& thread = t_thread;
    if (is_runtime) {
        forget_pending(thread);
    }
    if (kind == report::SiteKind::release) {
        look_at_context(state(), caller());
    }
    copy_ = thread.last_copy;
    copy_stream_ = thread.last_copy_stream;
    thread.last_copy = nullptr;
    thread.copy.counters = nullptr;
    thread.copy.known = false;
    SiteFacts facts{api(), kind};
    facts.stream = stream;
    // Every pin has its own stack: the report says where memory was page-locked.
    const bool pins = kind == report::SiteKind::allocate;
    facts.flags = static_cast<std::uint16_t>((pins ? report::kSiteExactStack : 0) |
                                             (thread.driver_owned ? report::kSiteOnDriverThread : 0));
    counters_ = counters_of(state(), thread, facts, 0, caller(), rule());
    thread.simple_site = site();
    report::ThreadSlot& slot = *thread.shard->slot;
    report::store(slot.in_call_api, state().api_name(api()));
    kind_ = kind;
    const bool only_waits = kind == report::SiteKind::synchronize;
    if (only_waits) {
        thread.delaying = nullptr;
    }
    report::store(thread.shard->in_call, only_waits ? nullptr : counters_);
    start_ns_ = now_ns();
    own_ns_ = thread.own_ns;
    report::store(slot.in_call_since_ns, start_ns_);
    return true;
}

void SimpleHook::after(int status, std::uint64_t bytes) noexcept {
    after(status, bytes, now_ns() - (t_thread.own_ns - own_ns_));
}

void SimpleHook::after(int status, std::uint64_t bytes, std::uint64_t end_ns) noexcept {
    report::ThreadSlot& slot = *t_thread.shard->slot;
    if (is_held(state(), end_ns - start_ns_)) [[unlikely]] {
        held(status, end_ns);
    } else if (kind_ == report::SiteKind::synchronize && status == 0 && waited_for_nothing(t_thread)) {
        count_idle_wait(state(), t_thread, site(), start_ns_, end_ns);
    }
    report::store(slot.in_call_since_ns, std::uint64_t{0});
    report::store(slot.calls, slot.calls + 1);
    if (counters_ != nullptr) {
        add_call(*counters_, {status, bytes, start_ns_, end_ns});
    }
    if (awaited_ && copy_ != nullptr && status == 0) {
        report::store(copy_->then_synchronized, copy_->then_synchronized + 1);
    }
    leave();
}

// Why the call held the host.
__attribute__((noinline)) void SimpleHook::held(int status, std::uint64_t end_ns) noexcept {
    if (kind_ != report::SiteKind::synchronize) {
        show_long_call(*t_thread.shard, start_ns_, end_ns, site());
    }
    HeldCall call;
    add_pending(t_thread, call);
    call.kind = kind_;
    call.page_locks = page_locks_;
    call.stages = stages_;
    call.status = status;
    record_wait(state(), t_thread, site(), call, start_ns_, end_ns);
}

namespace {

// Mapped memory of a flag's size, that a kernel may write to and the host poll. NVIDIA's libraries have some for
// themselves, which tell nothing of the program's copies.
bool is_flag(std::uint64_t bytes, std::uint16_t memory_flags, const Caller& caller) noexcept {
    constexpr std::uint64_t kMost = 64;
    if (bytes > kMost || (memory_flags & report::kMemoryMapped) == 0) {
        return false;
    }
    bool theirs = false;
    for_each_object([&](const ElfObject& object) {
        const bool found = object.contains(caller.return_address);
        theirs = found && (starts_with(object.name(), "libnccl") || starts_with(object.name(), "libcu") ||
                           starts_with(object.name(), "libnv"));
        return found;
    });
    return !theirs;
}

}  // namespace

void SimpleHook::add_range(std::uintptr_t address, std::uint64_t bytes, report::RangeKind kind,
                           unsigned requested) noexcept {
    const KeepErrno keep;
    PinnedRange range;
    range.address = address;
    range.bytes = bytes;
    range.kind = kind;
    range.memory_flags =
        kind == report::RangeKind::registered ? registration_flags(requested) : allocation_flags(requested);
    range.site = counters_ != nullptr ? counters_->site : 0;
    if (is_flag(bytes, range.memory_flags, caller())) {
        state().races.set_flags();
    }
    // An entry that is still there was released by a call that was not seen.
    PinnedRange stale;
    if (state().pinned.remove(address, stale) && stale.slot != nullptr) {
        state().image.free_range(stale.slot);
    }
    range.slot = state().image.new_range();
    if (range.slot != nullptr) {
        report::store(range.slot->kind, kind);
        report::store(range.slot->address, static_cast<std::uint64_t>(address));
        report::store(range.slot->bytes, bytes);
        report::store(range.slot->requested_flags, requested);
        report::store(range.slot->site, range.site);
        report::store(range.slot->thread, t_thread.shard->slot->thread);
        report::store(range.slot->created_ns, start_ns_);
    }
    if (!state().pinned.insert(range)) {
        state().image.lose(report::Loss::ranges, 1, 0, start_ns_);
    }
    // Whatever happens to managed memory is the driver's doing.
    if (kind != report::RangeKind::managed) {
        const OwnTime own;
        if ((range.memory_flags & report::kMemoryWriteCombined) == 0) {
            state().watched.memory_made(address, bytes);
        } else if (options().races == RaceUse::trap) {
            state().watched.combined_made(address, bytes, range.site, ask_device(state()));
        }
    }
}

void SimpleHook::take_range(std::uintptr_t address) noexcept {
    if (!state().pinned.remove(address, taken_)) {
        taken_ = PinnedRange{};
        return;
    }
    if (state().follows_ranges) {
        const OwnTime own;
        state().watched.memory_goes(taken_.address, site());
        released_ = &t_thread.shard->released;
        state().races.look_at_release(taken_.address, taken_.bytes, *released_);
    }
}

void SimpleHook::range_released(int status) noexcept {
    if (taken_.address == 0) {
        return;
    }
    if (status != 0) {
        state().pinned.insert(taken_);
        return;
    }
    if (taken_.slot != nullptr) {
        state().image.free_range(taken_.slot);
    }
    if (released_ != nullptr && released_->count != 0) {
        state().races.released(*released_, site(), t_thread.shard->slot->thread);
    }
}

void SimpleHook::device_memory_freed(int status) noexcept {
    if (status == 0) {
        state().races.device_memory_freed();
    }
}

void SimpleHook::waits_for_stream(void* stream) noexcept {
    awaited_ = copy_ != nullptr && stream_identity(api(), stream) == copy_stream_;
}

void SimpleHook::waits_for_everything() noexcept {
    awaited_ = copy_ != nullptr;
}

}  // namespace pincheck
