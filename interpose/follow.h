// Which calls are followed for Streams, and how, by the shape in the list. Launches are followed by their hook itself
// (hook_launch.h), which must be quick.
#pragma once

#include <cstddef>
#include <cstdint>

#include "api.h"

namespace pincheck {

enum class Follow : std::uint8_t {
    nothing,
    copy,      // work of copies and fills, into the stream that is the last argument
    blocking,  // the same into the default stream, by functions that wait as far as they are documented to
    last,      // other work, into the stream that is the last argument
    graph_launch,
    gate,      // the stream, which is the first argument, may wait for the host
    first,     // other work, into the stream that is the first argument
    external,  // waits for external semaphores; the stream is the last argument
    record,
    record_flags,
    wait_event,
    stream_wait,
    event_wait,
    two_events,
    device_wait,
    context_wait,
};

constexpr bool same_shape_text(const char* a, const char* b) noexcept {
    while (*a != 0 && *a == *b) {
        ++a;
        ++b;
    }
    return *a == *b;
}

constexpr Follow follow_of(const char* side, const char* shape) noexcept {
    constexpr struct {
        const char* shape;
        Follow follow;
    } kShapes[] = {
        {"graph_launch", Follow::graph_launch},
        {"event_record", Follow::record},
        {"event_record_flags", Follow::record_flags},
        {"wait_event", Follow::wait_event},
        {"stream_sync", Follow::stream_wait},
        {"stream_query", Follow::stream_wait},
        {"event_sync", Follow::event_wait},
        {"event_query", Follow::event_wait},
        {"event_elapsed", Follow::two_events},
        {"device_sync", Follow::device_wait},
        {"context_sync", Follow::context_wait},
        {"wait_value32", Follow::gate},
        {"wait_value64", Follow::gate},
        {"batch_values", Follow::gate},
        {"external_wait", Follow::external},
        {"write_value32", Follow::first},
        {"write_value64", Follow::first},
        {"external_signal", Follow::last},
        {"pool_alloc", Follow::last},
        {"pool_alloc_from", Follow::last},
    };
    if (!same_shape_text(side, "driver")) {
        return Follow::nothing;  // the driver's call inside is followed
    }
    for (const auto& row : kShapes) {
        if (same_shape_text(shape, row.shape)) {
            return row.follow;
        }
    }
    if (contains_text(shape, "prefetch") || (contains_text(shape, "driver_") && contains_text(shape, "_async")) ||
        contains_text(shape, "_batch")) {
        return Follow::copy;
    }
    return contains_text(shape, "driver_") ? Follow::blocking : Follow::nothing;
}
static_assert(follow_of("driver", "driver_h2d_async_v1") == Follow::copy);
static_assert(follow_of("driver", "driver_3d_batch_v1") == Follow::copy);
static_assert(follow_of("driver", "driver_set8_2d_async") == Follow::copy);
static_assert(follow_of("driver", "driver_h2d_v1") == Follow::blocking);
static_assert(follow_of("driver", "graph_add_copy") == Follow::nothing);
static_assert(follow_of("driver", "stream_sync") == Follow::stream_wait);
static_assert(follow_of("runtime", "stream_sync") == Follow::nothing);

}  // namespace pincheck
