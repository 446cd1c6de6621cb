#include "combined_reads.h"

#include <mutex>  // lock_guard

#include "clock.h"

namespace pincheck {

using report::store;

void CombinedReads::add(const SampledRead& read) noexcept {
    const std::uint64_t now = now_ns();
    const TrapAccess& access = read.culprit.access;
    if (access.site == 0) {
        image_.lose(report::Loss::reads, 1, 0, now);
        return;
    }
    Hasher hasher;
    hasher.add(std::uint64_t{access.site} | std::uint64_t{read.pin_site} << 32);
    hasher.add(std::uint64_t{access.call} << 1 | (access.in_system_call ? 1 : 0));
    const Hash128 key = hasher.result();
    const std::lock_guard lock(mutex_);
    report::ReadSlot** known = slots_.find(key);
    report::ReadSlot* slot = known != nullptr ? *known : image_.new_read();
    if (slot == nullptr) {
        return;  // counted
    }
    if (known == nullptr) {
        store(slot->flags, static_cast<std::uint16_t>(access.in_system_call ? report::kReadInSystemCall : 0));
        store(slot->site, access.site);
        store(slot->pin_site, read.pin_site);
        store(slot->call, access.call);
        store(slot->thread, access.thread);
        store(slot->first_ns, now);
        store(slot->address, static_cast<std::uint64_t>(read.address));
        store(slot->bytes, read.bytes);
        store(slot->begin, read.culprit.begin);
        store(slot->end, read.culprit.end);
        slots_.insert(key, slot);
    }
    store(slot->samples, slot->samples + 1);
    store(slot->last_ns, now);
}

}  // namespace pincheck
