#include "cupti_records.h"

namespace pincheck::cupti {
namespace {

template <class R>
const R& as(const Record& record) noexcept {
    return reinterpret_cast<const R&>(record);
}

std::uint64_t stream_key(std::uint32_t context, std::uint32_t stream) noexcept {
    return std::uint64_t{context} << 32 | stream;
}

template <class R>
DeviceWork work_of(const R& record, DeviceWork::Kind kind) noexcept {
    DeviceWork work;
    work.kind = kind;
    work.correlation = record.correlation;
    work.context = record.context;
    work.stream = record.stream;
    work.bytes = record.bytes;
    work.device_start_ns = record.start;
    work.device_end_ns = record.end;
    return work;
}

template <class R>
DeviceWork copy_of(const R& record, DeviceWork::Kind kind) noexcept {
    DeviceWork work = work_of(record, kind);
    work.copy_kind = record.copy_kind;
    work.source_kind = record.source_kind;
    work.destination_kind = record.destination_kind;
    return work;
}

}  // namespace

void RecordReader::read(unsigned pass, const Record& record, const DeviceSink& sink) noexcept {
    if (pass == 0) {
        if (record.kind == kKindOverhead) {
            overhead(as<OverheadRecord>(record), sink);
        } else if (record.kind == kKindConcurrentKernel) {
            kernel(as<KernelRecord>(record), sink);
        }
        return;
    }
    switch (record.kind) {
        case kKindMemcpy:
            arrived(copy_of(as<MemcpyRecord>(record), DeviceWork::Kind::copy), sink);
            break;
        case kKindMemcpyPeer:
            arrived(copy_of(as<MemcpyPeerRecord>(record), DeviceWork::Kind::peer_copy), sink);
            break;
        case kKindMemset:
            arrived(work_of(as<MemsetRecord>(record), DeviceWork::Kind::fill), sink);
            break;
        default:
            break;
    }
}

void RecordReader::overhead(const OverheadRecord& record, const DeviceSink& sink) noexcept {
    if (record.overhead_kind != kCommandBufferFull || !overhead_has_correlation_ || record.end <= record.start) {
        return;
    }
    queue_full_seen_ = true;
    queue_full_[queue_full_next_] = {record.correlation, record.end - record.start};
    queue_full_next_ = (queue_full_next_ + 1) % kQueueFull;
    const std::uint64_t start = clock_.to_monotonic(record.start, 0);
    sink.queue_full(sink.context, record.correlation, start, start + (record.end - record.start));
}

void RecordReader::kernel(const KernelRecord& record, const DeviceSink& sink) noexcept {
    ++counts_.kernels;
    kernels_[kernels_next_] = {stream_key(record.context, record.stream), record.end, record.name};
    kernels_next_ = (kernels_next_ + 1) % kKernels;
    // CUPTI, "CUpti_ActivityKernel": both 0 where the time could not be collected.
    if (record.start != 0 && record.end >= record.start && record.name != nullptr) {
        const std::uint64_t end = clock_.to_monotonic(record.end, 0);
        sink.kernel(sink.context, record.name, end - (record.end - record.start), end);
    }
}

void RecordReader::arrived(const DeviceWork& work, const DeviceSink& sink) noexcept {
    if (deliver(work, sink)) {
        return;
    }
    if (waiting_count_ == kWaiting) {
        ++counts_.unmatched;
        return;
    }
    waiting_[waiting_count_++] = work;
}

void RecordReader::retry(const DeviceSink& sink, bool at_end) noexcept {
    unsigned kept = 0;
    for (unsigned i = 0; i < waiting_count_; ++i) {
        if (!deliver(waiting_[i], sink)) {
            waiting_[kept++] = waiting_[i];
        }
    }
    waiting_count_ = kept;
    if (at_end) {
        counts_.unmatched += kept;
        waiting_count_ = 0;
    }
}

// False: not yet.
bool RecordReader::deliver(const DeviceWork& raw, const DeviceSink& sink) noexcept {
    MatchedCall call{};
    switch (calls_.find(raw.correlation, call)) {
        case Match::running:
            return false;
        case Match::inside:
            return true;
        case Match::unhooked:
            counts_.unhooked += raw.kind != DeviceWork::Kind::fill ? 1 : 0;
            return true;
        case Match::unknown:
            ++counts_.unmatched;
            return true;
        case Match::found:
            break;
    }
    // CUPTI, "CUpti_ActivityMemcpy": both 0 where the time could not be collected.
    if (raw.device_start_ns == 0 || raw.device_end_ns < raw.device_start_ns) {
        ++counts_.without_times;
        return true;
    }
    DeviceWork work = raw;
    work.site = call.site;
    work.thread = call.thread;
    work.call_start_ns = call.start_ns;
    work.call_end_ns = call.end_ns;
    work.queue_full_ns = queue_full_of(raw.correlation);
    if (const Kernel* kernel = kernel_before(raw)) {
        work.kernel = kernel->name;
        work.kernel_end_ns = clock_.to_monotonic(kernel->end, 0);
    }
    work.device_start_ns = clock_.to_monotonic(raw.device_start_ns, call.start_ns);
    work.device_end_ns = work.device_start_ns + (raw.device_end_ns - raw.device_start_ns);
    ++counts_.delivered;
    sink.work(sink.context, work);
    return true;
}

std::uint64_t RecordReader::queue_full_of(std::uint32_t correlation) const noexcept {
    std::uint64_t ns = 0;
    if (!queue_full_seen_) {
        return ns;
    }
    for (const QueueFull& entry : queue_full_) {
        ns += entry.correlation == correlation ? entry.ns : 0;
    }
    return ns;
}

const RecordReader::Kernel* RecordReader::kernel_before(const DeviceWork& work) const noexcept {
    if (counts_.kernels == 0) {
        return nullptr;
    }
    const Kernel* last = nullptr;
    const std::uint64_t stream = stream_key(work.context, work.stream);
    for (const Kernel& kernel : kernels_) {
        if (kernel.stream == stream && kernel.end <= work.device_start_ns && kernel.name != nullptr &&
            (last == nullptr || kernel.end > last->end)) {
            last = &kernel;
        }
    }
    return last;
}

}  // namespace pincheck::cupti
