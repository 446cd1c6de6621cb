#include "observed.h"

#include "context.h"
#include "copy.h"
#include "memcpy_node.h"

namespace simcuda {

std::atomic<const SimcudaObserver*> g_observer{nullptr};

namespace {

thread_local SimcudaCall* t_call = nullptr;

std::uint32_t correlation() {
    return t_call ? t_call->correlation : 0;
}

SimcudaMemory memory_of(const Region& region) {
    const Span& span = region.span;
    if (span.range && span.range->array)
        return kSimcudaArray;
    if (span.managed())
        return kSimcudaManaged;
    if (span.device())
        return kSimcudaDevice;
    return span.copied_as_pageable() ? kSimcudaPageable : kSimcudaPinned;
}

SimcudaContextName device_context_of(const Region& region) {
    return region.span.device() ? name_of(region.span.range->context) : SimcudaContextName{};
}

// Null when the observer does not want it.
TracedPtr issued(const SimcudaObserver& observer, const StreamPtr& stream, SimcudaWork work) {
    work.context = name_of(stream->context);
    work.stream = name_of(stream.get());
    work.correlation = correlation();
    if (!observer.work_issued(&work))
        return nullptr;
    auto traced = std::make_shared<Traced>(observer);
    traced->work = work;
    return traced;
}

}  // namespace

bool begin_call(SimcudaCall* call, SimcudaDomain domain, const char* symbol) {
    static std::atomic<std::uint32_t> last{0};
    const SimcudaObserver* now = observer();
    if (!now || life() == Life::forked)
        return false;
    *call = {.domain = domain,
             .correlation = t_call ? t_call->correlation : ++last,
             .symbol = symbol,
             .context = name_of(current_context()),
             .started = 0,
             .data = 0,
             .outer = t_call};
    t_call = call;
    now->call_begins(call);
    return true;
}

void end_call(SimcudaCall* call, CUresult result) {
    if (const SimcudaObserver* now = observer()) {
        call->context = name_of(current_context());
        now->call_ends(call, result);
    }
    t_call = call->outer;
}

void Traced::begin() {
    if (work.start == 0)
        work.start = observer_.now();
}

void Traced::end() {
    work.end = observer_.now();
}

TracedPtr trace_copy(const StreamPtr& stream, const Region& to, const Region& from, HostWait wait) {
    const SimcudaObserver* now = observer();
    if (!now)
        return nullptr;
    SimcudaWork work{};
    work.kind = SimcudaWorkKind::copy;
    work.asynchronous = wait == HostWait::asynchronous;
    work.to = memory_of(to);
    work.from = memory_of(from);
    work.to_context = device_context_of(to);
    work.from_context = device_context_of(from);
    work.bytes = to.bytes;
    return issued(*now, stream, work);
}

TracedPtr trace_fill(const StreamPtr& stream, const Region& to, std::uint32_t value, HostWait wait) {
    const SimcudaObserver* now = observer();
    if (!now)
        return nullptr;
    SimcudaWork work{};
    work.kind = SimcudaWorkKind::fill;
    work.asynchronous = wait == HostWait::asynchronous;
    work.to = memory_of(to);
    work.value = value;
    work.bytes = to.bytes;
    return issued(*now, stream, work);
}

TracedPtr trace_kernel(const StreamPtr& stream, const KernelNode& node) {
    const SimcudaObserver* now = observer();
    if (!now)
        return nullptr;
    SimcudaWork work{};
    work.kind = SimcudaWorkKind::kernel;
    work.asynchronous = true;
    work.kernel = node.kernel->name.c_str();
    work.grid[0] = node.grid.x, work.grid[1] = node.grid.y, work.grid[2] = node.grid.z;
    work.block[0] = node.block.x, work.block[1] = node.block.y, work.block[2] = node.block.z;
    work.shared_bytes = node.shared_bytes;
    return issued(*now, stream, work);
}

TracedPtr trace_node(const StreamPtr& stream, const NodeParams& params) {
    if (!observer())
        return nullptr;
    if (const auto* kernel = std::get_if<KernelNode>(&params))
        return trace_kernel(stream, *kernel);
    if (const auto copy = copy_of(params))
        return trace_copy(stream, copy->to, copy->from, HostWait::asynchronous);
    Region region;
    if (const auto* set = std::get_if<MemsetNode>(&params); set && region_of(set->fill, &region) == CUDA_SUCCESS)
        return trace_fill(stream, region, set->fill.value, HostWait::asynchronous);
    return nullptr;
}

std::function<void()> with_trace(TracedPtr traced, std::function<void()> work) {
    if (!traced)
        return work;
    return [traced = std::move(traced), work = std::move(work)] {
        traced->begin();
        work();
        traced->end();
    };
}

TimedWait::TimedWait(SimcudaWaitKind kind, const Context* context, const Stream* stream)
    : observer_(observer()), wait_{} {
    if (observer_)
        wait_ = {kind, name_of(context), name_of(stream), correlation(), observer_->now(), 0, CUDA_SUCCESS};
}

void TimedWait::stop(CUresult result) {
    if (!observer_)
        return;
    wait_.end = observer_->now();
    wait_.result = result;
    observer_->waited(&wait_);
}

void tell_created(const Context* context) {
    const SimcudaContextName name = name_of(context);
    if (const SimcudaObserver* now = observer())
        now->context_created(&name);
}

void tell_destroyed(const Context* context) {
    const SimcudaContextName name = name_of(context);
    if (const SimcudaObserver* now = observer())
        now->context_destroyed(&name);
}

SimcudaContextName name_of(const Context* context) {
    return context ? SimcudaContextName{handle(const_cast<Context*>(context)), context->id, context->device}
                   : SimcudaContextName{};
}

SimcudaStreamName name_of(const Stream* stream) {
    return stream ? SimcudaStreamName{const_cast<Stream*>(stream), static_cast<std::uint32_t>(stream->id), 0}
                  : SimcudaStreamName{};
}

}  // namespace simcuda
