#include "fault_server.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "futex.h"
#include "small_file.h"
#include "stack_record.h"
#include "tool_thread.h"
#include "trap_session.h"

namespace pincheck {
namespace {

constexpr std::size_t kThreadStack = 128 * 1024;
// A thread that does not take the signal is stopped, or has not run yet.
constexpr std::uint64_t kAnswerNs = 1'000'000'000;
constexpr std::uint64_t kAnsweringNs = 2'000'000'000;
constexpr int kMostLooks = 1000;

State* g_state = nullptr;
AccessTrap* g_trap = nullptr;

// One at a time. Whoever moves `step` from `asked` has it.
struct Request {
    enum : std::uint32_t { idle, asked, answering, answered };
    std::atomic<std::uint32_t> step{idle};
    std::uintptr_t instruction = 0;
    TrapAccess who;
};
Request g_request;

// What a thread does that waits at a fault: by /proc/self/task/ID/syscall, which is "-1 STACK INSTRUCTION" outside of
// system calls, else "NUMBER ARGUMENTS STACK INSTRUCTION".
struct Stopped {
    bool is_known = false;
    long system_call = -1;
    std::uintptr_t instruction = 0;
};
Stopped where_is(std::uint32_t thread) noexcept {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/self/task/%u/syscall", thread);
    // "running" until it has gone to sleep.
    for (int look = 0; look < kMostLooks; ++look) {
        char text[256];
        const std::size_t used = read_file(path, text, sizeof text - 1);
        text[used] = '\0';
        char* at = nullptr;
        const long number = std::strtol(text, &at, 10);
        if (at != text) {
            const char* last = std::strrchr(text, ' ');
            return {true, number, last != nullptr ? std::strtoul(last, nullptr, 16) : 0};
        }
        if (used == 0) {
            break;
        }
        sched_yield();
    }
    return {};
}

bool takes_signal(std::uint32_t thread) noexcept {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/self/task/%u/status", thread);
    char text[8192];
    const std::size_t used = read_file(path, text, sizeof text - 1);
    text[used] = '\0';
    const char* line = std::strstr(text, "\nSigBlk:");
    if (line == nullptr) {
        return false;
    }
    const unsigned long long blocked = std::strtoull(line + std::strlen("\nSigBlk:"), nullptr, 16);
    return (blocked >> (SIGSEGV - 1) & 1) == 0;
}

// False: it did not answer.
bool ask_for_stack(std::uint32_t thread, std::uintptr_t instruction, TrapAccess& access) noexcept {
    if (!has_trap_signal() || !takes_signal(thread)) {
        return false;
    }
    g_request.step.store(Request::asked, std::memory_order_release);
    siginfo_t info{};
    info.si_signo = SIGSEGV;
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = &g_request;
    bool answered =
        syscall(SYS_rt_tgsigqueueinfo, info.si_pid, thread, SIGSEGV, &info) == 0 &&
        futex_wait_for(g_request.step, kAnswerNs, [](std::uint32_t step) { return step != Request::asked; });
    std::uint32_t step = Request::asked;
    if (!answered && g_request.step.compare_exchange_strong(step, Request::idle)) {
        return false;
    }
    answered = futex_wait_for(g_request.step, kAnsweringNs, [](std::uint32_t now) { return now == Request::answered; });
    // Another signal's handler may have run first, and be where the thread is now.
    answered = answered && g_request.instruction == instruction;
    if (answered) {
        access.site = g_request.who.site;
        access.thread = g_request.who.thread;
        access.is_nobodys = g_request.who.is_nobodys;
    }
    g_request.step.store(Request::idle, std::memory_order_release);
    return answered;
}

// What the kernel calls a system call that writes into memory (x86-64).
const char* system_call_name(long number) noexcept {
    constexpr struct {
        long number;
        const char* name;
    } kNames[] = {{SYS_read, "read"},
                  {SYS_pread64, "pread64"},
                  {SYS_readv, "readv"},
                  {SYS_preadv, "preadv"},
                  {SYS_preadv2, "preadv2"},
                  {SYS_recvfrom, "recvfrom"},
                  {SYS_recvmsg, "recvmsg"},
                  {SYS_recvmmsg, "recvmmsg"},
                  {SYS_getrandom, "getrandom"},
                  {SYS_ioctl, "ioctl"},
                  {SYS_getdents64, "getdents64"},
                  {SYS_io_uring_enter, "io_uring_enter"},
                  {SYS_process_vm_readv, "process_vm_readv"}};
    for (const auto& entry : kNames) {
        if (entry.number == number) {
            return entry.name;
        }
    }
    return nullptr;
}

// Called again for each such access: strings are not told apart by the report.
std::uint32_t system_call_id(long number) noexcept {
    constexpr long kMost = 512;
    static std::uint32_t ids[kMost];  // of the one thread that comes here
    if (number < 0 || number >= kMost) {
        return 0;
    }
    if (ids[number] == 0) {
        char text[32];
        const char* name = system_call_name(number);
        std::snprintf(text, sizeof text, "%s%.0ld", name != nullptr ? name : "system call ",
                      name != nullptr ? 0 : number);
        ids[number] = g_state->image.add_string(text);
    }
    return ids[number];
}

void serve(const WriteFaults::Fault& fault) noexcept {
    TrapAccess access;
    access.address = fault.address;
    access.writes = true;
    access.when_ns = now_ns();
    if (g_trap->look(fault.address, 1, true) == AccessTrap::Target::minded) {
        const Stopped stopped = where_is(fault.thread);
        if (stopped.is_known && stopped.system_call >= 0) {
            access.in_system_call = true;
            access.call = system_call_id(stopped.system_call);
        } else if (stopped.is_known && !ask_for_stack(fault.thread, stopped.instruction, access)) {
            Backtrace trace;
            trace.addresses[0] = stopped.instruction + 1;
            trace.count = 1;
            access.site = access_site(*g_state, trace);
        }
    }
    g_trap->release(access);
}

// All signals are blocked. The descriptor lives on in a table of this thread's own: whatever the program closes, stores
// that wait are answered.
void* serve_all(void*) {
    prctl(PR_SET_NAME, "pincheck-trap");
    constexpr unsigned kUnshare = 1u << 1;  // CLOSE_RANGE_UNSHARE
    const auto kept = static_cast<unsigned>(g_trap->faults().number());
    if (kept > 0 && syscall(SYS_close_range, 0u, kept - 1, kUnshare) == 0) {
        syscall(SYS_close_range, kept + 1, ~0u, 0u);
    }
    WriteFaults::Fault fault;
    while (g_trap->faults().next(fault)) {
        serve(fault);
    }
    return nullptr;
}

}  // namespace

bool is_stack_request(const siginfo_t& info) noexcept {
    return info.si_code == SI_QUEUE && info.si_value.sival_ptr == &g_request;
}

void answer_stack_request(std::uintptr_t instruction, const TrapAccess& who) noexcept {
    std::uint32_t step = Request::asked;
    if (!g_request.step.compare_exchange_strong(step, Request::answering)) {
        return;  // too late
    }
    g_request.instruction = instruction;
    g_request.who = who;
    g_request.step.store(Request::answered, std::memory_order_release);
    futex_wake(g_request.step);
}

bool serve_faults(State& state, AccessTrap& trap) noexcept {
    g_state = &state;
    g_trap = &trap;
    return start_tool_thread(kThreadStack, &serve_all, nullptr);
}

}  // namespace pincheck
