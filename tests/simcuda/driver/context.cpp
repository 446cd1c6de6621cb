#include "context.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>

#include "arrays.h"
#include "memory.h"
#include "settings.h"

namespace simcuda {
namespace {

std::atomic<bool> g_unloaded{false};

// Wiped in every kind of child, _Fork and raw clone included, where pthread_atfork handlers do not run.
std::atomic<int>* process_mark() {
    static std::atomic<int>* mark = [] {
        void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise(page, 4096, MADV_WIPEONFORK);
        return new (page) std::atomic<int>(0);
    }();
    return mark;
}

std::vector<Context*>& contexts() {  // guarded by machine().mutex
    static std::vector<Context*>& all = *new std::vector<Context*>;
    return all;
}

// Plain data, so that it survives the destructors of the app's own thread_local objects.
constexpr int kMaxStack = 64;
thread_local Context* t_stack[kMaxStack];
thread_local int t_depth = 0;
thread_local unsigned long t_thread = 0;  // this thread's number, 0 before the first use
std::atomic<unsigned long> g_threads{0};

struct PerThread {
    Context* context;
    unsigned long thread;
    StreamPtr stream;
};
std::vector<PerThread>& per_thread_streams() {  // guarded by machine().mutex
    static std::vector<PerThread>& all = *new std::vector<PerThread>;
    return all;
}

StreamPtr per_thread_stream(Context* context) {
    if (t_thread == 0)
        t_thread = ++g_threads;
    for (const PerThread& entry : per_thread_streams())
        if (entry.context == context && entry.thread == t_thread)
            return entry.stream;
    auto stream = std::make_shared<Stream>();
    stream->context = context;
    context->streams.push_back(stream);
    per_thread_streams().push_back({context, t_thread, stream});
    return stream;
}

std::atomic<bool> g_ever_initialised{false};

struct AtExit {
    ~AtExit() {
        if (life() == Life::ready)
            write_counts();
        g_unloaded = true;
    }
};

}  // namespace

void mark_initialised() {
    // Runs with the library's own destructors: after the destructors of the executable's static objects.
    static AtExit at_exit;
    g_ever_initialised = true;
    *process_mark() = 1;
}

Life life() {
    if (g_unloaded.load(std::memory_order_relaxed))
        return Life::unloaded;
    if (process_mark()->load(std::memory_order_relaxed) == 1)
        return Life::ready;
    return g_ever_initialised.load(std::memory_order_relaxed) ? Life::forked : Life::fresh;
}

CUresult enter(Api api) {
    if (const CUresult ordered = count_call(api); ordered != CUDA_SUCCESS)
        return ordered;
    if (inside_host_function())
        return CUDA_ERROR_NOT_PERMITTED;
    switch (life()) {
        case Life::ready:
            return CUDA_SUCCESS;
        case Life::unloaded:
            return CUDA_ERROR_DEINITIALIZED;
        case Life::fresh:
        case Life::forked:
            break;
    }
    return CUDA_ERROR_NOT_INITIALIZED;
}

CUresult enter(Api api, Context** current) {
    if (const CUresult result = enter(api); result != CUDA_SUCCESS)
        return result;
    Context* context = current_context();
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!context->alive)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (context->sticky != CUDA_SUCCESS)
        return context->sticky;
    *current = context;
    return CUDA_SUCCESS;
}

Context* find_context(CUcontext handle) {
    std::lock_guard lock(machine().mutex);
    auto& all = contexts();
    auto* context = reinterpret_cast<Context*>(handle);
    return std::find(all.begin(), all.end(), context) != all.end() ? context : nullptr;
}

Context* current_context() {
    return t_depth > 0 ? t_stack[t_depth - 1] : nullptr;
}

StreamPtr find_stream(Context* context, CUstream handle, DefaultStream meaning) {
    std::lock_guard lock(machine().mutex);
    if (handle == CU_STREAM_LEGACY || (!handle && meaning == DefaultStream::legacy))
        return context->legacy;
    if (handle == CU_STREAM_PER_THREAD || !handle)
        return per_thread_stream(context);
    for (Context* owner : contexts())
        for (const StreamPtr& stream : owner->streams)
            if (reinterpret_cast<CUstream>(stream.get()) == handle && !stream->destroyed)
                return stream;
    return nullptr;
}

Context* create_context(int device, unsigned flags) {
    auto* context = new Context;
    context->device = device;
    context->flags = flags;
    context->legacy = std::make_shared<Stream>();
    context->legacy->context = context;
    context->legacy->legacy = true;
    std::lock_guard lock(machine().mutex);
    contexts().push_back(context);
    return context;
}

std::uint32_t next_context_id() {
    static std::atomic<std::uint32_t> last{0};
    return ++last;
}

std::vector<Context*> living_contexts() {
    std::lock_guard lock(machine().mutex);
    std::vector<Context*> living;
    std::copy_if(contexts().begin(), contexts().end(), std::back_inserter(living),
                 [](const Context* context) { return context->alive.load(); });
    return living;
}

Context* primary_context(int device) {
    static std::mutex& mutex = *new std::mutex;
    static std::vector<Context*>& primaries = *new std::vector<Context*>(static_cast<std::size_t>(settings().devices));
    std::lock_guard lock(mutex);
    Context*& context = primaries[static_cast<std::size_t>(device)];
    if (!context) {
        context = create_context(device, 0);
        context->primary = true;
        context->alive = false;  // until retained
    }
    return context;
}

CUresult destroy_context(Context* context) {
    machine().wait_context(context);
    {
        std::lock_guard lock(machine().mutex);
        for (const StreamPtr& stream : context->streams)
            stream->destroyed = true;
        context->streams.clear();
        context->peers.clear();
        std::erase_if(per_thread_streams(), [&](const PerThread& entry) { return entry.context == context; });
        context->alive = false;
        context->sticky = CUDA_SUCCESS;
    }
    free_context_memory(context);
    free_context_arrays(context);
    if (!context->primary && current_context() == context)
        pop_current();
    return CUDA_SUCCESS;
}

CUresult set_current(Context* context) {
    if (!context) {
        if (t_depth > 0)
            --t_depth;
        return CUDA_SUCCESS;
    }
    if (t_depth == 0)
        t_depth = 1;
    t_stack[t_depth - 1] = context;
    return CUDA_SUCCESS;
}

CUresult push_current(Context* context) {
    if (t_depth == kMaxStack)
        return CUDA_ERROR_OUT_OF_MEMORY;
    t_stack[t_depth++] = context;
    return CUDA_SUCCESS;
}

Context* pop_current() {
    return t_depth > 0 ? t_stack[--t_depth] : nullptr;
}

}  // namespace simcuda
