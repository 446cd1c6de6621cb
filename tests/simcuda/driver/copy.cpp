#include "copy.h"

#include <algorithm>
#include <vector>

#include "capture.h"
#include "host_access.h"
#include "memcpy_node.h"
#include "observed.h"
#include "settings.h"
#include "staging.h"
#include "transfer.h"

namespace simcuda {
namespace {

constexpr std::size_t kChunk = 2 << 20;  // of a pageable copy that is too large to be staged

bool host(const End& end) {
    if (end.side != Side::unified)
        return end.side == Side::host;
    return !end.region.span.device() && !end.region.span.managed();
}

// What an engine does that reads and writes the memory when it gets there.
std::function<void()> late(const Region& to, const Region& from, Direction direction) {
    return [=] { transfer(to, 0, from, 0, to.bytes, direction); };
}

CUresult run_and_wait(const StreamPtr& stream, const TracedPtr& traced, Direction direction, const Region& to,
                      std::size_t to_position, const Region& from, std::size_t from_position, std::size_t size) {
    CompletionPtr done;
    std::function<void()> part = [=] { transfer(to, to_position, from, from_position, size, direction); };
    const CUresult result = issue(stream, engine_of(direction), with_trace(traced, std::move(part)), &done);
    if (result == CUDA_SUCCESS && done)
        machine().wait(done);
    return result;
}

// The caller itself touches its pageable memory, as the driver does: a bad pointer faults in the caller's thread.
CUresult upload_pageable(const StreamPtr& stream, const TracedPtr& traced, const Region& to, const Region& from) {
    machine().wait_stream(stream);
    std::vector<char> buffer(std::min(from.bytes, kChunk));
    for (std::size_t done = 0; done < from.bytes; done += buffer.size()) {
        const std::size_t size = std::min(buffer.size(), from.bytes - done);
        gather(buffer.data(), from, done, size);
        const CUresult result = run_and_wait(stream, traced, Direction::h2d, to, done, own(buffer), 0, size);
        if (result != CUDA_SUCCESS)
            return result;
    }
    return CUDA_SUCCESS;
}

CUresult download_pageable(const StreamPtr& stream, const TracedPtr& traced, const Region& to, const Region& from) {
    std::vector<char> buffer(std::min(to.bytes, kChunk));
    for (std::size_t done = 0; done < to.bytes; done += buffer.size()) {
        const std::size_t size = std::min(buffer.size(), to.bytes - done);
        const CUresult result = run_and_wait(stream, traced, Direction::d2h, own(buffer), 0, from, done, size);
        if (result != CUDA_SUCCESS)
            return result;
        scatter(to, done, buffer.data(), size);
    }
    return CUDA_SUCCESS;
}

// A snapshot: what the host writes after the call no longer matters (measured: H200, driver 580.159.04). Gives what the
// engine has to do. The caller has acquired the staging memory.
std::function<void()> stage(const Region& to, const Region& from) {
    auto snapshot = std::make_shared<std::vector<char>>(from.bytes);
    gather(snapshot->data(), from, 0, from.bytes);
    count_staged();
    return [=] {
        transfer(to, 0, own(*snapshot), 0, to.bytes, Direction::h2d);
        release_staging(to.bytes);
    };
}

// Fully synchronous with respect to the host, also when both sides are pinned (CUDA Runtime API, "API synchronization
// behavior"; measured: H200, driver 580.159.04).
CUresult copy_on_host(const StreamPtr& stream, const TracedPtr& traced, const Region& to, const Region& from) {
    machine().wait_stream(stream);
    if (traced)
        traced->begin();
    std::vector<char> buffer(std::min(to.bytes, kChunk));
    for (std::size_t done = 0; done < to.bytes; done += buffer.size()) {
        const std::size_t size = std::min(buffer.size(), to.bytes - done);
        gather(buffer.data(), from, done, size);
        scatter(to, done, buffer.data(), size);
    }
    if (traced)
        traced->end();
    return CUDA_SUCCESS;
}

bool pageable(const Region& region) {
    return region.span.copied_as_pageable() && !settings().host_page_tables;
}

// One copy of a batch. Measured: H200, driver 580.159.04. In stream order only a pageable source holds the host, at
// every size. During the call everything else holds it, and a pageable source does not: up to 64 KiB it is a snapshot,
// but larger ones are read when the copy runs, against what the order promises. With any order nothing waits. Managed
// memory, and copies inside the device, were not measured.
CUresult copy_ordered(const StreamPtr& stream, TracedPtr traced, Direction direction, const Region& to,
                      const Region& from, SourceOrder order) {
    const bool upload = pageable(from) && !pageable(to);
    if (to.span.managed() || from.span.managed())
        return run_and_wait(stream, traced, direction, to, 0, from, 0, to.bytes);
    if (order == SourceOrder::stream && upload)
        return upload_pageable(stream, traced, to, from);
    if (order == SourceOrder::during_call && !upload)
        return pageable(to) ? download_pageable(stream, traced, to, from)
                            : run_and_wait(stream, traced, direction, to, 0, from, 0, to.bytes);
    if (upload && order != SourceOrder::stream && to.bytes <= kSmallStaged && acquire_staging(to.bytes))
        return issue(stream, Engine::h2d, with_trace(std::move(traced), stage(to, from)));
    return issue(stream, engine_of(direction), with_trace(std::move(traced), late(to, from, direction)));
}

}  // namespace

Direction direction_of(const End& to, const End& from) {
    if (host(from))
        return host(to) ? Direction::h2h : Direction::h2d;
    return host(to) ? Direction::d2h : Direction::d2d;
}

// A profiler counts page-locked memory as the host's even where the call names it by its device address (measured:
// H200, driver 580.159.04, CUPTI under JAX and Thrust).
Direction counted_direction(const End& to, const End& from) {
    const auto on_host = [](const End& end) {
        const Span& span = end.region.span;
        return host(end) || span.pageable() || (span.range && span.range->pinned_host());
    };
    if (on_host(from))
        return on_host(to) ? Direction::h2h : Direction::h2d;
    return on_host(to) ? Direction::d2h : Direction::d2d;
}

CUresult check_device_access(const Span& span) {
    return span.pageable() && !settings().host_page_tables ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

void fill_region(const Region& to, std::uint32_t value, std::size_t width) {
    std::vector<char> pattern(std::min<std::size_t>(to.bytes, 1 << 20));
    for (std::size_t i = 0; i < pattern.size(); i += width)
        raw_copy(&pattern[i], &value, width);
    for (std::size_t at = 0; at < to.bytes;) {
        const Span piece = to.piece(at, pattern.size());
        dma_copy(piece, own(pattern).piece(0, piece.size), 0, piece.size);
        at += piece.size;
    }
}

CUresult copy(const StreamPtr& stream, const End& to_end, const End& from_end, HostWait wait, SourceOrder order,
              const CUDA_MEMCPY3D* description) {
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    const Region& to = to_end.region;
    const Region& from = from_end.region;
    for (const End* end : {&to_end, &from_end})
        if (end->side == Side::device)
            if (const CUresult result = check_device_access(end->region.span); result != CUDA_SUCCESS)
                return result;

    const Direction direction = direction_of(to_end, from_end);
    const bool captured = capturing(stream);
    if (captured && wait == HostWait::synchronous)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (wait == HostWait::synchronous && capture_forbids(stream->context))
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (!captured)
        count_copy(counted_direction(to_end, from_end), to.bytes);

    if (captured && description) {
        const auto node = capture_node(stream, MemcpyNode{*description, stream->context});
        return node ? *node : CUDA_ERROR_ILLEGAL_STATE;
    }
    if (captured) {
        const auto counted = [run = late(to, from, direction), direction, bytes = to.bytes] {
            count_copy(direction, bytes);
            run();
        };
        const auto node =
            capture_node(stream, OpaqueNode{CU_GRAPH_NODE_TYPE_MEMCPY, engine_of(direction), counted,
                                            std::make_shared<CopyRegions>(CopyRegions{to, from, direction})});
        return node ? *node : CUDA_ERROR_ILLEGAL_STATE;
    }
    TracedPtr traced = trace_copy(stream, to, from, wait);
    if (order != SourceOrder::usual)
        return copy_ordered(stream, std::move(traced), direction, to, from, order);
    if (to.span.managed() || from.span.managed())
        return run_and_wait(stream, traced, direction, to, 0, from, 0, to.bytes);
    if (direction == Direction::h2h)
        return copy_on_host(stream, traced, to, from);
    if (pageable(from) && !pageable(to)) {
        if (wait == HostWait::asynchronous && acquire_staging(to.bytes))
            return issue(stream, Engine::h2d, with_trace(std::move(traced), stage(to, from)));
        return upload_pageable(stream, traced, to, from);
    }
    if (pageable(to))
        return download_pageable(stream, traced, to, from);
    CompletionPtr done;
    const CUresult result =
        issue(stream, engine_of(direction), with_trace(std::move(traced), late(to, from, direction)), &done);
    // Device to device does not hold the host even in the synchronous call (measured: H200, driver 580.159.04).
    if (result == CUDA_SUCCESS && done && wait == HostWait::synchronous && direction != Direction::d2d)
        machine().wait(done);
    return result;
}

CUresult copy(const StreamPtr& stream, std::uintptr_t to, Side to_side, std::uintptr_t from, Side from_side,
              std::size_t size, HostWait wait) {
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (size == 0)
        return CUDA_SUCCESS;
    if (!to || !from)
        return CUDA_ERROR_INVALID_VALUE;
    End destination{{}, to_side}, source{{}, from_side};
    if (const CUresult result = make_region(to, {.width = size}, size, size, &destination.region);
        result != CUDA_SUCCESS)
        return result;
    if (const CUresult result = make_region(from, {.width = size}, size, size, &source.region); result != CUDA_SUCCESS)
        return result;
    const CUDA_MEMCPY3D description = plain_copy(to, to_side, from, from_side, size);
    return copy(stream, destination, source, wait, SourceOrder::usual, &description);
}

bool needs_host(const Region& to, const Region& from) {
    return pageable(to) || pageable(from);
}

CUresult copy_at_launch(const StreamPtr& stream, Direction direction, const Region& to, const Region& from,
                        std::function<void()>* work) {
    *work = nullptr;
    count_copy(direction, to.bytes);
    TracedPtr traced = trace_copy(stream, to, from, HostWait::asynchronous);
    if (direction == Direction::h2h)
        return copy_on_host(stream, traced, to, from);
    if (pageable(to))
        return download_pageable(stream, traced, to, from);
    if (!acquire_staging(to.bytes))
        return upload_pageable(stream, traced, to, from);
    *work = with_trace(std::move(traced), stage(to, from));
    return CUDA_SUCCESS;
}

CUresult fill(const StreamPtr& stream, const Region& to, std::uint32_t value, std::size_t width, HostWait wait) {
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (const CUresult result = check_device_access(to.span); result != CUDA_SUCCESS)
        return result;
    if (wait == HostWait::synchronous && capturing(stream))
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    const std::size_t rows = to.bytes / to.width;
    const CUDA_MEMSET_NODE_PARAMS description{to.span.address,  to.pitch, value, static_cast<unsigned>(width),
                                              to.width / width, rows};
    if (const auto captured = capture_node(stream, MemsetNode{description, stream->context}))
        return *captured;
    CompletionPtr done;
    std::function<void()> work = [=] { fill_region(to, value, width); };
    const CUresult result =
        issue(stream, Engine::compute, with_trace(trace_fill(stream, to, value, wait), std::move(work)), &done);
    // Only a memset of pinned host memory holds the host (CUDA Runtime API, "API synchronization behavior").
    if (result == CUDA_SUCCESS && done && wait == HostWait::synchronous && to.span.range &&
        to.span.range->pinned_host())
        machine().wait(done);
    return result;
}

}  // namespace simcuda
