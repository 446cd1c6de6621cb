// Telling a profiler (../observer.h) of calls, commands and waits. Nothing here costs more than a load while there is
// none.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "../observer.h"
#include "calls.h"
#include "node_params.h"
#include "region.h"
#include "stream.h"

namespace simcuda {

enum class HostWait;

extern std::atomic<const SimcudaObserver*> g_observer;

inline const SimcudaObserver* observer() {
    return g_observer.load(std::memory_order_acquire);
}

// From its begin to its end an API call is the calling thread's; what it issues has its number.
bool begin_call(SimcudaCall* call, SimcudaDomain domain, const char* symbol);
void end_call(SimcudaCall* call, CUresult result);

// An entry point's body.
template <typename Body>
CUresult observed(Api api, const Body& body) {
    SimcudaCall call;
    if (!observer() || !begin_call(&call, kSimcudaDriver, symbol_of(api)))
        return body();
    struct Scope {
        SimcudaCall* call;
        CUresult result = CUDA_ERROR_UNKNOWN;  // of a thread that is cancelled inside
        ~Scope() { end_call(call, result); }
    } scope{&call};
    return scope.result = body();
}

// A command as the profiler will see it. It has been done when the last reference is gone.
class Traced {
  public:
    explicit Traced(const SimcudaObserver& observer) : observer_(observer) {}
    ~Traced() { observer_.work_done(&work); }
    Traced(const Traced&) = delete;
    Traced& operator=(const Traced&) = delete;

    // Around each part of the work.
    void begin();
    void end();

    SimcudaWork work{};

  private:
    const SimcudaObserver& observer_;
};
using TracedPtr = std::shared_ptr<Traced>;

// Null where nobody is interested. To be called by the thread that makes the call, with no lock held.
TracedPtr trace_copy(const StreamPtr& stream, const Region& to, const Region& from, HostWait wait);
TracedPtr trace_fill(const StreamPtr& stream, const Region& to, std::uint32_t value, HostWait wait);
TracedPtr trace_kernel(const StreamPtr& stream, const KernelNode& node);
// Of a graph that is being launched.
TracedPtr trace_node(const StreamPtr& stream, const NodeParams& params);

// The work with the profiler told of its begin and end; unchanged for null.
std::function<void()> with_trace(TracedPtr traced, std::function<void()> work);

// The host's time in a wait, from here on. `stop` tells the profiler; call it with no lock held.
class TimedWait {
  public:
    TimedWait(SimcudaWaitKind kind, const Context* context, const Stream* stream);
    void stop(CUresult result);

  private:
    const SimcudaObserver* observer_;
    SimcudaWait wait_;
};

void tell_created(const Context* context);
void tell_destroyed(const Context* context);

SimcudaContextName name_of(const Context* context);
SimcudaStreamName name_of(const Stream* stream);

}  // namespace simcuda
