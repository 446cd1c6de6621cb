#include "copy.h"

#include <algorithm>
#include <thread>
#include <vector>

#include "capture.h"
#include "host_access.h"
#include "settings.h"
#include "staging.h"

namespace simcuda {
namespace {

constexpr std::size_t kChunk = 2 << 20;  // of a pageable copy that is too large to be staged

bool host(const Span& span) {
    return !span.device() && !span.managed();
}

Direction direction_of(const Span& destination, const Span& source, Ends ends) {
    if (ends == Ends::h2d)
        return Direction::h2d;
    if (ends == Ends::d2h)
        return Direction::d2h;
    if (ends == Ends::d2d)
        return Direction::d2d;
    if (host(source))
        return host(destination) ? Direction::h2h : Direction::h2d;
    return host(destination) ? Direction::d2h : Direction::d2d;
}

Engine engine_of(Direction direction) {
    switch (direction) {
        case Direction::h2d:
            return Engine::h2d;
        case Direction::d2h:
            return Engine::d2h;
        default:
            return Engine::compute;
    }
}

double seconds(Direction direction, std::size_t size) {
    const Settings& s = settings();
    const double rate = direction == Direction::h2d   ? s.h2d_gbps
                        : direction == Direction::d2h ? s.d2h_gbps
                                                      : s.d2d_gbps;
    return rate > 0 ? static_cast<double>(size) / (rate * 1e9) / s.speed : 0;
}

// Spread over its simulated duration, so that a host that writes too early meets a copy that is half done.
void transfer(const Span& destination, const Span& source, std::size_t size, Direction direction) {
    const auto begin = Clock::now();
    const double total = seconds(direction, size);
    const std::size_t parts = total > 0 ? 16 : 1;
    const std::size_t step = std::max<std::size_t>(size / parts, 1);
    for (std::size_t done = 0; done < size;) {
        const std::size_t part = size - done < 2 * step ? size - done : step;
        dma_copy(destination, source, done, part);
        done += part;
        if (total > 0)
            std::this_thread::sleep_until(begin +
                                          std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
                                              total * static_cast<double>(done) / static_cast<double>(size))));
    }
}

// A private buffer that the engines treat as memory of their own.
Span own(std::vector<char>& buffer, std::size_t size) {
    Range range{.base = reinterpret_cast<std::uintptr_t>(buffer.data()), .size = size, .kind = Kind::device};
    return {range.base, size, range};
}

Span part_of(const Span& span, std::size_t offset, std::size_t size) {
    return {span.address + offset, size, span.range};
}

CUresult run_and_wait(const StreamPtr& stream, Direction direction, const Span& to, const Span& from) {
    CompletionPtr done;
    const CUresult result = issue(
        stream, engine_of(direction), [=] { transfer(to, from, to.size, direction); }, &done);
    if (result == CUDA_SUCCESS && done)
        machine().wait(done);
    return result;
}

// The caller itself touches its pageable memory, as the driver does: a bad pointer faults in the caller's thread.
CUresult upload_pageable(const StreamPtr& stream, const Span& to, const Span& from) {
    machine().wait_stream(stream);
    std::vector<char> buffer(std::min(from.size, kChunk));
    for (std::size_t done = 0; done < from.size; done += buffer.size()) {
        const std::size_t size = std::min(buffer.size(), from.size - done);
        raw_copy(buffer.data(), reinterpret_cast<const void*>(from.address + done), size);
        const CUresult result = run_and_wait(stream, Direction::h2d, part_of(to, done, size), own(buffer, size));
        if (result != CUDA_SUCCESS)
            return result;
    }
    return CUDA_SUCCESS;
}

CUresult download_pageable(const StreamPtr& stream, const Span& to, const Span& from) {
    std::vector<char> buffer(std::min(to.size, kChunk));
    for (std::size_t done = 0; done < to.size; done += buffer.size()) {
        const std::size_t size = std::min(buffer.size(), to.size - done);
        const CUresult result = run_and_wait(stream, Direction::d2h, own(buffer, size), part_of(from, done, size));
        if (result != CUDA_SUCCESS)
            return result;
        raw_copy(reinterpret_cast<void*>(to.address + done), buffer.data(), size);
    }
    return CUDA_SUCCESS;
}

