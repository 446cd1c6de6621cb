// Why a call held the host, cause by cause: the facts that make it so, and the ones next to them that do not.
#include "interpose/wait_cause.h"

#include <gtest/gtest.h>

#include <ostream>

namespace pincheck {

using report::MemoryClass;
using report::SiteKind;
using report::WaitCause;
using report::WaitEvidence;

namespace {

constexpr PendingWork kIdle{true, false, 0, 0, 3};
constexpr PendingWork kKernel{true, true, 1, 77, 3};
constexpr PendingWork kOther{true, true, 5, 88, 4};
constexpr PendingWork kNotFollowed{};
constexpr std::uint64_t kMiB = 1 << 20;

constexpr PendingWork queue_of(std::uint32_t items) {
    return {true, true, items, 77, 3};
}

HeldCall call_of(SiteKind kind, PendingWork own = kIdle) {
    HeldCall call;
    call.kind = kind;
    call.host_ns = 100'000;
    call.own = own;
    call.joined = kIdle;
    call.device = own;
    return call;
}
HeldCall copy(MemoryClass source, MemoryClass destination, std::uint64_t bytes, PendingWork own = kIdle) {
    HeldCall call = call_of(SiteKind::copy, own);
    call.source = source;
    call.destination = destination;
    call.bytes = bytes;
    call.async = true;
    return call;
}
HeldCall upload(MemoryClass source, std::uint64_t bytes, PendingWork own = kIdle) {
    return copy(source, MemoryClass::device, bytes, own);
}
HeldCall download(MemoryClass destination, std::uint64_t bytes, PendingWork own = kIdle) {
    return copy(MemoryClass::device, destination, bytes, own);
}
template <class Change>
HeldCall with(HeldCall call, Change change) {
    change(call);
    return call;
}

struct Case {
    const char* sentence;
    HeldCall call;
    WaitCause cause;
    WaitEvidence evidence;
    std::uint32_t behind_site = 0;
    std::uintptr_t stream = 0;
    std::uint64_t items = 0;
};
void PrintTo(const Case& one, std::ostream* out) {
    *out << one.sentence;
}

const auto beside = [](HeldCall& call) {
    call.beside_other = true;
    call.other_site = 99;
};

const Case kCases[] = {
    // Pageable copies
    {"a pageable upload into an idle stream is staged", upload(MemoryClass::pageable, 64 * kMiB), WaitCause::staging,
     WaitEvidence::order},
    {"a pageable download from an idle stream is staged", download(MemoryClass::pageable, 4), WaitCause::staging,
     WaitEvidence::order},
    {"where the stream is not followed, what the copy is must do", download(MemoryClass::pageable, 4, kNotFollowed),
     WaitCause::staging, WaitEvidence::call},
    {"a pageable download waits for the work before it, whatever its size", download(MemoryClass::pageable, 4, kKernel),
     WaitCause::earlier_work, WaitEvidence::order, 77, 3},
    {"a pageable upload of 4 MiB waits for it too", upload(MemoryClass::pageable, 4 * kMiB, kKernel),
     WaitCause::earlier_work, WaitEvidence::order, 77, 3},
    {"one of 2 MiB is staged behind it",
     with(upload(MemoryClass::pageable, 2 * kMiB, kKernel), [](HeldCall& call) { call.host_ns = 330'000; }),
     WaitCause::staging, WaitEvidence::order},
    {"one of 4 KiB that took a millisecond found no room to be staged",
     with(upload(MemoryClass::pageable, 4096, kKernel), [](HeldCall& call) { call.host_ns = 1'000'000; }),
     WaitCause::earlier_work, WaitEvidence::call, 77, 3},
    {"host memory of a pool is staged like pageable memory", download(MemoryClass::host_pool, 4, kKernel),
     WaitCause::earlier_work, WaitEvidence::order, 77, 3},
    {"another thread's call changes nothing for a copy that waits by itself",
     with(download(MemoryClass::pageable, 4, kKernel), beside), WaitCause::earlier_work, WaitEvidence::order, 77, 3},

    // The legacy default stream
    {"a pageable download in the legacy stream waits for the blocking streams",
     with(download(MemoryClass::pageable, 4), [](HeldCall& call) { call.joined = kOther; }), WaitCause::legacy_stream,
     WaitEvidence::order, 88, 4},
    {"also with older work of its own",
     with(download(MemoryClass::pageable, 4, kKernel), [](HeldCall& call) { call.joined = kOther; }),
     WaitCause::legacy_stream, WaitEvidence::order, 88, 4},
    {"and so does a graph launch that stages",
     with(call_of(SiteKind::graph_launch, kKernel),
          [](HeldCall& call) {
              call.stages = true;
              call.joined = kOther;
          }),
     WaitCause::legacy_stream, WaitEvidence::order, 88, 4},
    {"an upload of 4 MiB waits for them too",
     with(upload(MemoryClass::pageable, 4 * kMiB), [](HeldCall& call) { call.joined = kOther; }),
     WaitCause::legacy_stream, WaitEvidence::order, 88, 4},
    {"a staged one does not", with(upload(MemoryClass::pageable, 4096), [](HeldCall& call) { call.joined = kOther; }),
     WaitCause::staging, WaitEvidence::order},
    {"a wait for the legacy stream is one for the blocking streams",
     with(call_of(SiteKind::synchronize), [](HeldCall& call) { call.joined = kOther; }), WaitCause::legacy_stream,
     WaitEvidence::order, 88, 4},

    // Managed memory
    {"an asynchronous copy of managed memory waits", upload(MemoryClass::managed, 256, kKernel), WaitCause::managed,
     WaitEvidence::order, 77, 3},
    {"also with nothing before it", download(MemoryClass::managed, 256), WaitCause::managed, WaitEvidence::call},
    {"a synchronous one does as documented",
     with(download(MemoryClass::managed, 256), [](HeldCall& call) { call.async = false; }), WaitCause::synchronous_copy,
     WaitEvidence::call},

    // Copies that are documented to wait
    {"a synchronous copy", with(upload(MemoryClass::pinned, 256), [](HeldCall& call) { call.async = false; }),
     WaitCause::synchronous_copy, WaitEvidence::call},
    {"a synchronous copy behind a kernel",
     with(upload(MemoryClass::pageable, 256, kKernel), [](HeldCall& call) { call.async = false; }),
     WaitCause::synchronous_copy, WaitEvidence::order, 77, 3},

    // Between two places of the host
    {"a synchronous copy between malloc buffers, behind a kernel",
     with(copy(MemoryClass::pageable, MemoryClass::pageable, 256, kKernel), [](HeldCall& call) { call.async = false; }),
     WaitCause::host_to_host, WaitEvidence::order, 77, 3},
    {"an asynchronous one too", copy(MemoryClass::pinned, MemoryClass::pageable, 256), WaitCause::host_to_host,
     WaitEvidence::call},
    {"between page-locked buffers it is queued as any", copy(MemoryClass::pinned, MemoryClass::pinned, 256, kKernel),
     WaitCause::unknown, WaitEvidence::call},

    // The whole device
    {"a release waits for the device", with(call_of(SiteKind::release), [](HeldCall& call) { call.device = kOther; }),
     WaitCause::device_wide, WaitEvidence::order, 88, 4},
    {"a release where nothing is followed",
     with(call_of(SiteKind::release), [](HeldCall& call) { call.device = kNotFollowed; }), WaitCause::device_wide,
     WaitEvidence::call},
    {"a release of page-locked memory of an idle device is the unlocking of pages",
     with(call_of(SiteKind::release), [](HeldCall& call) { call.page_locks = true; }), WaitCause::pinning,
     WaitEvidence::order},
    {"a release of device memory of an idle device has no cause", call_of(SiteKind::release), WaitCause::unknown,
     WaitEvidence::call},

    // Page-locking
    {"an allocation that page-locks",
     with(call_of(SiteKind::allocate, kKernel), [](HeldCall& call) { call.page_locks = true; }), WaitCause::pinning,
     WaitEvidence::call},
    {"one that does not", call_of(SiteKind::allocate, kKernel), WaitCause::unknown, WaitEvidence::call},

    // Full queues
    {"a launch behind 1,021", call_of(SiteKind::launch, queue_of(1021)), WaitCause::queue_full, WaitEvidence::order, 77,
     3, 1021},
    {"a launch behind 900", call_of(SiteKind::launch, queue_of(900)), WaitCause::unknown, WaitEvidence::call},
    {"an event record behind 1,021, which takes no slot",
     with(call_of(SiteKind::launch, queue_of(1021)), [](HeldCall& call) { call.takes_slot = false; }),
     WaitCause::unknown, WaitEvidence::call},
    {"a page-locked copy behind 1,021", upload(MemoryClass::pinned, 64, queue_of(1021)), WaitCause::queue_full,
     WaitEvidence::order, 77, 3, 1021},
    {"a memset behind 1,021", call_of(SiteKind::fill, queue_of(1021)), WaitCause::queue_full, WaitEvidence::order, 77,
     3, 1021},
    {"a graph launch behind 1,021", call_of(SiteKind::graph_launch, queue_of(1021)), WaitCause::queue_full,
     WaitEvidence::order, 77, 3, 1021},
    {"a full queue decides before a first use",
     with(call_of(SiteKind::launch, queue_of(1021)), [](HeldCall& call) { call.first_use = true; }),
     WaitCause::queue_full, WaitEvidence::order, 77, 3, 1021},
    {"a pageable download waits for the work, not for the queue", download(MemoryClass::pageable, 4, queue_of(1021)),
     WaitCause::earlier_work, WaitEvidence::order, 77, 3},

    // Lazy loading
    {"a first launch with little pending",
     with(call_of(SiteKind::launch, kKernel), [](HeldCall& call) { call.first_use = true; }), WaitCause::module_loading,
     WaitEvidence::order},
    {"a first launch into a stream that is not followed",
     with(call_of(SiteKind::launch, kNotFollowed), [](HeldCall& call) { call.first_use = true; }),
     WaitCause::module_loading, WaitEvidence::call},
    {"a later launch", call_of(SiteKind::launch, kKernel), WaitCause::unknown, WaitEvidence::call},
    {"a module is loaded", call_of(SiteKind::module_load), WaitCause::module_loading, WaitEvidence::call},

    // Waits that were asked for
    {"a wait for work", call_of(SiteKind::synchronize, kKernel), WaitCause::requested, WaitEvidence::order, 77, 3},
    {"a wait for nothing", call_of(SiteKind::synchronize), WaitCause::idle_sync, WaitEvidence::order, 0, 3},
    {"a wait in a stream that is not followed", call_of(SiteKind::synchronize, kNotFollowed), WaitCause::requested,
     WaitEvidence::call},
    {"a wait for nothing that failed", with(call_of(SiteKind::synchronize), [](HeldCall& call) { call.status = 700; }),
     WaitCause::unknown, WaitEvidence::order, 0, 3},
    {"work that holds no item is work", call_of(SiteKind::synchronize, {true, true, 0, 0, 3}), WaitCause::requested,
     WaitEvidence::order, 0, 3},

    // Another thread's call
    {"a page-locked copy beside another thread's call", with(upload(MemoryClass::pinned, 64, kKernel), beside),
     WaitCause::lock, WaitEvidence::call, 99},
    {"a launch beside another thread's call", with(call_of(SiteKind::launch), beside), WaitCause::lock,
     WaitEvidence::call, 99},
    {"a query beside it waits for that too", with(call_of(SiteKind::query), beside), WaitCause::lock,
     WaitEvidence::call, 99},
    {"a page-locked copy alone", upload(MemoryClass::pinned, 64, kKernel), WaitCause::unknown, WaitEvidence::call},

    // Graphs
    {"a launch of a graph with pageable copies behind a kernel",
     with(call_of(SiteKind::graph_launch, kKernel), [](HeldCall& call) { call.stages = true; }),
     WaitCause::earlier_work, WaitEvidence::order, 77, 3},
    {"into an idle stream it stages them",
     with(call_of(SiteKind::graph_launch), [](HeldCall& call) { call.stages = true; }), WaitCause::staging,
     WaitEvidence::order},
    {"a launch of a graph without", call_of(SiteKind::graph_launch, kKernel), WaitCause::unknown, WaitEvidence::call},
    {"a captured pageable copy copies nothing",
     with(download(MemoryClass::pageable, 4, kKernel), [](HeldCall& call) { call.captured = true; }),
     WaitCause::unknown, WaitEvidence::call},
};

class Cause : public testing::TestWithParam<Case> {};

TEST_P(Cause, isWhatTheFactsSay) {
    const Case& expected = GetParam();
    const WaitVerdict verdict = cause_of(expected.call);
    EXPECT_EQ(verdict.cause, expected.cause);
    EXPECT_EQ(verdict.evidence, expected.evidence);
    EXPECT_EQ(verdict.behind_site, expected.behind_site);
    EXPECT_EQ(verdict.stream, expected.stream);
    EXPECT_EQ(verdict.items, expected.items);
}

INSTANTIATE_TEST_SUITE_P(Table, Cause, testing::ValuesIn(kCases));

}  // namespace
}  // namespace pincheck
