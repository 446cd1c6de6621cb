#include "stream.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "context.h"
#include "observed.h"
#include "settings.h"

namespace simcuda {
namespace {

thread_local bool t_host_function = false;
thread_local bool t_engine = false;  // a thread of the device

// Kernels of different streams overlap, and a gate kernel occupies its thread until the host opens it.
constexpr int kComputeThreads = 64;

}  // namespace

unsigned long long next_stream_id() {
    static std::atomic<unsigned long long> last{0};
    return ++last;
}

bool inside_host_function() {
    return t_host_function;
}

Machine& machine() {
    static Machine& instance = *new Machine;  // never destroyed: engine threads are detached
    return instance;
}

Machine::Machine() {
    for (int i = 0; i < std::max(1, settings().devices) * 4; ++i) {
        pools_.push_back(std::make_unique<Pool>());
        if (i % 4 == 2)
            pools_.back()->limit = kComputeThreads;
    }
}

Machine::Pool& Machine::pool(Context* context, Engine engine) {
    const int engines = settings().copy_engines;
    if (engine == Engine::d2h && engines < 2)
        engine = Engine::h2d;
    if (engine == Engine::h2d && engines < 1)
        engine = Engine::compute;
    return *pools_[static_cast<std::size_t>(context->device * 4 + static_cast<int>(engine) - 1)];
}

// Legacy default stream: waits for blocking streams and is waited for by them.
std::vector<CompletionPtr> Machine::implicit_order(const StreamPtr& stream) {
    std::vector<CompletionPtr> after;
    Context& context = *stream->context;
    if (stream->legacy) {
        for (const StreamPtr& other : context.streams)
            if (other->blocking() && other->tail && !other->tail->done)
                after.push_back(other->tail);
    } else if (stream->blocking() && context.legacy->tail && !context.legacy->tail->done) {
        after.push_back(context.legacy->tail);
    }
    return after;
}

CompletionPtr Machine::submit(const StreamPtr& stream, Engine engine, std::function<void()> work,
                              std::vector<CompletionPtr> after, Slot slot) {
    const bool takes_slot = slot == Slot::take && engine != Engine::none && engine != Engine::host;
    std::unique_lock lock(mutex);
    // Measured: H200, driver 580.159.04. Not the engines: what they wait for, a release waits for.
    if (takes_slot && !t_engine)
        done.wait(lock, [&] { return releases == 0; });
    // Measured: H200, driver 580.159.04: 1021 launches, copies or memsets fit behind a running kernel, the next call
    // blocks; 3000 event records or waits and 1500 host functions do not.
    const auto has_room = [&] { return !takes_slot || stream->slots <= settings().queue_depth; };
    if (!has_room()) {
        lock.unlock();
        TimedWait full(SimcudaWaitKind::queue_full, stream->context, stream.get());
        lock.lock();
        done.wait(lock, has_room);
        lock.unlock();
        full.stop(CUDA_SUCCESS);
        lock.lock();
        done.wait(lock, has_room);  // another thread may have been quicker
    }
    stream->slots += takes_slot;
    auto command = std::make_shared<Command>();
    command->engine = engine;
    command->takes_slot = takes_slot;
    command->work = std::move(work);
    command->after = implicit_order(stream);
    command->after.insert(command->after.end(), after.begin(), after.end());
    command->done = std::make_shared<Completion>();
    stream->tail = command->done;
    stream->queue.push_back(command);
    if (stream->queue.size() == 1)
        advance({stream});
    return command->done;
}

// Starts what can start. A work list instead of recursion: chains of events are as long as the program makes them.
void Machine::advance(std::vector<StreamPtr> streams) {
    while (!streams.empty()) {
        const StreamPtr stream = streams.back();
        streams.pop_back();
        while (!stream->queue.empty()) {
            const auto command = stream->queue.front();
            if (command->started)
                break;
            auto& after = command->after;
            while (!after.empty() && after.back()->done)
                after.pop_back();
            if (!after.empty()) {
                after.back()->waiters.push_back(stream);
                break;
            }
            command->started = true;
            if (command->engine == Engine::none) {
                finish(stream, command, &streams);
                continue;
            }
            Pool& target = pool(stream->context, command->engine);
            target.ready.emplace_back(stream, command);
            // Host functions share one thread a device, so that they never run at the same time (observed order of
            // callbacks).
            if (target.idle < static_cast<int>(target.ready.size()) && target.threads < target.limit) {
                ++target.threads;
                sigset_t all, before;
                sigfillset(&all);
                pthread_sigmask(SIG_SETMASK, &all, &before);  // the app's handlers must not run on engine threads
                std::thread([this, &target, host = command->engine == Engine::host] { serve(target, host); }).detach();
                pthread_sigmask(SIG_SETMASK, &before, nullptr);
            }
            target.work.notify_one();
            break;
        }
    }
}

void Machine::finish(const StreamPtr& stream, const std::shared_ptr<Command>& command, std::vector<StreamPtr>* next) {
    stream->queue.pop_front();
    stream->slots -= command->takes_slot;
    command->done->done = true;
    command->done->when = Clock::now();
    next->insert(next->end(), command->done->waiters.begin(), command->done->waiters.end());
    command->done->waiters.clear();
    done.notify_all();
}

void Machine::serve(Pool& pool, bool host_functions) {
    pthread_setname_np(pthread_self(), "simcuda");
    t_host_function = host_functions;
    t_engine = true;
    std::unique_lock lock(mutex);
    for (;;) {
        ++pool.idle;
        pool.work.wait(lock, [&] { return !pool.ready.empty(); });
        --pool.idle;
        auto [stream, command] = pool.ready.front();
        pool.ready.pop_front();
        lock.unlock();
        command->work();
        command->work = nullptr;  // what it owns is released outside the lock
        lock.lock();
        std::vector<StreamPtr> next{stream};
        finish(stream, command, &next);
        advance(std::move(next));
    }
}

void Machine::wait(const CompletionPtr& completion) {
    std::unique_lock lock(mutex);
    done.wait(lock, [&] { return completion->done; });
}

// Measured: H200, driver 580.159.04: the legacy stream's wait and query include the blocking streams' work; those of a
// blocking stream do not include the legacy stream's, as long as nothing came behind it.
void Machine::wait_stream(const StreamPtr& stream) {
    std::unique_lock lock(mutex);
    std::vector<CompletionPtr> all;
    if (stream->legacy)
        all = implicit_order(stream);
    if (stream->tail)
        all.push_back(stream->tail);
    done.wait(lock, [&] { return std::all_of(all.begin(), all.end(), [](const auto& one) { return one->done; }); });
}

bool Machine::stream_idle(const StreamPtr& stream) {
    std::lock_guard lock(mutex);
    return (!stream->tail || stream->tail->done) && (!stream->legacy || implicit_order(stream).empty());
}

void Machine::wait_before_release(Context* context) {
    ++releases;  // without the mutex, which threads that launch and copy in a loop hardly ever leave to another
    wait_context(context);
    {
        std::lock_guard lock(mutex);
        --releases;
    }
    done.notify_all();
}

void Machine::wait_context(Context* context) {
    std::unique_lock lock(mutex);
    std::vector<CompletionPtr> tails;
    if (context->legacy->tail)
        tails.push_back(context->legacy->tail);
    for (const StreamPtr& stream : context->streams)
        if (stream->tail)
            tails.push_back(stream->tail);
    for (const CompletionPtr& tail : tails)
        done.wait(lock, [&] { return tail->done; });
}

void Machine::when_idle(Context* context, const std::function<void()>& change) {
    const auto idle = [](const StreamPtr& stream) { return !stream->tail || stream->tail->done; };
    std::unique_lock lock(mutex);
    done.wait(lock, [&] {
        return idle(context->legacy) && std::all_of(context->streams.begin(), context->streams.end(), idle);
    });
    change();
}

}  // namespace simcuda
