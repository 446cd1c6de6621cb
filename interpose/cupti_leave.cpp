// Giving CUPTI to the program.
#include <sched.h>
#include <unistd.h>

#include <cstdio>

#include "cupti_session.h"
#include "cupti_state.h"
#include "elf_objects.h"
#include "futex.h"
#include "log.h"

namespace pincheck::cupti {
namespace {

// Nobody waits longer for a call of ours; then the program goes on.
constexpr std::uint64_t kOpeningNs = 500'000'000;
constexpr std::uint64_t kCallNs = 2'000'000'000;
constexpr std::uint64_t kBuffersNs = 200'000'000;

// The object that `address` lies in, for a report.
void name_of_object(std::uintptr_t address, char* name, std::size_t size) noexcept {
    std::snprintf(name, size, "the program");
    for_each_object([&](const ElfObject& object) {
        if (!object.contains(address)) {
            return false;
        }
        if (object.path[0] != '\0') {
            std::snprintf(name, size, "%s", base_name(object.path));
        }
        return true;
    });
}

void give_back(Session& session) noexcept {
    const Functions& cupti = session.library.functions;
    // The tool's thread may be in a flush; CUPTI's own locks are not ours to wait for without end.
    futex_wait_for(session.inside, kCallNs, [](std::uint32_t inside) { return inside == 0; });
    record_work(session, false);
    cupti.activity_disable(kKindOverhead);
    // Its buffer callbacks would be given our buffers (measured).
    const std::uint64_t deadline = now_ns() + kBuffersNs;
    do {
        flush(session, kFlushForced);
    } while (session.buffers.outstanding() != 0 && now_ns() < deadline && sched_yield() == 0);
    restore_attributes(session);
    cupti.unsubscribe(session.subscriber);
}

}  // namespace

void hand_over(const char* function, std::uintptr_t caller) noexcept {
    const KeepErrno keep;
    g_program_calls.fetch_add(1);
    // Another thread may be about to subscribe.
    if (g_opener.load() == getpid()) {
        futex_wait_for(g_phase, kOpeningNs, [](std::uint32_t phase) { return phase != kOpening; });
    }
    Session* session = own_session();
    if (session == nullptr) {
        return;
    }
    std::uint32_t expected = kOpen;
    if (!g_phase.compare_exchange_strong(expected, kLeaving) &&
        (expected != kEnded || !g_phase.compare_exchange_strong(expected, kLeaving))) {
        // Somebody else is at it, or it is done.
        futex_wait_for(g_phase, kCallNs, [](std::uint32_t phase) { return phase != kLeaving; });
        return;
    }
    const NotCancelled whole;
    give_back(*session);
    char object[256];
    char text[512];
    name_of_object(caller, object, sizeof(object));
    std::snprintf(text, sizeof(text), "%s took CUPTI over (%s)", object, function);
    tell(*session->state, report::CoverageKind::no_device_times, text);
    g_phase.store(kGone);
    futex_wake(g_phase);
    session->wake();
}

void handed_over(bool succeeded) noexcept {
    if (succeeded) {
        g_taken.store(true);
    }
    g_program_calls.fetch_sub(1);
}

}  // namespace pincheck::cupti
