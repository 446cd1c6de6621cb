// Argument lists of the intercepted functions, one a shape. Types are the ABI's: handles are void*, device addresses 64
// bits (32 in the CUDA 2 functions), enumerations int. No CUDA header is needed, so one build fits every toolkit; that
// the lists match the headers' prototypes is checked by tests/unit/abi_test.cpp.
//
// PINCHECK_PARAMS_x is the parameter list, PINCHECK_ARGS_x the same names with a leading comma.
#pragma once

#include <cstddef>
#include <cstdint>

// clang-format off
#define PINCHECK_PARAMS_runtime_copy        (void* dst, const void* src, std::size_t bytes, int kind)
#define PINCHECK_ARGS_runtime_copy          , dst, src, bytes, kind
#define PINCHECK_PARAMS_runtime_copy_async  (void* dst, const void* src, std::size_t bytes, int kind, void* stream)
#define PINCHECK_ARGS_runtime_copy_async    , dst, src, bytes, kind, stream

#define PINCHECK_PARAMS_driver_h2d          (std::uint64_t dst, const void* src, std::size_t bytes)
#define PINCHECK_ARGS_driver_h2d            , dst, src, bytes
#define PINCHECK_PARAMS_driver_h2d_async    (std::uint64_t dst, const void* src, std::size_t bytes, void* stream)
#define PINCHECK_ARGS_driver_h2d_async      , dst, src, bytes, stream
#define PINCHECK_PARAMS_driver_h2d_v1       (std::uint32_t dst, const void* src, std::uint32_t bytes)
#define PINCHECK_ARGS_driver_h2d_v1         , dst, src, bytes
#define PINCHECK_PARAMS_driver_h2d_async_v1 (std::uint32_t dst, const void* src, std::uint32_t bytes, void* stream)
#define PINCHECK_ARGS_driver_h2d_async_v1   , dst, src, bytes, stream

#define PINCHECK_PARAMS_driver_d2h          (void* dst, std::uint64_t src, std::size_t bytes)
#define PINCHECK_ARGS_driver_d2h            , dst, src, bytes
#define PINCHECK_PARAMS_driver_d2h_async    (void* dst, std::uint64_t src, std::size_t bytes, void* stream)
#define PINCHECK_ARGS_driver_d2h_async      , dst, src, bytes, stream
#define PINCHECK_PARAMS_driver_d2h_v1       (void* dst, std::uint32_t src, std::uint32_t bytes)
#define PINCHECK_ARGS_driver_d2h_v1         , dst, src, bytes
#define PINCHECK_PARAMS_driver_d2h_async_v1 (void* dst, std::uint32_t src, std::uint32_t bytes, void* stream)
#define PINCHECK_ARGS_driver_d2h_async_v1   , dst, src, bytes, stream

#define PINCHECK_PARAMS_driver_copy         (std::uint64_t dst, std::uint64_t src, std::size_t bytes)
#define PINCHECK_ARGS_driver_copy           , dst, src, bytes
#define PINCHECK_PARAMS_driver_copy_async   (std::uint64_t dst, std::uint64_t src, std::size_t bytes, void* stream)
#define PINCHECK_ARGS_driver_copy_async     , dst, src, bytes, stream

#define PINCHECK_PARAMS_host_alloc          (void** pointer, std::size_t bytes, unsigned flags)
#define PINCHECK_ARGS_host_alloc            , pointer, bytes, flags
#define PINCHECK_PARAMS_malloc_host         (void** pointer, std::size_t bytes)
#define PINCHECK_ARGS_malloc_host           , pointer, bytes
#define PINCHECK_PARAMS_malloc_host_v1      (void** pointer, std::uint32_t bytes)
#define PINCHECK_ARGS_malloc_host_v1        , pointer, bytes
#define PINCHECK_PARAMS_free_host           (void* pointer)
#define PINCHECK_ARGS_free_host             , pointer
#define PINCHECK_PARAMS_host_register       (void* pointer, std::size_t bytes, unsigned flags)
#define PINCHECK_ARGS_host_register         , pointer, bytes, flags
#define PINCHECK_PARAMS_host_unregister     (void* pointer)
#define PINCHECK_ARGS_host_unregister       , pointer
#define PINCHECK_PARAMS_managed_alloc       (std::uint64_t* pointer, std::size_t bytes, unsigned flags)
#define PINCHECK_ARGS_managed_alloc         , pointer, bytes, flags

#define PINCHECK_PARAMS_stream_sync         (void* stream)
#define PINCHECK_ARGS_stream_sync           , stream
#define PINCHECK_PARAMS_event_sync          (void* event)
#define PINCHECK_ARGS_event_sync            , event
#define PINCHECK_PARAMS_device_sync         ()
#define PINCHECK_ARGS_device_sync
#define PINCHECK_PARAMS_context_sync        (void* context)
#define PINCHECK_ARGS_context_sync          , context

#define PINCHECK_PARAMS_capture_begin_v1    (void* stream)
#define PINCHECK_ARGS_capture_begin_v1      , stream
#define PINCHECK_PARAMS_capture_begin       (void* stream, int mode)
#define PINCHECK_ARGS_capture_begin         , stream, mode
#define PINCHECK_PARAMS_capture_to_graph \
    (void* stream, void* graph, const void* dependencies, const void* data, std::size_t count, int mode)
#define PINCHECK_ARGS_capture_to_graph      , stream, graph, dependencies, data, count, mode
#define PINCHECK_PARAMS_capture_end         (void* stream, void** graph)
#define PINCHECK_ARGS_capture_end           , stream, graph

#define PINCHECK_PARAMS_launch                                                                                     \
    (void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,        \
     unsigned block_z, unsigned shared_bytes, void* stream, void** parameters, void** extra)
#define PINCHECK_ARGS_launch \
    , function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, parameters, extra
#define PINCHECK_PARAMS_launch_ex           (const void* config, void* function, void** parameters, void** extra)
#define PINCHECK_ARGS_launch_ex             , config, function, parameters, extra
#define PINCHECK_PARAMS_graph_launch        (void* graph, void* stream)
#define PINCHECK_ARGS_graph_launch          , graph, stream
#define PINCHECK_PARAMS_event_record        (void* event, void* stream)
#define PINCHECK_ARGS_event_record          , event, stream
#define PINCHECK_PARAMS_event_record_flags  (void* event, void* stream, unsigned flags)
#define PINCHECK_ARGS_event_record_flags    , event, stream, flags
#define PINCHECK_PARAMS_wait_event          (void* stream, void* event, unsigned flags)
#define PINCHECK_ARGS_wait_event            , stream, event, flags

#define PINCHECK_PARAMS_lookup_v1           (const char* name, void** function, int version, std::uint64_t flags)
#define PINCHECK_ARGS_lookup_v1             , name, function, version, flags
#define PINCHECK_PARAMS_lookup_v2 \
    (const char* name, void** function, int version, std::uint64_t flags, int* status)
#define PINCHECK_ARGS_lookup_v2             , name, function, version, flags, status
// clang-format on
