#include "works.h"

#include <condition_variable>
#include <list>
#include <mutex>

#include "activity_buffers.h"
#include "device_memory.h"
#include "kinds.h"
#include "records.h"

namespace simcupti {
namespace {

struct Issued {
    SimcudaWork work;
    CUpti_ActivityKind kind;
    Queue* queue;  // of the thread that issued it
    bool given_up = false;
};

struct State {
    std::mutex mutex;
    std::list<Issued> open;  // in the order of issue
    int recording = 0;       // works that have left `open` and whose records are not in a buffer yet
    std::condition_variable changed;
};
State& state() {
    static State& instance = *new State;
    return instance;
}

// CUPTI_ACTIVITY_KIND_INVALID when nobody wants it. Copies between two devices have a kind of their own.
CUpti_ActivityKind kind_of(const SimcudaWork& work) {
    const auto if_wanted = [&](CUpti_ActivityKind kind) {
        return wanted(kind, work.context.id) ? kind : CUPTI_ACTIVITY_KIND_INVALID;
    };
    switch (work.kind) {
        case SimcudaWorkKind::copy: {
            const bool peers = work.from_context.handle && work.to_context.handle &&
                               work.from_context.device != work.to_context.device;
            return if_wanted(peers ? CUPTI_ACTIVITY_KIND_MEMCPY2 : CUPTI_ACTIVITY_KIND_MEMCPY);
        }
        case SimcudaWorkKind::fill:
            return if_wanted(CUPTI_ACTIVITY_KIND_MEMSET);
        case SimcudaWorkKind::kernel:
            return wanted(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, work.context.id)
                       ? CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
                       : if_wanted(CUPTI_ACTIVITY_KIND_KERNEL);
    }
    return CUPTI_ACTIVITY_KIND_INVALID;
}

}  // namespace

bool work_issued(SimcudaWork* work) {
    const CUpti_ActivityKind kind = kind_of(*work);
    if (kind == CUPTI_ACTIVITY_KIND_INVALID)
        return false;
    Queue& queue = this_threads_queue();
    reserve(queue, size_of(kind));
    std::lock_guard lock(state().mutex);
    state().open.push_back({*work, kind, &queue});
    work->record = &state().open.back();
    return true;
}

void work_done(SimcudaWork* work) {
    std::list<Issued> ended;
    {
        State& s = state();
        std::lock_guard lock(s.mutex);
        auto it = s.open.begin();
        while (it != s.open.end() && &*it != work->record)
            ++it;
        if (it == s.open.end())
            return;
        ended.splice(ended.end(), s.open, it);
        if (ended.front().given_up || work->start == 0)
            return;
        ++s.recording;
    }
    const Issued& issued = ended.front();
    SimcudaWork copy = *work;
    if (!has_memory(copy.context.id))
        copy.start = copy.end = 0;
    append(*issued.queue, Record(copy, issued.kind).bytes());
    State& s = state();
    std::lock_guard lock(s.mutex);
    --s.recording;
    s.changed.notify_all();
}

void wait_for_records() {
    State& s = state();
    std::unique_lock lock(s.mutex);
    s.changed.wait(lock, [&] { return s.recording == 0; });
}

void give_up_works() {
    std::list<Issued> incomplete;
    {
        std::lock_guard lock(state().mutex);
        for (Issued& issued : state().open) {
            if (!issued.given_up)
                incomplete.push_back(issued);
            issued.given_up = true;
        }
    }
    for (Issued& issued : incomplete) {
        issued.work.start = issued.work.end = 0;
        append(*issued.queue, Record(issued.work, issued.kind).bytes());
    }
}

void forget_works() {
    std::lock_guard lock(state().mutex);
    state().open.clear();
}

}  // namespace simcupti
