// Handles, slots and contexts: which stream a call means. See stream_order.cpp for order and completion.
#include "streams.h"

#include <mutex>  // lock_guard

namespace pincheck {
namespace {

using report::StreamKind;

struct Key {
    std::uintptr_t context;
    std::uintptr_t identity;
    std::uint32_t thread;
};

constexpr std::uintptr_t kLegacy = 1;
constexpr std::uintptr_t kPerThread = 2;

// Created streams have one handle in the process; a default stream belongs to its context, or context and thread.
constexpr Key key_of(std::uintptr_t context, std::uintptr_t identity, std::uint32_t thread) noexcept {
    if (identity > kPerThread) {
        return {0, identity, 0};
    }
    return {context, identity, identity == kPerThread ? thread : 0};
}

std::size_t hash_of(const Key& key) noexcept {
    const std::uint64_t mixed = key.identity ^ (key.context << 7) ^ (static_cast<std::uint64_t>(key.thread) << 40);
    return static_cast<std::size_t>((mixed * 0x9e3779b97f4a7c15ull) >> 40);
}

bool has_key(const StreamEntry& entry, const Key& key) noexcept {
    return entry.identity.load(std::memory_order_relaxed) == key.identity &&
           entry.key_context.load(std::memory_order_relaxed) == key.context &&
           entry.thread.load(std::memory_order_relaxed) == key.thread;
}

}  // namespace

Streams::Streams() noexcept {
    // A fork's child has an object of its own, and a thread that remembers a stream of its parent's.
    static std::atomic<std::uint64_t> objects{0};
    version_.store((objects.fetch_add(1) + 1) << 40);
}

bool Streams::make_tables() noexcept {
    if (buckets_.load(std::memory_order_relaxed) == nullptr) {
        buckets_.store(map_array<std::atomic<StreamEntry*>>(kBuckets), std::memory_order_release);
    }
    return buckets_.load(std::memory_order_relaxed) != nullptr;
}

std::atomic<StreamEntry*>* Streams::bucket(std::uintptr_t context, std::uintptr_t identity,
                                           std::uint32_t thread) const noexcept {
    std::atomic<StreamEntry*>* buckets = buckets_.load(std::memory_order_acquire);
    return buckets != nullptr ? &buckets[hash_of(key_of(context, identity, thread)) % kBuckets] : nullptr;
}

StreamEntry* Streams::in_chain(std::uintptr_t context, std::uintptr_t identity, std::uint32_t thread) const noexcept {
    const std::atomic<StreamEntry*>* first = bucket(context, identity, thread);
    const Key key = key_of(context, identity, thread);
    StreamEntry* entry = first != nullptr ? first->load(std::memory_order_acquire) : nullptr;
    while (entry != nullptr && !has_key(*entry, key)) {
        entry = entry->next_in_bucket.load(std::memory_order_acquire);
    }
    return entry;
}

StreamRef Streams::find(std::uintptr_t context, std::uintptr_t identity, std::uint32_t thread) const noexcept {
    StreamEntry* entry = in_chain(context, identity, thread);
    if (entry == nullptr) {
        // An entry that was given away meanwhile may have led into another chain.
        const std::lock_guard lock(table_mutex_);
        entry = in_chain(context, identity, thread);
    }
    return entry != nullptr ? StreamRef{entry, entry->number.load(std::memory_order_acquire)} : StreamRef{};
}

StreamRef Streams::find_anew(LastStream& last, std::uintptr_t context, std::uintptr_t identity,
                             std::uint32_t thread) const noexcept {
    const std::uint64_t version = version_.load(std::memory_order_acquire);
    const StreamRef found = find(context, identity, thread);
    if (found) {
        last = {context, identity, version, found};
    }
    return found;
}

ContextEntry* Streams::context_of(std::uintptr_t handle) const noexcept {
    const std::uint32_t count = context_count_.load(std::memory_order_acquire);
    for (std::uint32_t i = 0; i < count; ++i) {
        if (contexts_[i].handle.load(std::memory_order_acquire) == handle) {
            return &contexts_[i];
        }
    }
    return nullptr;
}

ContextEntry* Streams::context_or_add(std::uintptr_t handle, int device) noexcept {
    ContextEntry* context = context_of(handle);
    if (context == nullptr) {
        context = context_of(0);
        const std::uint32_t count = context_count_.load(std::memory_order_relaxed);
        if (context == nullptr && count < kMaxContexts) {
            context = &contexts_[count];
            context_count_.store(count + 1, std::memory_order_release);
        }
        if (context != nullptr) {
            context->device.store(device, std::memory_order_relaxed);
            context->number.store(++last_context_, std::memory_order_relaxed);
            context->handle.store(handle, std::memory_order_release);
        }
    }
    return context;
}

StreamEntry* Streams::free_slot() noexcept {
    const std::lock_guard lock(slots_mutex_);
    if (StreamEntry* entry = free_.take()) {
        return entry;
    }
    if (StreamEntry* entry = entries_.fresh()) {
        entry->slot = entries_.used();
        return entry;
    }
    StreamEntry* entry = dead_.take();
    lost_streams_.fetch_add(1, std::memory_order_relaxed);  // either this stream, or what a dead one's tickets say
    return entry;
}

StreamRef Streams::add(std::uintptr_t context, int device, std::uintptr_t identity, std::uint32_t thread,
                       bool non_blocking, std::uint32_t site) noexcept {
    const std::lock_guard lock(table_mutex_);
    if (!make_tables()) {
        return {};
    }
    if (StreamEntry* known = in_chain(context, identity, thread)) {
        if (identity <= kPerThread) {
            return {known, known->number.load(std::memory_order_relaxed)};
        }
        unchain(*known);
        retire(*known);
    }
    ContextEntry* owner = context_or_add(context, device);
    StreamEntry* entry = owner != nullptr ? free_slot() : nullptr;
    if (entry == nullptr) {
        return {};
    }
    const std::uint32_t number = ++last_number_;
    {
        const std::lock_guard entry_lock(entry->mutex);
        entry->number.store(0);
        entry->issued.store(0);
        entry->complete.store(0);
        entry->seen_ended.store(0);
        entry->seen_begun.store(0);
        entry->seen_changes.store(identity == kLegacy ? UINT64_MAX : 0);
        entry->context.store(owner, std::memory_order_relaxed);
        entry->named_work.store(0, std::memory_order_relaxed);
        entry->report_id.store(0, std::memory_order_relaxed);
        entry->kind = identity == kLegacy      ? StreamKind::legacy_default
                      : identity == kPerThread ? StreamKind::per_thread_default
                                               : StreamKind::created;
        entry->non_blocking = non_blocking;
        entry->maybe_gated.store(false);
        entry->compact_at = 0;
        entry->base_epoch = 0;
        entry->lost_gate = 0;
        entry->other_operations.store(0);
        entry->retired = false;
        entry->dead = false;
        entry->early_event_from = entry->early_event_to = 0;
        entry->site = site;
        entry->number.store(number, std::memory_order_release);
    }
    const Key key = key_of(context, identity, thread);
    entry->identity.store(key.identity, std::memory_order_relaxed);
    entry->key_context.store(key.context, std::memory_order_relaxed);
    entry->thread.store(key.thread, std::memory_order_relaxed);
    std::atomic<StreamEntry*>* first = bucket(context, identity, thread);
    entry->next_in_bucket.store(first->load(std::memory_order_relaxed), std::memory_order_release);
    first->store(entry, std::memory_order_release);
    if (identity == kLegacy) {
        owner->legacy.store(entry, std::memory_order_release);
    }
    return {entry, number};
}

void Streams::unchain(StreamEntry& entry) noexcept {
    std::atomic<StreamEntry*>* link =
        bucket(entry.key_context.load(std::memory_order_relaxed), entry.identity.load(std::memory_order_relaxed),
               entry.thread.load(std::memory_order_relaxed));
    for (StreamEntry* at = link->load(); at != nullptr; link = &at->next_in_bucket, at = link->load()) {
        if (at == &entry) {
            link->store(entry.next_in_bucket.load());
            break;
        }
    }
    version_.fetch_add(1, std::memory_order_release);
}

// The handle is gone; the slot stays until the work is known complete.
void Streams::retire(StreamEntry& entry) noexcept {
    std::uint32_t number = 0;
    {
        const std::lock_guard lock(entry.mutex);
        entry.retired = true;
        number = entry.number.load(std::memory_order_relaxed);
    }
    release_if_over(entry, number);
}

void Streams::release_if_over(StreamEntry& entry, std::uint32_t number) noexcept {
    ContextEntry& context = entry.owner();
    const std::lock_guard context_lock(context.mutex);
    const std::lock_guard lock(entry.mutex);
    if (entry.number.load(std::memory_order_relaxed) == number && &entry.owner() == &context && entry.retired &&
        !entry.dead && entry.complete.load() >= entry.issued.load()) {
        unlist(context, entry);
        release(entry);
    }
}

// With its locks held, and not listed any more.
void Streams::release(StreamEntry& entry) noexcept {
    free_edges(entry);
    entry.number.store(0, std::memory_order_release);
    entry.retired = false;
    const std::lock_guard lock(slots_mutex_);
    free_.put(entry);
}

void Streams::stream_destroyed(std::uintptr_t handle) noexcept {
    if (handle <= kPerThread) {
        return;
    }
    const std::lock_guard lock(table_mutex_);
    if (StreamEntry* entry = in_chain(0, handle, 0)) {
        unchain(*entry);
        retire(*entry);
    }
}

void Streams::thread_ended(std::uint32_t thread) noexcept {
    const std::lock_guard lock(table_mutex_);
    const std::uint32_t count = context_count_.load(std::memory_order_relaxed);
    for (std::uint32_t i = 0; i < count; ++i) {
        StreamEntry* entry = in_chain(contexts_[i].handle.load(std::memory_order_relaxed), kPerThread, thread);
        if (entry != nullptr) {
            unchain(*entry);
            retire(*entry);
        }
    }
}

void Streams::context_destroyed(std::uintptr_t handle) noexcept {
    const std::lock_guard lock(table_mutex_);
    ContextEntry* context = handle != 0 ? context_of(handle) : nullptr;
    if (context != nullptr) {
        destroy(*context);
    }
}

void Streams::device_reset(int device) noexcept {
    const std::lock_guard lock(table_mutex_);
    const std::uint32_t count = context_count_.load(std::memory_order_relaxed);
    for (std::uint32_t i = 0; i < count; ++i) {
        if (contexts_[i].handle.load() != 0 && contexts_[i].device.load() == device) {
            destroy(contexts_[i]);
        }
    }
}

// With the table's lock held.
void Streams::destroy(ContextEntry& context) noexcept {
    const std::uint32_t used = entries_.used();
    for (std::uint32_t slot = 1; slot <= used; ++slot) {
        StreamEntry& entry = *at(slot);
        const std::lock_guard context_lock(context.mutex);
        const std::lock_guard lock_entry(entry.mutex);
        if (entry.context.load() != &context || entry.number.load(std::memory_order_relaxed) == 0 || entry.dead) {
            continue;
        }
        if (!entry.retired) {
            unchain(entry);
        }
        unlist(context, entry);
        if (entry.first_edge != 0) {
            forgot_order_.store(true, std::memory_order_relaxed);
        }
        free_edges(entry);
        entry.dead = true;
        const std::lock_guard slots_lock(slots_mutex_);
        dead_.put(entry);
    }
    context.legacy.store(nullptr);
    context.maybe_gated.store(false);
    context.handle.store(0, std::memory_order_release);
    version_.fetch_add(1, std::memory_order_release);
}

StreamInfo Streams::info(StreamRef stream) const noexcept {
    StreamInfo info;
    if (stream.entry != nullptr) {
        const StreamEntry& entry = *stream.entry;
        info.number = stream.number;
        info.site = entry.site;
        info.kind = entry.kind;
        info.non_blocking = entry.is_non_blocking();
        info.handle = entry.identity.load(std::memory_order_relaxed);
        info.context = entry.owner().handle.load(std::memory_order_relaxed);
        info.context_number = entry.owner().number.load(std::memory_order_relaxed);
        info.device = entry.owner().device.load(std::memory_order_relaxed);
    }
    return info;
}

namespace {
constexpr std::uint32_t kBeingReported = UINT32_MAX;
}

bool Streams::claim_report(StreamRef stream) noexcept {
    std::uint32_t none = 0;
    return stream.entry->report_id.compare_exchange_strong(none, kBeingReported);
}

void Streams::set_report_id(StreamRef stream, std::uint32_t id) noexcept {
    // An id of 0, without room in the report, stays claimed.
    if (id != 0) {
        stream.entry->report_id.store(id, std::memory_order_relaxed);
    }
}

std::uint32_t Streams::report_id(const StreamEntry& entry) noexcept {
    const std::uint32_t id = entry.report_id.load(std::memory_order_relaxed);
    return id != kBeingReported ? id : 0;
}

bool Streams::is_in(const Ticket& ticket, std::uintptr_t context, int device) const noexcept {
    const StreamEntry& entry = *at(ticket.slot);
    const ContextEntry& owner = entry.owner();
    return entry.number.load(std::memory_order_acquire) == ticket.stream &&
           (context == 0 || owner.handle.load(std::memory_order_relaxed) == context) &&
           (device < 0 || owner.device.load(std::memory_order_relaxed) == device);
}

Streams::~Streams() {
    unmap_memory(buckets_.load(std::memory_order_relaxed), kBuckets * sizeof(std::atomic<StreamEntry*>));
    free_snapshots();
    free_search_room();
}

}  // namespace pincheck