// A snapshot: what the host writes after the call no longer matters (measured: H200, driver 580.159.04).
CUresult upload_staged(const StreamPtr& stream, const Span& to, const Span& from) {
    auto snapshot = std::make_shared<std::vector<char>>(from.size);
    raw_copy(snapshot->data(), reinterpret_cast<const void*>(from.address), from.size);
    count_staged();
    return issue(stream, Engine::h2d, [=] {
        transfer(to, own(*snapshot, to.size), to.size, Direction::h2d);
        release_staging(to.size);
    });
}

}  // namespace

CUresult copy(const StreamPtr& stream, std::uintptr_t destination, std::uintptr_t source, std::size_t size, Ends ends,
              HostWait wait) {
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (size == 0)
        return CUDA_SUCCESS;
    if (!destination || !source)
        return CUDA_ERROR_INVALID_VALUE;
    Span to, from;
    if (const CUresult result = classify(destination, size, &to); result != CUDA_SUCCESS)
        return result;
    if (const CUresult result = classify(source, size, &from); result != CUDA_SUCCESS)
        return result;
    const bool coherent = settings().host_page_tables;
    if ((ends == Ends::h2d || ends == Ends::d2d) && to.pageable() && !coherent)
        return CUDA_ERROR_INVALID_VALUE;
    if ((ends == Ends::d2h || ends == Ends::d2d) && from.pageable() && !coherent)
        return CUDA_ERROR_INVALID_VALUE;

    const Direction direction = direction_of(to, from, ends);
    const bool captured = capturing(stream);
    if (captured && wait == HostWait::synchronous)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (wait == HostWait::synchronous && capture_forbids(stream->context))
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    count_copy(direction, size);

    // A graph node, and memory whose pages the device shares with the host, are read when the device gets there.
    const auto plain = [&](CompletionPtr* done) {
        return issue(
            stream, engine_of(direction), [=] { transfer(to, from, size, direction); }, done);
    };
    if (captured)
        return plain(nullptr);
    if (to.managed() || from.managed())
        return run_and_wait(stream, direction, to, from);
    if (direction == Direction::h2h) {
        // Fully synchronous with respect to the host (CUDA Runtime API, "API synchronization behavior").
        machine().wait_stream(stream);
        raw_copy(reinterpret_cast<void*>(destination), reinterpret_cast<const void*>(source), size);
        return CUDA_SUCCESS;
    }
    if (!coherent && from.pageable()) {
        if (wait == HostWait::asynchronous && acquire_staging(size))
            return upload_staged(stream, to, from);
        return upload_pageable(stream, to, from);
    }
    if (!coherent && to.pageable())
        return download_pageable(stream, to, from);
    CompletionPtr done;
    const CUresult result = plain(&done);
    // Device to device does not hold the host even in the synchronous call (measured: H200, driver 580.159.04).
    if (result == CUDA_SUCCESS && done && wait == HostWait::synchronous && direction != Direction::d2d)
        machine().wait(done);
    return result;
}

CUresult fill(const StreamPtr& stream, CUdeviceptr destination, std::uint32_t value, std::size_t width,
              std::size_t count, HostWait wait) {
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (count == 0)
        return CUDA_SUCCESS;
    if (destination % width)
        return CUDA_ERROR_INVALID_VALUE;
    Span to;
    const std::size_t size = width * count;
    if (const CUresult result = classify(destination, size, &to); result != CUDA_SUCCESS)
        return result;
    if (to.pageable())
        return CUDA_ERROR_INVALID_VALUE;
    CompletionPtr done;
    const CUresult result = issue(
        stream, Engine::compute,
        [=] {
            std::vector<char> pattern(std::min<std::size_t>(size, 1 << 20));
            for (std::size_t i = 0; i < pattern.size(); i += width)
                raw_copy(&pattern[i], &value, width);
            for (std::size_t at = 0; at < size; at += pattern.size()) {
                const std::size_t part = std::min(pattern.size(), size - at);
                dma_copy(part_of(to, at, part), own(pattern, part), 0, part);
            }
        },
        &done);
    // Only a memset of pinned host memory holds the host (CUDA Runtime API, "API synchronization behavior").
    if (result == CUDA_SUCCESS && done && wait == HostWait::synchronous && to.range->pinned_host())
        machine().wait(done);
    return result;
}

}  // namespace simcuda
