#include "stack.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <initializer_list>

#include "log.h"
#include "lookup_route.h"
#include "unwinder_memory.h"

namespace pincheck {
namespace {

using UnwBacktrace = int (*)(void**, int);

std::atomic<Unwinder> g_state{Unwinder::not_opened};
UnwBacktrace g_backtrace = nullptr;
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
    }
    g_backtrace = reinterpret_cast<UnwBacktrace>(function);
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
    trace.addresses[0] = caller.return_address;
    trace.count = 1;
    trace.unwound = false;
    trace.cut = false;
    depth = depth > kMaxDepth ? kMaxDepth : depth;
    if (depth <= 1 || unwinder() != Unwinder::ready) {
        return;
    }
    const KeepErrno keep;  // frames without unwind tables cost system calls that fail
    // The tool's own frames come first: four in optimised builds, more without inlining.
    void* frames[kMaxDepth + kMaxOwnFrames];
    std::size_t count = 0;
    std::size_t first = 0;
    for (const std::size_t own : {kOwnFrames, kMaxOwnFrames}) {
        const int found = g_backtrace(frames, static_cast<int>(depth + own));
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
        return;  // the unwinder lost its way before it reached the caller
    }
    trace.unwound = true;
    trace.count = 0;
    for (std::size_t i = first; i < count && trace.count < depth; ++i) {
        const auto address = reinterpret_cast<std::uintptr_t>(frames[i]);
        if (address == 0) {
            break;
        }
        trace.addresses[trace.count++] = address;
    }
    trace.cut = count - first >= depth;
}

}  // namespace pincheck
