// What the parts of the session share: opening (cupti_open.cpp), the tool's thread (cupti_session.cpp) and giving CUPTI
// to the program (cupti_leave.cpp).
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "cupti_budget.h"
#include "cupti_buffers.h"
#include "cupti_calls.h"
#include "cupti_clock.h"
#include "cupti_library.h"
#include "cupti_records.h"
#include "state.h"

namespace pincheck::cupti {

enum Phase : std::uint32_t {
    kClosed,   // also where CUPTI is missing, refused, taken or not wanted
    kOpening,  // the thread that starts the tool opens it
    kOpen,     // CUPTI records; the tool's thread flushes, reads and matches
    kEnded,    // the process is ending: no call of ours any more
    kLeaving,  // a thread of the program gives CUPTI back
    kGone,     // CUPTI is the program's. Never opened again.
};

// Device memory: buffers of 0.8 MB, two at first and sixteen at most in a context, 12.8 MB (CUPTI's own: 3.2 MB, three
// and 250). One holds the times of 25,000 copies that are not done yet (32 bytes each: "CUPTI_ACTIVITY_ATTR_DEVICE_
// BUFFER_SIZE"); past the limit records come without times and are counted.
struct Attribute {
    std::uint32_t id;
    std::size_t value;
};
inline constexpr Attribute kAttributes[] = {
    {kDeviceBufferPreallocate, 2}, {kDeviceBufferSize, 800'000}, {kDeviceBufferPoolLimit, 16}};
inline constexpr std::size_t kAttributeCount = sizeof(kAttributes) / sizeof(kAttributes[0]);

struct Session {
    Session(State& owner, CallTable& table) noexcept : state(&owner), calls(&table) {}

    State* state;  // a fork's child has another
    pid_t pid = 0;
    CallTable* calls;
    Library library;
    std::uint32_t version = 0;
    void* subscriber = nullptr;
    void (*wake)() = nullptr;
    std::size_t attributes_before[kAttributeCount] = {};
    bool attribute_set[kAttributeCount] = {};

    BufferPool buffers;
    ClockPairs clock;
    std::atomic<std::uint64_t> dropped{0};
    std::atomic<std::uint32_t> inside{0};        // 1: the tool's thread is in a call of CUPTI's
    std::atomic<std::uint32_t> flush_wanted{0};  // 1: the tool's thread was woken for that
    std::atomic<std::uint64_t> flushed_ns{0};
    std::atomic<std::uint32_t> exit_wanted{0};
    std::atomic<std::uint32_t> exit_done{0};
    std::atomic<bool> exit_registered{false};

    // The tool's thread alone.
    RecordReader* reader = nullptr;
    Budget budget;
    bool recording = true;
    bool sampled = false;
    bool flushed_at_exit = false;
    std::uint64_t window_start = 0;
    std::uint64_t reading_ns = 0;
    RecordCounts window_counts;  // at the window's start
    std::uint64_t told_lost = 0;
    std::uint64_t told_unhooked = 0;
};

// Changed by futex_wake() after each store that ends kOpening or kLeaving.
extern std::atomic<std::uint32_t> g_phase;
// The process that went to kOpening: a fork's child would wait for its parent's thread.
extern std::atomic<pid_t> g_opener;
// Calls between hand_over() and handed_over(). Counted before the phase is read there, and read after it was set to
// kOpening: either the program's call waits for the session, which it then is given, or no session is opened.
extern std::atomic<std::uint32_t> g_program_calls;
// The program took CUPTI before a session was open.
extern std::atomic<bool> g_taken;
// Set once, never freed.
extern std::atomic<Session*> g_session;

// Says it in the report.
void tell(State& state, report::CoverageKind kind, const char* text) noexcept;

// The kinds that make CUPTI's cost, with the callbacks that their matching needs. kSuccess, or what was refused.
int record_work(const Session& session, bool enable) noexcept;
void restore_attributes(Session& session) noexcept;
void add_clock_pair(Session& session) noexcept;
// With kFlushForced records of unfinished work come too, without their times.
void flush(Session& session, std::uint32_t flag) noexcept;

// This process's session, if any: not a fork's child.
Session* own_session() noexcept;

}  // namespace pincheck::cupti
