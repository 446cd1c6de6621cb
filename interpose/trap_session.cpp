#include "trap_session.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "clock.h"
#include "elf_objects.h"
#include "fault_server.h"
#include "log.h"
#include "lookup_route.h"
#include "real.h"
#include "small_file.h"
#include "stack_record.h"
#include "trap/trap_library.h"
#include "watch_budget.h"

// Where this library begins and ends (defined by the linker, in each object its own).
extern "C" {
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));
}

namespace pincheck {
namespace {

State* g_state = nullptr;
AccessTrap* g_trap = nullptr;
const TrapLibrary* g_library = nullptr;

// The last fault of a thread: one that comes again and again, though nothing was guarded meanwhile, is not ours.
struct LastFault {
    std::uintptr_t address;
    std::uintptr_t instruction;
    std::uint64_t arms;
    std::uint32_t times;
};
constexpr std::uint32_t kMostRetries = 16;
#ifdef __clang__
thread_local LastFault t_last __attribute__((tls_model("initial-exec")));
#else
thread_local constinit LastFault t_last __attribute__((tls_model("initial-exec"))) = {};
#endif

bool is_ours(std::uintptr_t address) noexcept {
    return address >= reinterpret_cast<std::uintptr_t>(__ehdr_start) &&
           address < reinterpret_cast<std::uintptr_t>(_end);
}

// The driver copies by the processor too, and in the order of the stream: in its own code, or in the C library's for
// it.
bool is_drivers(const Backtrace& trace) noexcept {
    constexpr std::size_t kMostCallees = 3;
    const Driver* known = driver();
    for (std::size_t i = 0; known != nullptr && i < trace.count && i < kMostCallees; ++i) {
        if (known->contains(reinterpret_cast<void*>(trace.addresses[i]))) {
            return true;
        }
    }
    return false;
}

std::uint32_t own_thread(const State& state) noexcept {
    return t_thread.shard != nullptr && t_thread.generation == state.generation ? t_thread.shard->slot->thread : 0;
}

void take_stack(const void* context, Backtrace& trace) noexcept {
    const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
    const Registers at{static_cast<std::uintptr_t>(registers[REG_RIP]), static_cast<std::uintptr_t>(registers[REG_RSP]),
                       static_cast<std::uintptr_t>(registers[REG_RBP])};
    const std::size_t depth = options().stacks ? options().depth : 1;
    trace.unwound = walk_stack(at, depth, t_thread.stack, trace.addresses, trace.count) || trace.count > 1;
    trace.cut = trace.count == depth;
}

void say_who(const Backtrace& trace, TrapAccess& access) noexcept {
    access.is_nobodys = is_ours(trace.addresses[0] - 1) || is_drivers(trace);
    if (!access.is_nobodys) {
        access.site = access_site(*g_state, trace);
        access.thread = own_thread(*g_state);
    }
}

bool on_signal(int, siginfo_t* info, void* context) {
    const KeepErrno keep;
    if (is_stack_request(*info)) {
        Backtrace trace;
        take_stack(context, trace);
        TrapAccess access;
        say_who(trace, access);
        answer_stack_request(trace.addresses[0] - 1, access);
        return true;
    }
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    if (info->si_code != SEGV_ACCERR || g_trap->is_elsewhere(address, 1)) {
        return false;
    }
    const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
    const auto instruction = static_cast<std::uintptr_t>(registers[REG_RIP]);
    const std::uint64_t arms = g_trap->arms();
    LastFault& last = t_last;
    const bool again = last.address == address && last.instruction == instruction && last.arms == arms;
    last = {address, instruction, arms, again ? last.times + 1 : 0};
    constexpr long long kWrite = 2;  // of a page fault's error code (x86-64)
    TrapAccess access;
    access.address = address;
    access.writes = (registers[REG_ERR] & kWrite) != 0;
    access.when_ns = now_ns();
    const AccessTrap::Target target = g_trap->look(address, 1, access.writes);
    if (target == AccessTrap::Target::foreign || last.times >= kMostRetries) {
        return false;
    }
    if (target == AccessTrap::Target::minded) {
        Backtrace trace;
        take_stack(context, trace);
        say_who(trace, access);
    }
    g_trap->release(access);
    return true;
}

// Ids of the names of functions; these live forever, so their addresses tell them apart.
std::uint32_t name_id(const char* function) noexcept {
    static std::atomic<const char*> names[128];
    static std::atomic<std::uint32_t> ids[128];
    for (std::size_t i = 0; i < 128; ++i) {
        const char* there = names[i].load(std::memory_order_acquire);
        if (there == function && ids[i].load(std::memory_order_acquire) != 0) {
            return ids[i].load(std::memory_order_acquire);
        }
        if (there == nullptr && names[i].compare_exchange_strong(there, function)) {
            const std::uint32_t id = g_state->image.add_string(function);
            ids[i].store(id, std::memory_order_release);
            return id;
        }
    }
    return g_state->image.add_string(function);
}

std::uint32_t before_access(const SystemAccess& call, std::uint32_t held) {
    if (g_trap->is_elsewhere(call.address, call.bytes) || is_ours(call.return_address)) {
        return held;
    }
    const KeepErrno keep;
    const std::uint32_t holding = g_trap->hold(held, call.address, call.bytes);
    TrapAccess access;
    access.address = call.address;
    access.bytes = call.bytes;
    access.writes = call.writes;
    access.in_system_call = true;
    access.when_ns = now_ns();
    const AccessTrap::Target target = g_trap->look(call.address, call.bytes, call.writes);
    if (target == AccessTrap::Target::foreign) {
        return holding;
    }
    if (target == AccessTrap::Target::minded) {
        Backtrace trace;
        unwind(Caller{call.return_address, call.frame}, options().stacks ? options().depth : 1, trace);
        say_who(trace, access);
        access.call = name_id(call.function);
    }
    g_trap->release(access);
    return holding;
}

void after_access(std::uint32_t held) {
    const KeepErrno keep;
    g_trap->let_go(held);
}

void before_change(std::uintptr_t address, std::size_t bytes, bool unmapped) {
    if (!g_trap->is_elsewhere(address, bytes)) {
        const KeepErrno keep;
        g_trap->give_up(address, bytes, unmapped);
    }
}

constexpr TrapUser kUser = {&on_signal, &before_access, &after_access, &before_change};

bool is_traced() noexcept {
    char text[8192];
    const std::size_t used = read_file("/proc/self/status", text, sizeof(text) - 1);
    text[used] = '\0';
    const char* line = std::strstr(text, "\nTracerPid:");
    return line != nullptr && std::strtol(line + std::strlen("\nTracerPid:"), nullptr, 10) != 0;
}

// Rings whose descriptors are gone are not seen.
bool uses_io_uring() noexcept {
    const int folder = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        return false;
    }
    bool found = false;
    alignas(8) char entries[2048];
    for (long got; (got = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0;) {
        // struct linux_dirent64 (getdents(2)): the record's length at 16, the name at 19.
        for (long at = 0; at < got;) {
            std::uint16_t length;
            std::memcpy(&length, entries + at + 16, sizeof length);
            char target[64];
            const ssize_t size = readlinkat(folder, entries + at + 19, target, sizeof target - 1);
            target[size > 0 ? size : 0] = '\0';
            found |= std::strcmp(target, "anon_inode:[io_uring]") == 0;
            at += length;
        }
    }
    syscall(SYS_close, folder);
    return found;
}

}  // namespace

const char* refusal_text(TrapRefusal refusal) noexcept {
    switch (refusal) {
        case TrapRefusal::none:
            return "accesses are trapped";
        case TrapRefusal::off:
            return "not asked for";
        case TrapRefusal::no_library:
            return "libpincheck-trap.so is not preloaded, or is another version";
        case TrapRefusal::seccomp_filter:
            return "a seccomp filter is in force";
        case TrapRefusal::traced:
            return "a debugger is attached, which would stop at each access";
        case TrapRefusal::io_uring:
            return "the process uses io_uring, whose reads and writes of guarded memory would fail";
        case TrapRefusal::no_signal:
            return "SIGSEGV cannot be handled in every thread";
        case TrapRefusal::no_resources:
            return "no memory or no thread is left";
    }
    return "unknown";
}

TrapRefusal open_trap(State& state, AccessTrap& trap) noexcept {
    if (has_seccomp_filter()) {
        return TrapRefusal::seccomp_filter;
    }
    if (is_traced()) {
        return TrapRefusal::traced;
    }
    const auto* library = static_cast<const TrapLibrary*>(libc_dlsym(RTLD_DEFAULT, kTrapLibrarySymbol));
    if (library == nullptr || library->version != kTrapVersion) {
        return TrapRefusal::no_library;
    }
    if (uses_io_uring()) {
        return TrapRefusal::io_uring;
    }
    g_state = &state;
    g_trap = &trap;
    g_library = library;
    if (!trap.open(true, true)) {
        return TrapRefusal::no_resources;
    }
    if (!library->attach(kUser) || !library->every_other_thread_takes_signal()) {
        return TrapRefusal::no_signal;
    }
    if (trap.traps(WatchedSide::source) && !serve_faults(state, trap)) {
        trap.faults().close();
    }
    return TrapRefusal::none;
}

bool may_sample_reads() noexcept {
    static std::atomic<std::uint64_t> asked{0};
    static std::atomic<bool> may{true};
    // Once it was so, it stays: what was handed over may still be under way.
    if (may.load(std::memory_order_relaxed) &&
        WatchBudget::is_watched_by_count(asked.fetch_add(1, std::memory_order_relaxed) + 1)) {
        bool passes_by = false;
        for_each_object([&](const ElfObject& object) {
            passes_by = starts_with(object.name(), "libaio.so") || starts_with(object.name(), "liburing.so");
            return passes_by;
        });
        if (passes_by || uses_io_uring()) {
            may.store(false, std::memory_order_relaxed);
        }
    }
    return may.load(std::memory_order_relaxed);
}

bool has_trap_signal() noexcept {
    return g_library != nullptr && g_library->has_signal();
}

}  // namespace pincheck
