// Everything the tool knows in this process, from the first CUDA call on. One State a process: a fork's child starts
// its own (see lifecycle.h). Never freed: hooks may run until the very end.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>  // lock_guard

#include "api.h"
#include "graph_book.h"
#include "hash_table.h"
#include "kernel_set.h"
#include "later_looks.h"
#include "modules.h"
#include "options.h"
#include "pinned_map.h"
#include "races.h"
#include "report/image.h"
#include "report/mutex.h"
#include "stack_walk.h"
#include "streams.h"
#include "thread_state.h"
#include "watched_copies.h"

namespace pincheck {

// Room is kept for the overflow sites of each API.
inline constexpr std::uint32_t kMaxSites = 30000;

// A slot of a shard's waits.
struct WaitLink {
    report::WaitSlot* slot;
    WaitLink* next;
};

struct Shard {
    // The facts and the caller, or in place of the caller the hash of several frames.
    struct Key {
        std::uint64_t facts[2];
        std::uint64_t frames[2];
        bool operator==(const Key&) const = default;
    };
    struct Entry {
        Key key;
        report::CounterSlot* counter;
    };
    // Sites of several frames at which this thread was lately, by what its stack looked like (recorder.cpp).
    struct KnownStack {
        std::uint64_t facts[2];
        StackWords words;
        report::CounterSlot* counter;
    };
    static constexpr std::uint32_t kKnownStacks = 64;
    // Places that called lately, with what followed from a call like that (hook_copy.cpp). Like KnownStack it must tell
    // apart whatever the key of a counter does.
    struct KnownCopy {
        std::uintptr_t return_address;
        std::uint64_t what;
        std::uint64_t facts[2];
        report::Memory host;
        report::CounterSlot* counter;  // null: to be looked for by the stack
    };
    static constexpr std::uint32_t kKnownCopies = 64;

    report::ThreadSlot* slot;
    report::CounterSlot* last_counter;  // most recently handed out
    Entry* entries;                     // open addressing; only the owning thread touches it
    std::uint32_t capacity;
    std::uint32_t count;
    Shard* next_free;
    KnownStack known[kKnownStacks];
    KnownCopy known_copies[kKnownCopies];

    // What other threads see of this one's calls (see waits.h).
    Shard* next_of_all;            // of State::all_shards
    report::CounterSlot* in_call;  // of the site of the call that it is inside of; null where that only waits
    struct LongCall {
        std::uint64_t start_ns;
        std::uint64_t end_ns;
        std::uint32_t site;
    };
    LongCall long_call;  // the last one

    // The last wait for nothing.
    struct IdleWait {
        report::WaitSlot* slot;
        std::uint32_t site;
    };
    IdleWait idle_wait;
    KnownUses known_uses;                // see races.h
    RangeBook::Found released;           // of the call that is being made
    BatchRanges batch;                   // of the call that is being made
    std::atomic<WaitLink*> wait_links;   // all of `waits`, newest first, for the tool's thread
    HashTable<report::WaitSlot*> waits;  // by site, cause and evidence; only the owning thread touches it
};

struct State {
    explicit State(report::Image& recording) noexcept : image(recording), modules(recording) {}

    report::Image& image;
    std::uint64_t generation = 0;
    bool after_fork = false;  // child of a process that had used CUDA: no question to the driver, no unwinding
    std::uint64_t start_ns = 0;
    const bool follows_ranges = options().races != RaceUse::off;
    const bool watches_pageable = options().watch_pageable;
    std::atomic<bool> reaches_pageable{false};  // a device reads pageable memory by itself: nothing is staged
    const std::uint64_t threshold_ns = std::uint64_t{options().threshold_us} * 1000;  // from here on a call was held

    ModuleTable modules;
    PinnedMap pinned;

    Mutex sites_mutex;
    HashTable<std::uint32_t> sites;          // key of a site -> its id
    HashTable<std::uint32_t> stacks;         // addresses -> stack id
    HashTable<std::uint32_t> origin_stacks;  // site that puts copies into graphs -> its stack id
    std::uint32_t site_count = 0;

    std::atomic<Shard*> all_shards{nullptr};  // newest first; none is ever removed

    Mutex shards_mutex;
    Shard* free_shards = nullptr;  // oldest first
    std::uint32_t free_shard_count = 0;
    std::atomic<std::uint32_t> last_thread{0};  // id of the newest thread slot

    std::atomic<std::uint32_t> api_names[kApiCount] = {};  // string ids, 0 until used
    std::atomic<int> open_captures{0};                     // stream captures begun and not ended
    GraphBook graphs;
    KernelSet kernels;
    Streams streams;
    Races races{image, streams};
    WatchedCopies watched{image, streams, races};
    Mutex wait_links_mutex;
    ChunkArray<WaitLink, 256, 65536> wait_links;
    LaterLooks<WaitedCall> held_calls;
    std::atomic<std::uint32_t> last_stream_thread{0};  // numbers threads for their default streams
    std::atomic<std::uint64_t> devices_seen{0};        // bit per ordinal

    std::uint32_t api_name(Api api) noexcept {
        const std::uint32_t id = api_names[index_of(api)].load(std::memory_order_relaxed);
        return id != 0 ? id : add_api_name(api);
    }
    std::uint32_t add_api_name(Api api) noexcept;
};

}  // namespace pincheck
