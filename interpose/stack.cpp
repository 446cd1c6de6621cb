#include "stack.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <initializer_list>

#include "elf_objects.h"
#include "log.h"
#include "lookup_route.h"
#include "stack_walk.h"
#include "thread_state.h"
#include "unwinder_memory.h"

namespace pincheck {
namespace {

// libunwind's functions and types; the numbers are part of its library's ABI (libunwind-x86_64.h).
using Context = ucontext_t;
struct alignas(16) Cursor {
    std::uint64_t words[127];
};
constexpr int kInstructionPointer = 16;
struct Library {
    int (*backtrace)(void**, int) = nullptr;
    int (*get_context)(Context*) = nullptr;
    int (*init_local)(Cursor*, Context*) = nullptr;
    int (*step)(Cursor*) = nullptr;
    int (*get_register)(Cursor*, int, std::uint64_t*) = nullptr;
    void (*flush_cache)(void*, std::uint64_t, std::uint64_t) = nullptr;
    void** address_space = nullptr;

    bool can_step() const noexcept {
        return get_context != nullptr && init_local != nullptr && step != nullptr && get_register != nullptr &&
               flush_cache != nullptr && address_space != nullptr;
    }
};

std::atomic<Unwinder> g_state{Unwinder::not_opened};
Library g_library;
std::atomic<std::uint64_t> g_unmapped{0};  // objects, when libunwind's cache was emptied last
std::uint64_t g_unmapped_at_start = 0;
char g_problem[256] = "";

constexpr const char* kLibrary = "libunwind.so.8";
constexpr std::size_t kOwnFrames = 4;
constexpr std::size_t kMaxOwnFrames = 16;

void* open_beside_us() noexcept {
    Dl_info self;
    char path[512];
    if (dladdr(reinterpret_cast<void*>(&open_beside_us), &self) == 0 || self.dli_fname == nullptr) {
        return nullptr;
    }
    const char* slash = std::strrchr(self.dli_fname, '/');
    const int folder = slash != nullptr ? static_cast<int>(slash - self.dli_fname) : 0;
    if (folder == 0 || std::snprintf(path, sizeof(path), "%.*s/%s", folder, self.dli_fname, kLibrary) >=
                           static_cast<int>(sizeof(path))) {
        return nullptr;
    }
    return dlopen(path, RTLD_LAZY | RTLD_LOCAL);
}

template <class F>
void find_into(F& function, void* library, const char* name) noexcept {
    function = reinterpret_cast<F>(libc_dlsym(library, name));
}

void find_functions(void* library) noexcept {
    find_into(g_library.get_context, library, "_Ux86_64_getcontext");
    find_into(g_library.init_local, library, "_ULx86_64_init_local");
    find_into(g_library.step, library, "_ULx86_64_step");
    find_into(g_library.get_register, library, "_ULx86_64_get_reg");
    find_into(g_library.flush_cache, library, "_Ux86_64_flush_cache");
    find_into(g_library.address_space, library, "_ULx86_64_local_addr_space");
}

// unw_backtrace, more slowly, and without what it remembers.
__attribute__((noinline)) int step_through(void** frames, int size) noexcept {
    if (!g_library.can_step()) {
        return 0;
    }
    Context context;
    Cursor cursor;
    if (g_library.get_context(&context) != 0 || g_library.init_local(&cursor, &context) != 0) {
        return 0;
    }
    int count = 0;
    std::uint64_t address = 0;
    while (count < size && g_library.step(&cursor) > 0 &&
           g_library.get_register(&cursor, kInstructionPointer, &address) == 0) {
        frames[count++] = reinterpret_cast<void*>(address);
    }
    return count;
}

// unw_backtrace keeps what it found out about each return address, in every thread, and never looks whether that code
// is still there: after dlclose it goes by the tables of a library that is gone, and was seen to crash (1.6.2). From
// the first time on that an object is unmapped, stacks are gone through step by step; what is kept then can be
// forgotten.
int library_frames(void** frames, int size) noexcept {
    const std::uint64_t unmapped = objects_unmapped();
    if (unmapped == g_unmapped_at_start) {
        return g_library.backtrace(frames, size);
    }
    if (g_unmapped.exchange(unmapped) != unmapped && g_library.can_step()) {
        g_library.flush_cache(*g_library.address_space, 0, 0);
    }
    return step_through(frames, size);
}

// Frames from `caller` on, where libunwind finds its way to it.
__attribute__((noinline)) bool unwind_by_library(const Caller& caller, std::size_t depth, Backtrace& trace) noexcept {
    const KeepErrno keep;  // frames without unwind tables cost system calls that fail
    // The tool's own frames come first: four in optimised builds, more without inlining.
    void* frames[kMaxDepth + kMaxOwnFrames];
    std::size_t count = 0;
    std::size_t first = 0;
    for (const std::size_t own : {kOwnFrames, kMaxOwnFrames}) {
        const int found = library_frames(frames, static_cast<int>(depth + own));
        count = static_cast<std::size_t>(found > 0 ? found : 0);
        first = 0;
        while (first < count && reinterpret_cast<std::uintptr_t>(frames[first]) != caller.return_address) {
            ++first;
        }
        // Enough frames beyond the caller, or no more to be had.
        if (first < count && (count - first >= depth || count < depth + own)) {
            break;
        }
    }
    if (first == count) {
        return false;  // the unwinder lost its way before it reached the caller
    }
    trace.count = 0;
    for (std::size_t i = first; i < count && trace.count < depth; ++i) {
        const auto address = reinterpret_cast<std::uintptr_t>(frames[i]);
        if (address == 0) {
            break;
        }
        trace.addresses[trace.count++] = address;
    }
    trace.cut = count - first >= depth;
    return true;
}

}  // namespace

void open_unwinder() noexcept {
    Unwinder expected = Unwinder::not_opened;
    if (!g_state.compare_exchange_strong(expected, Unwinder::opening)) {
        return;
    }
    const KeepErrno keep;
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    void* library = open_beside_us();
    if (library == nullptr) {
        library = dlopen(kLibrary, RTLD_LAZY | RTLD_LOCAL);
    }
    void* function = library != nullptr ? libc_dlsym(library, "unw_backtrace") : nullptr;
    if (function == nullptr) {
        const char* why = dlerror();
        std::snprintf(g_problem, sizeof(g_problem), "%s", why != nullptr ? why : "unw_backtrace is missing");
    }
    if (function != nullptr) {
        replace_unwinder_pipe(function);
        find_functions(library);
    }
    g_library.backtrace = reinterpret_cast<int (*)(void**, int)>(function);
    g_unmapped_at_start = objects_unmapped();
    g_state.store(function != nullptr ? Unwinder::ready : Unwinder::missing, std::memory_order_release);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Unwinder unwinder() noexcept {
    return g_state.load(std::memory_order_acquire);
}
const char* unwinder_problem() noexcept {
    return g_problem;
}

void unwind(const Caller& caller, std::size_t depth, Backtrace& trace) noexcept {
    StackWords words;
    unwind(caller, depth, trace, words);
}

void unwind(const Caller& caller, std::size_t depth, Backtrace& trace, StackWords& words) noexcept {
    words.count = 0;
    depth = depth > kMaxDepth ? kMaxDepth : depth;
    trace.addresses[0] = caller.return_address;
    trace.count = 1;
    trace.unwound = false;
    trace.cut = false;
    if (depth <= 1) {
        return;
    }
    if (walk_stack(caller, depth, t_thread.stack, trace.addresses, trace.count, words)) [[likely]] {
        trace.unwound = true;
        trace.cut = trace.count == depth;
        return;
    }
    if (unwinder() == Unwinder::ready && unwind_by_library(caller, depth, trace)) {
        trace.unwound = true;
        return;
    }
    trace.unwound = trace.count > 1;
    trace.cut = trace.unwound;
}

}  // namespace pincheck
