// From facts of one call to the counters of its site. The path for a known site takes no lock, no memory, no system
// call.
#pragma once

#include <cstdint>
#include <type_traits>

#include "api.h"
#include "real.h"
#include "report/records.h"
#include "stack.h"
#include "state.h"

namespace pincheck {

// What two calls must have in common, besides where they come from, to count as one site. Compared as two words.
struct SiteFacts {
    Api api;
    report::SiteKind kind;
    report::Direction direction = report::Direction::none;
    report::StreamKind stream = report::StreamKind::none;
    report::SourceOrder source_order = report::SourceOrder::stream;
    std::uint16_t flags = 0;  // report::SiteFlags; kSiteExactStack: one site per distinct full stack
    report::Memory destination{};
    report::Memory source{};
};
static_assert(sizeof(SiteFacts) == 16 && std::has_unique_object_representations_v<SiteFacts>);

// Makes `thread` one of this State's threads. False when it cannot be recorded (counted as lost).
bool attach_thread(State& state, ThreadState& thread, const Caller& caller) noexcept;

// Counters of the site for the calling thread; null when the call cannot be recorded (counted as lost).
// errno is kept.
report::CounterSlot* counters_of(State& state, ThreadState& thread, const SiteFacts& facts, const Caller& caller,
                                 CallerRule rule) noexcept;

// The same for work that a graph did: the place is that of the site `origin`, which put it into the graph.
report::CounterSlot* counters_of_origin(State& state, ThreadState& thread, const SiteFacts& facts,
                                        std::uint32_t origin) noexcept;

struct CallResult {
    int status;  // the API's return value
    std::uint64_t bytes;
    std::uint64_t start_ns;
    std::uint64_t end_ns;
};
void add_call(report::CounterSlot& counters, const CallResult& result) noexcept;

}  // namespace pincheck
