// The part of shapes.h that is about streams and events: functions that are followed for the order of work (see
// follow.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda_structs.h"

// clang-format off
#define PINCHECK_PARAMS_stream_create       (void** stream, unsigned flags)
#define PINCHECK_ARGS_stream_create         , stream, flags
#define PINCHECK_PARAMS_stream_create_priority (void** stream, unsigned flags, int priority)
#define PINCHECK_ARGS_stream_create_priority , stream, flags, priority
#define PINCHECK_PARAMS_stream_create_green (void** stream, void* context, unsigned flags, int priority)
#define PINCHECK_ARGS_stream_create_green   , stream, context, flags, priority
#define PINCHECK_PARAMS_stream_destroy      (void* stream)
#define PINCHECK_ARGS_stream_destroy        , stream
#define PINCHECK_PARAMS_stream_query        (void* stream)
#define PINCHECK_ARGS_stream_query          , stream
#define PINCHECK_PARAMS_event_create        (void** event, unsigned flags)
#define PINCHECK_ARGS_event_create          , event, flags
#define PINCHECK_PARAMS_event_destroy       (void* event)
#define PINCHECK_ARGS_event_destroy         , event
#define PINCHECK_PARAMS_event_query         (void* event)
#define PINCHECK_ARGS_event_query           , event
#define PINCHECK_PARAMS_event_elapsed       (float* milliseconds, void* start, void* end)
#define PINCHECK_ARGS_event_elapsed         , milliseconds, start, end
#define PINCHECK_PARAMS_event_export        (void* handle, void* event)
#define PINCHECK_ARGS_event_export          , handle, event
#define PINCHECK_PARAMS_event_import        (void** event, ::pincheck::cuda_abi::IpcHandle handle)
#define PINCHECK_ARGS_event_import          , event, handle
#define PINCHECK_PARAMS_graph_add_record \
    (void** node, void* graph, const void* dependencies, std::size_t count, void* event)
#define PINCHECK_ARGS_graph_add_record      , node, graph, dependencies, count, event
#define PINCHECK_PARAMS_graph_set_record    (void* node, void* event)
#define PINCHECK_ARGS_graph_set_record      , node, event
#define PINCHECK_PARAMS_graph_exec_set_record (void* executable, void* node, void* event)
#define PINCHECK_ARGS_graph_exec_set_record , executable, node, event
#define PINCHECK_PARAMS_launch_host         (void* stream, void (*function)(void*), void* data)
#define PINCHECK_ARGS_launch_host           , stream, function, data
#define PINCHECK_PARAMS_add_callback \
    (void* stream, void (*callback)(void*, int, void*), void* data, unsigned flags)
#define PINCHECK_ARGS_add_callback          , stream, callback, data, flags
#define PINCHECK_PARAMS_wait_value32        (void* stream, std::uint64_t address, std::uint32_t value, unsigned flags)
#define PINCHECK_ARGS_wait_value32          , stream, address, value, flags
#define PINCHECK_PARAMS_wait_value64        (void* stream, std::uint64_t address, std::uint64_t value, unsigned flags)
#define PINCHECK_ARGS_wait_value64          , stream, address, value, flags
#define PINCHECK_PARAMS_pool_alloc          (std::uint64_t* pointer, std::size_t bytes, void* stream)
#define PINCHECK_ARGS_pool_alloc            , pointer, bytes, stream
#define PINCHECK_PARAMS_pool_alloc_from     (std::uint64_t* pointer, std::size_t bytes, void* pool, void* stream)
#define PINCHECK_ARGS_pool_alloc_from       , pointer, bytes, pool, stream
#define PINCHECK_PARAMS_write_value32       (void* stream, std::uint64_t address, std::uint32_t value, unsigned flags)
#define PINCHECK_ARGS_write_value32         , stream, address, value, flags
#define PINCHECK_PARAMS_write_value64       (void* stream, std::uint64_t address, std::uint64_t value, unsigned flags)
#define PINCHECK_ARGS_write_value64         , stream, address, value, flags
#define PINCHECK_PARAMS_batch_values        (void* stream, unsigned count, void* operations, unsigned flags)
#define PINCHECK_ARGS_batch_values          , stream, count, operations, flags
#define PINCHECK_PARAMS_external_signal     (void* const* semaphores, const void* parameters, unsigned count, void* stream)
#define PINCHECK_ARGS_external_signal       , semaphores, parameters, count, stream
#define PINCHECK_PARAMS_external_wait       (void* const* semaphores, const void* parameters, unsigned count, void* stream)
#define PINCHECK_ARGS_external_wait         , semaphores, parameters, count, stream
#define PINCHECK_PARAMS_context_destroy     (void* context)
#define PINCHECK_ARGS_context_destroy       , context
#define PINCHECK_PARAMS_device_reset        (int device)
#define PINCHECK_ARGS_device_reset          , device
#define PINCHECK_PARAMS_device_release      (int device)
#define PINCHECK_ARGS_device_release        , device
// clang-format on
