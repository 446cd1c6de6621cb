#include "activity_buffers.h"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "records.h"
#include "waits.h"
#include "works.h"

namespace simcupti {
namespace {

struct Buffer {
    std::uint8_t* memory = nullptr;
    std::size_t size = 0;
    std::size_t used = 0;
    std::size_t records = 0;
    std::size_t max_records = 0;  // 0: as many as fit

    bool fits(std::size_t bytes) const {
        return memory && size - used >= bytes && (max_records == 0 || records < max_records);
    }
};

}  // namespace

class Queue {
  public:
    Buffer current;
    std::vector<Buffer> spare;  // two threads may ask at the same time
};

namespace {

// One lock for all queues: the stand-in has to be right before it is fast.
struct State {
    std::mutex mutex;
    CUpti_BuffersCallbackRequestFunc requested = nullptr;
    CUpti_BuffersCallbackCompleteFunc completed = nullptr;
    std::vector<Queue*> queues;
    Queue* everybodys = nullptr;
    std::deque<Buffer> full;  // to be handed over
    int handing_over = 0;     // buffers that a thread is handing over now
    std::condition_variable changed;
    std::size_t dropped = 0;
    bool worker = false;
    bool per_thread = true;
    std::chrono::milliseconds period{0};
};

State& state() {
    static State& instance = *new State;  // never destroyed: the worker is detached
    return instance;
}

// The caller holds the lock, which is free while the program's function runs.
void hand_over(std::unique_lock<std::mutex>& lock, const Buffer& buffer) {
    State& s = state();
    const auto completed = s.completed;
    ++s.handing_over;
    lock.unlock();
    if (completed) {
        InsideProgram inside;
        completed(nullptr, 0, buffer.memory, buffer.size, buffer.used);
    }
    lock.lock();
    --s.handing_over;
    s.changed.notify_all();
}

void hand_over_all(std::unique_lock<std::mutex>& lock) {
    State& s = state();
    while (!s.full.empty()) {
        const Buffer buffer = s.full.front();
        s.full.pop_front();
        hand_over(lock, buffer);
    }
}

// Full buffers are handed over by a thread of the library's own (cupti_activity.h, cuptiActivityFlushPeriod).
void work() {
    pthread_setname_np(pthread_self(), "simcupti");
    State& s = state();
    std::unique_lock lock(s.mutex);
    for (;;) {
        s.changed.wait(lock, [&] { return !s.full.empty(); });
        hand_over_all(lock);
    }
}

void start_worker(State& s) {
    if (std::exchange(s.worker, true))
        return;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // the app's handlers must not run here
    std::thread(work).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void retire(State& s, Buffer& buffer) {
    if (buffer.memory)
        s.full.push_back(buffer);
    buffer = {};
    s.changed.notify_all();
}

// A buffer with room for `bytes` in queue.current. False when the program gives none.
bool make_room(std::unique_lock<std::mutex>& lock, Queue& queue, std::size_t bytes, bool* asked) {
    State& s = state();
    while (!queue.current.fits(bytes)) {
        retire(s, queue.current);
        if (!queue.spare.empty()) {
            queue.current = queue.spare.back();
            queue.spare.pop_back();
            continue;
        }
        const auto requested = s.requested;
        if (!requested)
            return false;
        Buffer fresh;
        lock.unlock();
        {
            InsideProgram inside;
            requested(&fresh.memory, &fresh.size, &fresh.max_records);
        }
        lock.lock();
        *asked = true;
        if (!fresh.memory)
            return false;
        if (fresh.size < bytes) {
            retire(s, fresh);
            return false;
        }
        queue.spare.push_back(fresh);
    }
    return true;
}

}  // namespace

Queue& this_threads_queue() {
    thread_local Queue* own = nullptr;  // plain, so that it survives the app's own thread_local objects
    State& s = state();
    std::lock_guard lock(s.mutex);
    Queue*& queue = s.per_thread ? own : s.everybodys;
    if (!queue)
        s.queues.push_back(queue = new Queue);
    return *queue;
}

void reserve(Queue& queue, std::size_t bytes) {
    bool asked = false;
    const std::uint64_t begin = now();
    {
        std::unique_lock lock(state().mutex);
        make_room(lock, queue, bytes, &asked);
    }
    if (asked)
        report_buffer_request(queue, begin, now());
}

void append(Queue& queue, std::span<const std::byte> record) {
    State& s = state();
    std::unique_lock lock(s.mutex);
    bool asked = false;
    if (!make_room(lock, queue, record.size(), &asked)) {
        ++s.dropped;
        return;
    }
    Buffer& buffer = queue.current;
    std::memcpy(buffer.memory + buffer.used, record.data(), record.size());
    buffer.used += record.size();
    ++buffer.records;
    if (buffer.max_records != 0 && buffer.records == buffer.max_records)
        retire(s, buffer);
}

CUptiResult flush(Flush kind) {
    State& s = state();
    if (kind == Flush::forced)
        give_up_works();
    if (!InsideProgram::here())
        wait_for_records();
    std::unique_lock lock(s.mutex);
    if (!s.completed)
        return CUPTI_ERROR_INVALID_OPERATION;
    for (Queue* queue : s.queues) {
        if (queue->current.used > 0 || kind == Flush::forced)
            retire(s, queue->current);
        if (kind == Flush::forced)
            for (Buffer& buffer : std::exchange(queue->spare, {}))
                retire(s, buffer);
    }
    hand_over_all(lock);
    // A flush inside the program's own function waits for nobody, else it would wait for itself.
    if (!InsideProgram::here())
        s.changed.wait(lock, [&] { return s.full.empty() && s.handing_over == 0; });
    return CUPTI_SUCCESS;
}

void forget_buffers() {
    State& s = state();
    std::lock_guard lock(s.mutex);
    for (Queue* queue : s.queues) {
        queue->current = {};
        queue->spare.clear();
    }
    s.full.clear();
    s.requested = nullptr;
    s.completed = nullptr;
    s.dropped = 0;
}

void set_buffer_per_thread(bool wanted) {
    std::lock_guard lock(state().mutex);
    state().per_thread = wanted;
}

bool buffer_per_thread() {
    std::lock_guard lock(state().mutex);
    return state().per_thread;
}

}  // namespace simcupti

using namespace simcupti;

SIM_EXPORT CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
                                                      CUpti_BuffersCallbackCompleteFunc completed) {
    if (!requested || !completed)
        return finish(CUPTI_ERROR_INVALID_PARAMETER);
    State& s = state();
    std::lock_guard lock(s.mutex);
    s.requested = requested;
    s.completed = completed;
    start_worker(s);
    return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiActivityFlushAll(uint32_t flag) {
    return finish(flush(flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED ? Flush::forced : Flush::complete));
}

// Only full buffers are handed over in between, and those are at once.
SIM_EXPORT CUptiResult cuptiActivityFlushPeriod(uint32_t) {
    return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
    if (!dropped)
        return finish(CUPTI_ERROR_INVALID_PARAMETER);
    State& s = state();
    std::lock_guard lock(s.mutex);
    *dropped = std::exchange(s.dropped, 0);
    return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, CUpti_Activity** record) {
    if (!buffer || !record)
        return finish(CUPTI_ERROR_INVALID_PARAMETER);
    const auto* previous = reinterpret_cast<const uint8_t*>(*record);
    const std::size_t at = previous ? static_cast<std::size_t>(previous - buffer) + size_of((*record)->kind) : 0;
    if (at >= valid)
        return finish(CUPTI_ERROR_MAX_LIMIT_REACHED);
    auto* next = reinterpret_cast<CUpti_Activity*>(buffer + at);
    if (size_of(next->kind) == 0)
        return finish(CUPTI_ERROR_INVALID_KIND);
    *record = next;
    return CUPTI_SUCCESS;
}
