// Streams are queues of commands; engines are threads that execute them. One mutex guards every queue: the stand-in has
// to be right before it is fast.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda_symbols.h"

namespace simcuda {

struct Context;
struct Stream;
struct Capture;
struct GraphNode;
using Clock = std::chrono::steady_clock;
using StreamPtr = std::shared_ptr<Stream>;

// One command's end. All fields are guarded by machine().mutex.
struct Completion {
    bool done = false;
    Clock::time_point when{};
    std::vector<StreamPtr> waiters;  // streams whose head depends on it
};
using CompletionPtr = std::shared_ptr<Completion>;

enum class Engine { none, h2d, d2h, compute, host };

// Whether a command takes a place in the stream's queue. Markers and host functions never do.
enum class Slot { none, take };

struct Command {
    Engine engine = Engine::none;
    std::function<void()> work;
    std::vector<CompletionPtr> after;
    CompletionPtr done;
    bool started = false;
    bool takes_slot = false;
};

unsigned long long next_stream_id();

struct Stream {
    const unsigned long long id = next_stream_id();
    Context* context = nullptr;
    unsigned flags = 0;  // CU_STREAM_NON_BLOCKING
    int priority = 0;
    bool legacy = false;
    bool destroyed = false;
    std::deque<std::shared_ptr<Command>> queue;
    std::size_t slots = 0;  // taken in the hardware queue, the running command's included
    CompletionPtr tail;     // of the last command, null when there was none
    std::shared_ptr<Capture> capture;
    std::vector<GraphNode*> capture_tail;  // what the next captured node depends on

    bool blocking() const { return !(flags & CU_STREAM_NON_BLOCKING); }
};

class Machine {
  public:
    std::mutex mutex;
    std::atomic<int> releases{0};  // threads that wait in a release: no launch or copy begins meanwhile
    std::condition_variable done;  // a command ended, or a slot became free

    // Appends a command. Waits while the queue is full, unless the command takes no slot.
    CompletionPtr submit(const StreamPtr& stream, Engine engine, std::function<void()> work,
                         std::vector<CompletionPtr> after = {}, Slot slot = Slot::take);
    void wait(const CompletionPtr& completion);
    // Everything issued to the stream so far; the legacy stream includes the blocking ones.
    void wait_stream(const StreamPtr& stream);
    bool stream_idle(const StreamPtr& stream);
    // Everything issued to the context so far, in every stream: what cuMemFree and cuCtxSynchronize wait for.
    void wait_context(Context* context);
    // Does something while nothing of the context runs and nothing can be issued. `change` makes no call of the
    // machine.
    void when_idle(Context* context, const std::function<void()>& change);
    // wait_context(), while other threads' launches and copies wait.
    void wait_before_release(Context* context);

  private:
    struct Pool {
        std::condition_variable work;
        std::deque<std::pair<StreamPtr, std::shared_ptr<Command>>> ready;
        int idle = 0;
        int threads = 0;
        int limit = 1;
    };

    Machine();
    friend Machine& machine();

    Pool& pool(Context* context, Engine engine);
    void advance(std::vector<StreamPtr> streams);
    void finish(const StreamPtr& stream, const std::shared_ptr<Command>& command, std::vector<StreamPtr>* next);
    void serve(Pool& pool, bool host_functions);
    std::vector<CompletionPtr> implicit_order(const StreamPtr& stream);

    std::vector<std::unique_ptr<Pool>> pools_;  // four a device
};

Machine& machine();

// True on the thread that runs host functions: CUDA calls are refused there (cuLaunchHostFunc).
bool inside_host_function();

}  // namespace simcuda
