// From facts of one call to the counters of its site. The path for a known site takes no lock, no memory, no system
// call.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "api.h"
#include "real.h"
#include "report/slots.h"
#include "stack.h"
#include "state.h"

namespace pincheck {

// What two calls must have in common, besides where they come from, to count as one site. Compared as two words.
struct alignas(8) SiteFacts {
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

using FactWords = std::array<std::uint64_t, 2>;

// SiteFacts as the two words that they are, put together in registers: bytes that are stored one by one cannot be read
// as a word at once.
constexpr FactWords pack_facts(Api api, report::SiteKind kind, report::Direction direction, report::StreamKind stream,
                               report::SourceOrder source_order, std::uint16_t flags, report::Memory destination,
                               report::Memory source) noexcept {
    const auto byte = [](auto value, unsigned shift) {
        return static_cast<std::uint64_t>(static_cast<std::uint8_t>(value)) << shift;
    };
    const auto memory = [](report::Memory value) { return std::uint64_t{std::bit_cast<std::uint32_t>(value)}; };
    return {static_cast<std::uint64_t>(api) | byte(kind, 16) | byte(direction, 24) | byte(stream, 32) |
                byte(source_order, 40) | static_cast<std::uint64_t>(flags) << 48,
            memory(destination) | memory(source) << 32};
}
static_assert(pack_facts(Api{1}, report::SiteKind::fill, report::Direction::device_to_host, report::StreamKind::created,
                         report::SourceOrder::any, 6, {report::MemoryClass::device, 0, 8},
                         {report::MemoryClass::pinned, 0, 9}) ==
              std::bit_cast<FactWords>(SiteFacts{Api{1},
                                                 report::SiteKind::fill,
                                                 report::Direction::device_to_host,
                                                 report::StreamKind::created,
                                                 report::SourceOrder::any,
                                                 6,
                                                 {report::MemoryClass::device, 0, 8},
                                                 {report::MemoryClass::pinned, 0, 9}}));

// Makes `thread` one of this State's threads. False when it cannot be recorded (counted as lost).
bool attach_thread(State& state, ThreadState& thread, const Caller& caller) noexcept;

// Counters of the site for the calling thread, of calls of that size (report::size_class(); 0: they move nothing); null
// when the call cannot be recorded (counted as lost). errno is kept.
report::CounterSlot* counters_of(State& state, ThreadState& thread, const SiteFacts& facts, std::uint16_t size_class,
                                 const Caller& caller, CallerRule rule) noexcept;

// The same for work that a graph did: the place is that of the site `origin`, which put it into the graph.
report::CounterSlot* counters_of_origin(State& state, ThreadState& thread, const SiteFacts& facts,
                                        std::uint16_t size_class, std::uint32_t origin) noexcept;

// Whether the site's key is the caller alone.
inline __attribute__((always_inline)) bool has_one_frame(const SiteFacts& facts, CallerRule rule) noexcept {
    return (facts.flags & report::kSiteExactStack) == 0 && !rule.is_cuda() &&
           (info(facts.api).side == Side::runtime || !rule.may_hold_runtime());
}

struct CallResult {
    int status;  // the API's return value
    std::uint64_t bytes;
    std::uint64_t start_ns;
    std::uint64_t end_ns;
};
inline __attribute__((always_inline)) void add_call(report::CounterSlot& counters, const CallResult& result) noexcept {
    using report::store;
    const std::uint64_t host = result.end_ns - result.start_ns;
    std::uint64_t& bucket = counters.histogram[report::histogram_bucket(host)];
    store(bucket, bucket + 1);
    store(counters.host_ns, counters.host_ns + host);
    if (host > counters.host_ns_max) {
        store(counters.host_ns_max, host);
    }
    if (counters.first_ns == 0) {
        store(counters.first_ns, result.start_ns);
    }
    store(counters.last_ns, result.start_ns);
    if (result.status != 0) {
        store(counters.failed, counters.failed + 1);
        store(counters.last_error, static_cast<std::uint32_t>(result.status));
        return;
    }
    store(counters.bytes, counters.bytes + result.bytes);
    if (result.bytes < counters.bytes_min) {
        store(counters.bytes_min, result.bytes);
    }
    if (result.bytes > counters.bytes_max) {
        store(counters.bytes_max, result.bytes);
    }
}

}  // namespace pincheck
