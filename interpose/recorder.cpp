#include "recorder.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cstring>

#include "clock.h"
#include "lifecycle.h"
#include "log.h"
#include "memory.h"
#include "options.h"
#include "stack_record.h"

namespace pincheck {

namespace {

using report::CounterSlot;

// A key reaches past a static runtime's own frames (three; measured: cudart 13.0.96) into the code that called it.
constexpr std::size_t kKeyDepth = 6;
// So many ended threads keep their counters to themselves; then the oldest are shared with new threads.
constexpr std::uint32_t kKeptShards = 64;
// Second word of the key of work that came from another site; return addresses are never that small.
constexpr std::uint64_t kOriginMark = 2;

using Words = FactWords;
Words words_of(const SiteFacts& facts) noexcept {
    return std::bit_cast<Words>(facts);
}

Hash128 hash_of(const Words& facts, const std::uintptr_t* addresses, std::size_t count) noexcept {
    Hasher hasher;
    hasher.add(facts[0]);
    hasher.add(facts[1]);
    for (std::size_t i = 0; i < count; ++i) {
        hasher.add(addresses[i]);
    }
    return hasher.result();
}

// Where a thread keeps its counters, the size goes where the facts have a reserved byte: the key stays two words.
static_assert(offsetof(SiteFacts, destination) == 8 && offsetof(report::Memory, reserved) == 1);
constexpr unsigned kSizeClassShift = 8;

Words words_of(const SiteFacts& facts, std::uint64_t size_class) noexcept {
    Words words = words_of(facts);
    words[1] |= size_class << kSizeClassShift;
    return words;
}
std::uint16_t size_class_of(const Shard::Key& key) noexcept {
    return static_cast<std::uint16_t>(key.facts[1] >> kSizeClassShift & 0xff);
}

// One frame is its own key; several are hashed.
Shard::Key shard_key(const Words& facts, const std::uintptr_t* addresses, std::size_t count) noexcept {
    if (count == 1) {
        return {{facts[0], facts[1]}, {addresses[0], 1}};
    }
    const Hash128 hash = hash_of({}, addresses, count);
    return {{facts[0], facts[1]}, {hash.low, hash.high}};
}

std::uint32_t home_of(const Shard& shard, const Shard::Key& key) noexcept {
    const std::uint64_t mixed = (key.facts[0] ^ key.facts[1] << 7 ^ key.frames[0] << 20) + key.frames[0];
    return static_cast<std::uint32_t>(mixed * 0x9e3779b97f4a7c15ull >> 32) & (shard.capacity - 1);
}

inline __attribute__((always_inline)) CounterSlot* find_in_shard(const Shard& shard, const Shard::Key& key) noexcept {
    for (std::uint32_t i = home_of(shard, key);; i = (i + 1) & (shard.capacity - 1)) {
        const Shard::Entry& entry = shard.entries[i];
        if (entry.key == key) {
            return entry.counter;
        }
        if (entry.counter == nullptr) {
            return nullptr;
        }
    }
}

void place_in_shard(Shard& shard, const Shard::Key& key, CounterSlot* counter) noexcept {
    std::uint32_t i = home_of(shard, key);
    while (shard.entries[i].counter != nullptr) {
        i = (i + 1) & (shard.capacity - 1);
    }
    shard.entries[i] = {key, counter};
    ++shard.count;
}

bool reserve_in_shard(Shard& shard) noexcept {
    if ((shard.count + 1) * 2 <= shard.capacity) {
        return true;
    }
    const std::uint32_t capacity = shard.capacity == 0 ? 128 : shard.capacity * 2;
    auto* entries = map_array<Shard::Entry>(capacity);
    if (entries == nullptr) {
        return shard.count + 1 < shard.capacity;
    }
    Shard::Entry* old = shard.entries;
    const std::uint32_t old_capacity = shard.capacity;
    shard.entries = entries;
    shard.capacity = capacity;
    shard.count = 0;
    for (std::uint32_t i = 0; i < old_capacity; ++i) {
        if (old[i].counter != nullptr) {
            place_in_shard(shard, old[i].key, old[i].counter);
        }
    }
    unmap_memory(old, old_capacity * sizeof(Shard::Entry));
    return true;
}

// Which frames tell this site from others.
struct SiteKey {
    const std::uintptr_t* frames;
    std::size_t count;
};

report::SiteRecord record_of(State& state, const SiteFacts& facts) noexcept {
    report::SiteRecord record{};
    record.api = state.api_name(facts.api);
    record.kind = facts.kind;
    record.direction = facts.direction;
    record.stream = facts.stream;
    record.source_order = facts.source_order;
    record.destination = facts.destination;
    record.source = facts.source;
    record.flags = facts.flags;
    return record;
}

// Called with sites_mutex held.
std::uint32_t create_site(State& state, const SiteFacts& facts, const SiteKey& key, const Backtrace& trace) noexcept {
    report::SiteRecord record = record_of(state, facts);
    const bool overflow = (facts.flags & report::kSiteOverflow) != 0;
    record.stack = overflow ? 0 : stack_id(state, trace);
    report::Frame frames[report::kMaxKeyFrames];
    const std::size_t count = key.count < report::kMaxKeyFrames ? key.count : report::kMaxKeyFrames;
    state.modules.resolve(key.frames, count, frames);
    const std::uint32_t id = state.image.add_site(record, {frames, count});
    if (id != 0) {
        state.sites.insert(hash_of(words_of(facts), key.frames, key.count), id);
        ++state.site_count;
        t_thread.created_site = id;
        if ((facts.flags & report::kSiteCaptured) != 0 || facts.kind == report::SiteKind::graph_setup) {
            state.origin_stacks.insert({id, 1}, record.stack);
        }
    }
    return id;
}

// The id of the site, made if it is new; 0 when it was dropped. Past the limit `facts` and `key` become those of the
// one site that stands for all further ones of that kind.
std::uint32_t site_id(State& state, SiteFacts& facts, SiteKey& key, const Backtrace& trace) noexcept {
    const std::lock_guard lock(state.sites_mutex);
    if (const std::uint32_t* known = state.sites.find(hash_of(words_of(facts), key.frames, key.count))) {
        return *known;
    }
    if (state.site_count >= kMaxSites) {
        state.image.lose(report::Loss::sites, 1, 0, now_ns());
        facts.flags = static_cast<std::uint16_t>((facts.flags & ~report::kSiteExactStack) | report::kSiteOverflow);
        key = {};
        if (const std::uint32_t* known = state.sites.find(hash_of(words_of(facts), nullptr, 0))) {
            return *known;
        }
    }
    return create_site(state, facts, key, trace);
}

// The counter of a site for this thread, placed in its shard; null when it was lost.
CounterSlot* place_new_counter(State& state, ThreadState& thread, std::uint32_t site, const Shard::Key& key) noexcept {
    Shard& shard = *thread.shard;
    CounterSlot* counter = site != 0 && reserve_in_shard(shard) ? state.image.new_counter(shard.last_counter) : nullptr;
    if (counter == nullptr) {
        state.image.lose(report::Loss::counters, 1, 0, now_ns());
        return nullptr;
    }
    report::store(counter->site, site);
    report::store(counter->size_class, size_class_of(key));
    report::store(counter->thread, shard.slot->thread);
    report::store(counter->bytes_min, UINT64_MAX);
    shard.last_counter = counter;
    place_in_shard(shard, key, counter);
    return counter;
}

// First call of this thread at this site. Not inlined: the known path stays small.
__attribute__((noinline)) CounterSlot* new_counters(State& state, ThreadState& thread, SiteFacts facts,
                                                    std::uint16_t size_class, const Caller& caller, SiteKey key,
                                                    const Backtrace* exact) noexcept {
    const KeepErrno keep;
    const NotCancelled whole;
    Backtrace trace;
    if (exact == nullptr) {
        unwind(caller, options().stacks && !state.after_fork ? options().depth : 1, trace);
    }
    const std::uint32_t id = site_id(state, facts, key, exact != nullptr ? *exact : trace);
    Shard& shard = *thread.shard;
    const Shard::Key shard_entry = shard_key(words_of(facts, size_class), key.frames, key.count);
    if (key.count == 0) {
        if (CounterSlot* known = find_in_shard(shard, shard_entry)) {
            return known;
        }
    }
    return place_new_counter(state, thread, id, shard_entry);
}

__attribute__((noinline)) CounterSlot* new_graph_counters(State& state, ThreadState& thread, const SiteFacts& facts,
                                                          std::uint32_t origin, const Shard::Key& key) noexcept {
    const KeepErrno keep;
    const std::uintptr_t words[] = {origin, kOriginMark};
    const Hash128 hash = hash_of(words_of(facts), words, 2);
    std::uint32_t id = 0;
    {
        const std::lock_guard lock(state.sites_mutex);
        if (const std::uint32_t* known = state.sites.find(hash)) {
            id = *known;
        } else if (state.site_count >= kMaxSites) {
            state.image.lose(report::Loss::sites, 1, 0, now_ns());
        } else {
            report::SiteRecord record = record_of(state, facts);
            const std::uint32_t* stack = state.origin_stacks.find({origin, 1});
            record.stack = stack != nullptr ? *stack : 0;
            id = state.image.add_site(record, {});
            if (id != 0) {
                state.sites.insert(hash, id);
                ++state.site_count;
            }
        }
    }
    return place_new_counter(state, thread, id, key);
}

// ---- Threads
// ---------------------------------------------------------------------------------------------------------

pthread_key_t g_key;
pthread_once_t g_key_once = PTHREAD_ONCE_INIT;
bool g_key_valid = false;

// The thread ends: its shard goes to a new thread, later. Calls made later in this thread's life attach it again.
void on_thread_exit(void* data) {
    auto& thread = *static_cast<ThreadState*>(data);
    State* state = current_state();
    if (state == nullptr || thread.generation != state->generation || thread.shard == nullptr) {
        return;
    }
    Shard* shard = thread.shard;
    if (thread.stream_thread != 0) {
        state->streams.thread_ended(thread.stream_thread);
    }
    thread = ThreadState{};
    report::store(shard->slot->state, report::SlotState::ended);
    const std::lock_guard lock(state->shards_mutex);
    shard->next_free = nullptr;
    Shard** end = &state->free_shards;
    while (*end != nullptr) {
        end = &(*end)->next_free;
    }
    *end = shard;
    ++state->free_shard_count;
}

void make_key() {
    g_key_valid = pthread_key_create(&g_key, &on_thread_exit) == 0;
}

Shard* take_shard(State& state) noexcept {
    {
        const std::lock_guard lock(state.shards_mutex);
        if (state.free_shard_count >= kKeptShards) {
            Shard* oldest = state.free_shards;
            state.free_shards = oldest->next_free;
            --state.free_shard_count;
            return oldest;
        }
    }
    auto* shard = map_array<Shard>(1);
    if (shard == nullptr) {
        return nullptr;
    }
    shard->slot = state.image.new_thread();
    if (shard->slot == nullptr || !reserve_in_shard(*shard)) {
        return nullptr;
    }
    report::store(shard->slot->thread, state.last_thread.fetch_add(1, std::memory_order_relaxed) + 1);
    shard->next_of_all = state.all_shards.load(std::memory_order_relaxed);
    while (!state.all_shards.compare_exchange_weak(shard->next_of_all, shard, std::memory_order_release,
                                                   std::memory_order_relaxed)) {
    }
    return shard;
}

// Host functions run on threads of the driver's. Its frames then lie between the caller and the thread's start.
bool runs_under_driver(const Caller& caller) noexcept {
    const Driver* known = driver();
    Backtrace trace;
    unwind(caller, kMaxDepth, trace);
    std::size_t first_outside = 0;
    while (first_outside < trace.count && caller_rule(trace.addresses[first_outside]).is_cuda()) {
        ++first_outside;
    }
    for (std::size_t i = first_outside; known != nullptr && i < trace.count; ++i) {
        if (known->contains(reinterpret_cast<void*>(trace.addresses[i]))) {
            return true;
        }
    }
    return false;
}

}  // namespace

bool attach_thread(State& state, ThreadState& thread, const Caller& caller) noexcept {
    const KeepErrno keep;
    const std::uintptr_t guard = thread.guard;
    // A fork's child follows no streams.
    const std::uint32_t stream_thread = thread.stream_thread;
    thread = ThreadState{};
    thread.guard = guard;
    thread.stream_thread = stream_thread;
    pthread_once(&g_key_once, &make_key);
    Shard* shard = take_shard(state);
    if (shard == nullptr) {
        state.image.lose(report::Loss::threads, 1, 0, now_ns());
        return false;
    }
    for (Shard::KnownStack& known : shard->known) {
        known.words.count = 0;  // of another thread's stack
    }
    for (Shard::KnownCopy& known : shard->known_copies) {
        known.return_address = 0;
    }
    thread.shard = shard;
    thread.generation = state.generation;
    thread.driver_owned = !state.after_fork && runs_under_driver(caller);
    thread.may_ask = !state.after_fork && !thread.driver_owned;
    thread.watches = state.watched.is_open();
    if (g_key_valid) {
        pthread_setspecific(g_key, &thread);
    }
    report::ThreadSlot& slot = *shard->slot;
    char name[16] = "";
    prctl(PR_GET_NAME, name);
    std::memcpy(slot.name, name, sizeof(name));
    report::store(slot.tid, static_cast<std::uint32_t>(syscall(SYS_gettid)));
    report::store(slot.threads, slot.threads + 1);
    report::store(slot.flags, thread.driver_owned ? std::uint32_t{report::kThreadDriverOwned} : 0u);
    report::store(slot.started_ns, now_ns());
    report::store(slot.state, report::SlotState::live);
    return true;
}

namespace {

// Where a site of several frames is remembered: in one of two neighbours.
std::uint32_t known_stack_home(const Words& facts, const Caller& caller) noexcept {
    const std::uint64_t mixed =
        (caller.frame ^ caller.return_address << 20 ^ facts[1] << 3 ^ facts[0]) * 0x9e3779b97f4a7c15ull;
    return static_cast<std::uint32_t>(mixed >> 32) % Shard::kKnownStacks;
}

// A thread that comes to a site again on the way that it came before need not find out anew where that is.
inline __attribute__((always_inline)) CounterSlot* find_known_stack(const Shard& shard, const Words& facts,
                                                                    const Caller& caller) noexcept {
    const std::uint32_t home = known_stack_home(facts, caller);
    for (const std::uint32_t other : {0u, 1u}) {
        const Shard::KnownStack& known = shard.known[home ^ other];
        if (known.facts[0] == facts[0] && known.facts[1] == facts[1] && is_unchanged(known.words, caller)) {
            return known.counter;
        }
    }
    return nullptr;
}

__attribute__((noinline)) CounterSlot* find_by_caller(State& state, ThreadState& thread, const SiteFacts& facts,
                                                      std::uint16_t size_class, const Caller& caller) noexcept {
    CounterSlot* known =
        find_in_shard(*thread.shard, shard_key(words_of(facts, size_class), &caller.return_address, 1));
    return known != nullptr
               ? known
               : new_counters(state, thread, facts, size_class, caller, {&caller.return_address, 1}, nullptr);
}

__attribute__((noinline)) CounterSlot* find_by_stack(State& state, ThreadState& thread, const SiteFacts& facts,
                                                     std::uint16_t size_class, const Caller& caller) noexcept {
    const Words words = words_of(facts, size_class);
    const bool exact = (facts.flags & report::kSiteExactStack) != 0;
    const bool may_unwind = !state.after_fork && options().stacks;
    const std::size_t depth = exact ? options().depth : kKeyDepth;
    Shard& shard = *thread.shard;
    Backtrace trace;
    Shard::KnownStack found;
    unwind(caller, may_unwind ? depth : 1, trace, found.words);
    CounterSlot* counter = find_in_shard(shard, shard_key(words, trace.addresses, trace.count));
    if (counter == nullptr) {
        counter = new_counters(state, thread, facts, size_class, caller, {trace.addresses, trace.count},
                               exact ? &trace : nullptr);
    }
    if (counter != nullptr && found.words.count != 0) {
        const std::uint32_t home = known_stack_home(words, caller);
        Shard::KnownStack& older = shard.known[home ^ 1];
        older = shard.known[home];
        found.facts[0] = words[0];
        found.facts[1] = words[1];
        found.counter = counter;
        shard.known[home] = found;
    }
    return counter;
}

}  // namespace

CounterSlot* counters_of(State& state, ThreadState& thread, const SiteFacts& facts, std::uint16_t size_class,
                         const Caller& caller, CallerRule rule) noexcept {
    const Words words = words_of(facts, size_class);
    const Shard& shard = *thread.shard;
    if (has_one_frame(facts, rule)) {
        const Shard::Key key = shard_key(words, &caller.return_address, 1);
        const Shard::Entry& first = shard.entries[home_of(shard, key)];
        return first.key == key ? first.counter : find_by_caller(state, thread, facts, size_class, caller);
    }
    CounterSlot* known = find_known_stack(shard, words, caller);
    return known != nullptr ? known : find_by_stack(state, thread, facts, size_class, caller);
}

CounterSlot* counters_of_origin(State& state, ThreadState& thread, const SiteFacts& facts, std::uint16_t size_class,
                                std::uint32_t origin) noexcept {
    const Words words = words_of(facts, size_class);
    const Shard::Key key{{words[0], words[1]}, {origin, kOriginMark}};
    CounterSlot* known = find_in_shard(*thread.shard, key);
    return known != nullptr ? known : new_graph_counters(state, thread, facts, origin, key);
}

}  // namespace pincheck
