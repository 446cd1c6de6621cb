// Argument lists of the intercepted functions, one a shape. Types are the ABI's: handles are void*, device addresses 64
// bits (32 in the CUDA 2 functions), enumerations int. No CUDA header is needed, so one build fits every toolkit; that
// the lists match the headers' prototypes is checked by tests/unit/abi_test.cpp.
//
// PINCHECK_PARAMS_x is the parameter list, PINCHECK_ARGS_x the same names with a leading comma.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda_structs.h"
#include "shapes_stream.h"

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

#define PINCHECK_PARAMS_runtime_2d \
    (void* dst, std::size_t dst_pitch, const void* src, std::size_t src_pitch, std::size_t width, std::size_t \
     height, int kind)
#define PINCHECK_ARGS_runtime_2d , dst, dst_pitch, src, src_pitch, width, height, kind
#define PINCHECK_PARAMS_runtime_2d_async \
    (void* dst, std::size_t dst_pitch, const void* src, std::size_t src_pitch, std::size_t width, std::size_t \
     height, int kind, void* stream)
#define PINCHECK_ARGS_runtime_2d_async , dst, dst_pitch, src, src_pitch, width, height, kind, stream
#define PINCHECK_PARAMS_runtime_2d_to_array \
    (void* dst, std::size_t x, std::size_t y, const void* src, std::size_t src_pitch, std::size_t width, \
     std::size_t height, int kind)
#define PINCHECK_ARGS_runtime_2d_to_array , dst, x, y, src, src_pitch, width, height, kind
#define PINCHECK_PARAMS_runtime_2d_to_array_async \
    (void* dst, std::size_t x, std::size_t y, const void* src, std::size_t src_pitch, std::size_t width, \
     std::size_t height, int kind, void* stream)
#define PINCHECK_ARGS_runtime_2d_to_array_async , dst, x, y, src, src_pitch, width, height, kind, stream
#define PINCHECK_PARAMS_runtime_2d_from_array \
    (void* dst, std::size_t dst_pitch, const void* src, std::size_t x, std::size_t y, std::size_t width, \
     std::size_t height, int kind)
#define PINCHECK_ARGS_runtime_2d_from_array , dst, dst_pitch, src, x, y, width, height, kind
#define PINCHECK_PARAMS_runtime_2d_from_array_async \
    (void* dst, std::size_t dst_pitch, const void* src, std::size_t x, std::size_t y, std::size_t width, \
     std::size_t height, int kind, void* stream)
#define PINCHECK_ARGS_runtime_2d_from_array_async , dst, dst_pitch, src, x, y, width, height, kind, stream
#define PINCHECK_PARAMS_runtime_2d_arrays \
    (void* dst, std::size_t dst_x, std::size_t dst_y, const void* src, std::size_t src_x, std::size_t src_y, \
     std::size_t width, std::size_t height, int kind)
#define PINCHECK_ARGS_runtime_2d_arrays , dst, dst_x, dst_y, src, src_x, src_y, width, height, kind
#define PINCHECK_PARAMS_runtime_to_array \
    (void* dst, std::size_t x, std::size_t y, const void* src, std::size_t bytes, int kind)
#define PINCHECK_ARGS_runtime_to_array , dst, x, y, src, bytes, kind
#define PINCHECK_PARAMS_runtime_to_array_async \
    (void* dst, std::size_t x, std::size_t y, const void* src, std::size_t bytes, int kind, void* stream)
#define PINCHECK_ARGS_runtime_to_array_async , dst, x, y, src, bytes, kind, stream
#define PINCHECK_PARAMS_runtime_from_array \
    (void* dst, const void* src, std::size_t x, std::size_t y, std::size_t bytes, int kind)
#define PINCHECK_ARGS_runtime_from_array , dst, src, x, y, bytes, kind
#define PINCHECK_PARAMS_runtime_from_array_async \
    (void* dst, const void* src, std::size_t x, std::size_t y, std::size_t bytes, int kind, void* stream)
#define PINCHECK_ARGS_runtime_from_array_async , dst, src, x, y, bytes, kind, stream
#define PINCHECK_PARAMS_runtime_arrays \
    (void* dst, std::size_t dst_x, std::size_t dst_y, const void* src, std::size_t src_x, std::size_t src_y, \
     std::size_t bytes, int kind)
#define PINCHECK_ARGS_runtime_arrays , dst, dst_x, dst_y, src, src_x, src_y, bytes, kind
#define PINCHECK_PARAMS_runtime_3d (const void* parameters)
#define PINCHECK_ARGS_runtime_3d , parameters
#define PINCHECK_PARAMS_runtime_3d_async (const void* parameters, void* stream)
#define PINCHECK_ARGS_runtime_3d_async , parameters, stream
#define PINCHECK_PARAMS_runtime_peer (void* dst, int dst_device, const void* src, int src_device, std::size_t bytes)
#define PINCHECK_ARGS_runtime_peer , dst, dst_device, src, src_device, bytes
#define PINCHECK_PARAMS_runtime_peer_async \
    (void* dst, int dst_device, const void* src, int src_device, std::size_t bytes, void* stream)
#define PINCHECK_ARGS_runtime_peer_async , dst, dst_device, src, src_device, bytes, stream
#define PINCHECK_PARAMS_runtime_to_symbol \
    (const void* symbol, const void* src, std::size_t bytes, std::size_t offset, int kind)
#define PINCHECK_ARGS_runtime_to_symbol , symbol, src, bytes, offset, kind
#define PINCHECK_PARAMS_runtime_to_symbol_async \
    (const void* symbol, const void* src, std::size_t bytes, std::size_t offset, int kind, void* stream)
#define PINCHECK_ARGS_runtime_to_symbol_async , symbol, src, bytes, offset, kind, stream
#define PINCHECK_PARAMS_runtime_from_symbol \
    (void* dst, const void* symbol, std::size_t bytes, std::size_t offset, int kind)
#define PINCHECK_ARGS_runtime_from_symbol , dst, symbol, bytes, offset, kind
#define PINCHECK_PARAMS_runtime_from_symbol_async \
    (void* dst, const void* symbol, std::size_t bytes, std::size_t offset, int kind, void* stream)
#define PINCHECK_ARGS_runtime_from_symbol_async , dst, symbol, bytes, offset, kind, stream
#define PINCHECK_PARAMS_runtime_set (void* pointer, int value, std::size_t bytes)
#define PINCHECK_ARGS_runtime_set , pointer, value, bytes
#define PINCHECK_PARAMS_runtime_set_async (void* pointer, int value, std::size_t bytes, void* stream)
#define PINCHECK_ARGS_runtime_set_async , pointer, value, bytes, stream
#define PINCHECK_PARAMS_runtime_set_2d \
    (void* pointer, std::size_t pitch, int value, std::size_t width, std::size_t height)
#define PINCHECK_ARGS_runtime_set_2d , pointer, pitch, value, width, height
#define PINCHECK_PARAMS_runtime_set_2d_async \
    (void* pointer, std::size_t pitch, int value, std::size_t width, std::size_t height, void* stream)
#define PINCHECK_ARGS_runtime_set_2d_async , pointer, pitch, value, width, height, stream
#define PINCHECK_PARAMS_runtime_set_3d (::pincheck::cuda_abi::PitchedPointer pointer, int value, ::pincheck::cuda_abi::Extent extent)
#define PINCHECK_ARGS_runtime_set_3d , pointer, value, extent
#define PINCHECK_PARAMS_runtime_set_3d_async \
    (::pincheck::cuda_abi::PitchedPointer pointer, int value, ::pincheck::cuda_abi::Extent extent, void* stream)
#define PINCHECK_ARGS_runtime_set_3d_async , pointer, value, extent, stream
#define PINCHECK_PARAMS_runtime_managed (void** pointer, std::size_t bytes, unsigned flags)
#define PINCHECK_ARGS_runtime_managed , pointer, bytes, flags
#define PINCHECK_PARAMS_runtime_free (void* pointer)
#define PINCHECK_ARGS_runtime_free , pointer
#define PINCHECK_PARAMS_runtime_graph_launch (void* graph, void* stream)
#define PINCHECK_ARGS_runtime_graph_launch , graph, stream
#define PINCHECK_PARAMS_runtime_add_copy \
    (void** node, void* graph, const void* dependencies, std::size_t count, const void* parameters)
#define PINCHECK_ARGS_runtime_add_copy , node, graph, dependencies, count, parameters
#define PINCHECK_PARAMS_runtime_add_copy_1d \
    (void** node, void* graph, const void* dependencies, std::size_t count, void* dst, const void* src, \
     std::size_t bytes, int kind)
#define PINCHECK_ARGS_runtime_add_copy_1d , node, graph, dependencies, count, dst, src, bytes, kind
#define PINCHECK_PARAMS_runtime_add_to_symbol \
    (void** node, void* graph, const void* dependencies, std::size_t count, const void* symbol, const void* src, \
     std::size_t bytes, std::size_t offset, int kind)
#define PINCHECK_ARGS_runtime_add_to_symbol , node, graph, dependencies, count, symbol, src, bytes, offset, kind
#define PINCHECK_PARAMS_runtime_add_from_symbol \
    (void** node, void* graph, const void* dependencies, std::size_t count, void* dst, const void* symbol, \
     std::size_t bytes, std::size_t offset, int kind)
#define PINCHECK_ARGS_runtime_add_from_symbol , node, graph, dependencies, count, dst, symbol, bytes, offset, kind

#define PINCHECK_PARAMS_driver_d2d (std::uint64_t dst, std::uint64_t src, std::size_t bytes)
#define PINCHECK_ARGS_driver_d2d , dst, src, bytes
#define PINCHECK_PARAMS_driver_d2d_v1 (std::uint32_t dst, std::uint32_t src, std::uint32_t bytes)
#define PINCHECK_ARGS_driver_d2d_v1 , dst, src, bytes
#define PINCHECK_PARAMS_driver_d2d_async (std::uint64_t dst, std::uint64_t src, std::size_t bytes, void* stream)
#define PINCHECK_ARGS_driver_d2d_async , dst, src, bytes, stream
#define PINCHECK_PARAMS_driver_d2d_async_v1 (std::uint32_t dst, std::uint32_t src, std::uint32_t bytes, void* stream)
#define PINCHECK_ARGS_driver_d2d_async_v1 , dst, src, bytes, stream
#define PINCHECK_PARAMS_driver_peer \
    (std::uint64_t dst, void* dst_context, std::uint64_t src, void* src_context, std::size_t bytes)
#define PINCHECK_ARGS_driver_peer , dst, dst_context, src, src_context, bytes
#define PINCHECK_PARAMS_driver_peer_async \
    (std::uint64_t dst, void* dst_context, std::uint64_t src, void* src_context, std::size_t bytes, void* stream)
#define PINCHECK_ARGS_driver_peer_async , dst, dst_context, src, src_context, bytes, stream
#define PINCHECK_PARAMS_driver_d2a (void* array, std::size_t offset, std::uint64_t src, std::size_t bytes)
#define PINCHECK_ARGS_driver_d2a , array, offset, src, bytes
#define PINCHECK_PARAMS_driver_d2a_v1 (void* array, std::uint32_t offset, std::uint32_t src, std::uint32_t bytes)
#define PINCHECK_ARGS_driver_d2a_v1 , array, offset, src, bytes
#define PINCHECK_PARAMS_driver_a2d (std::uint64_t dst, void* array, std::size_t offset, std::size_t bytes)
#define PINCHECK_ARGS_driver_a2d , dst, array, offset, bytes
#define PINCHECK_PARAMS_driver_a2d_v1 (std::uint32_t dst, void* array, std::uint32_t offset, std::uint32_t bytes)
#define PINCHECK_ARGS_driver_a2d_v1 , dst, array, offset, bytes
#define PINCHECK_PARAMS_driver_h2a (void* array, std::size_t offset, const void* src, std::size_t bytes)
#define PINCHECK_ARGS_driver_h2a , array, offset, src, bytes
#define PINCHECK_PARAMS_driver_h2a_v1 (void* array, std::uint32_t offset, const void* src, std::uint32_t bytes)
#define PINCHECK_ARGS_driver_h2a_v1 , array, offset, src, bytes
#define PINCHECK_PARAMS_driver_h2a_async \
    (void* array, std::size_t offset, const void* src, std::size_t bytes, void* stream)
#define PINCHECK_ARGS_driver_h2a_async , array, offset, src, bytes, stream
#define PINCHECK_PARAMS_driver_h2a_async_v1 \
    (void* array, std::uint32_t offset, const void* src, std::uint32_t bytes, void* stream)
#define PINCHECK_ARGS_driver_h2a_async_v1 , array, offset, src, bytes, stream
#define PINCHECK_PARAMS_driver_a2h (void* dst, void* array, std::size_t offset, std::size_t bytes)
#define PINCHECK_ARGS_driver_a2h , dst, array, offset, bytes
#define PINCHECK_PARAMS_driver_a2h_v1 (void* dst, void* array, std::uint32_t offset, std::uint32_t bytes)
#define PINCHECK_ARGS_driver_a2h_v1 , dst, array, offset, bytes
#define PINCHECK_PARAMS_driver_a2h_async (void* dst, void* array, std::size_t offset, std::size_t bytes, void* stream)
#define PINCHECK_ARGS_driver_a2h_async , dst, array, offset, bytes, stream
#define PINCHECK_PARAMS_driver_a2h_async_v1 \
    (void* dst, void* array, std::uint32_t offset, std::uint32_t bytes, void* stream)
#define PINCHECK_ARGS_driver_a2h_async_v1 , dst, array, offset, bytes, stream
#define PINCHECK_PARAMS_driver_a2a \
    (void* dst, std::size_t dst_offset, void* src, std::size_t src_offset, std::size_t bytes)
#define PINCHECK_ARGS_driver_a2a , dst, dst_offset, src, src_offset, bytes
#define PINCHECK_PARAMS_driver_a2a_v1 \
    (void* dst, std::uint32_t dst_offset, void* src, std::uint32_t src_offset, std::uint32_t bytes)
#define PINCHECK_ARGS_driver_a2a_v1 , dst, dst_offset, src, src_offset, bytes
#define PINCHECK_PARAMS_driver_2d (const ::pincheck::cuda_abi::Copy2DV2* copy)
#define PINCHECK_ARGS_driver_2d , copy
#define PINCHECK_PARAMS_driver_2d_v1 (const ::pincheck::cuda_abi::Copy2DV1* copy)
#define PINCHECK_ARGS_driver_2d_v1 , copy
#define PINCHECK_PARAMS_driver_2d_async (const ::pincheck::cuda_abi::Copy2DV2* copy, void* stream)
#define PINCHECK_ARGS_driver_2d_async , copy, stream
#define PINCHECK_PARAMS_driver_2d_async_v1 (const ::pincheck::cuda_abi::Copy2DV1* copy, void* stream)
#define PINCHECK_ARGS_driver_2d_async_v1 , copy, stream
#define PINCHECK_PARAMS_driver_3d (const ::pincheck::cuda_abi::Copy3DV2* copy)
#define PINCHECK_ARGS_driver_3d , copy
#define PINCHECK_PARAMS_driver_3d_v1 (const ::pincheck::cuda_abi::Copy3DV1* copy)
#define PINCHECK_ARGS_driver_3d_v1 , copy
#define PINCHECK_PARAMS_driver_3d_async (const ::pincheck::cuda_abi::Copy3DV2* copy, void* stream)
#define PINCHECK_ARGS_driver_3d_async , copy, stream
#define PINCHECK_PARAMS_driver_3d_async_v1 (const ::pincheck::cuda_abi::Copy3DV1* copy, void* stream)
#define PINCHECK_ARGS_driver_3d_async_v1 , copy, stream
#define PINCHECK_PARAMS_driver_batch_v1 \
    (const std::uint64_t* dsts, const std::uint64_t* srcs, const std::size_t* sizes, std::size_t count, const \
     ::pincheck::cuda_abi::CopyAttributes* attributes, const std::size_t* first, std::size_t attribute_count, std::size_t* failed, \
     void* stream)
#define PINCHECK_ARGS_driver_batch_v1 , dsts, srcs, sizes, count, attributes, first, attribute_count, failed, stream
#define PINCHECK_PARAMS_driver_batch \
    (const std::uint64_t* dsts, const std::uint64_t* srcs, const std::size_t* sizes, std::size_t count, const \
     ::pincheck::cuda_abi::CopyAttributes* attributes, const std::size_t* first, std::size_t attribute_count, void* stream)
#define PINCHECK_ARGS_driver_batch , dsts, srcs, sizes, count, attributes, first, attribute_count, stream
#define PINCHECK_PARAMS_driver_3d_batch_v1 \
    (std::size_t count, const ::pincheck::cuda_abi::BatchCopy3D* copies, std::size_t* failed, std::uint64_t flags, void* stream)
#define PINCHECK_ARGS_driver_3d_batch_v1 , count, copies, failed, flags, stream
#define PINCHECK_PARAMS_driver_3d_batch \
    (std::size_t count, const ::pincheck::cuda_abi::BatchCopy3D* copies, std::uint64_t flags, void* stream)
#define PINCHECK_ARGS_driver_3d_batch , count, copies, flags, stream

#define PINCHECK_PARAMS_driver_set8 (std::uint64_t dst, unsigned char value, std::size_t count)
#define PINCHECK_ARGS_driver_set8 , dst, value, count
#define PINCHECK_PARAMS_driver_set8_v1 (std::uint32_t dst, unsigned char value, std::uint32_t count)
#define PINCHECK_ARGS_driver_set8_v1 , dst, value, count
#define PINCHECK_PARAMS_driver_set8_async (std::uint64_t dst, unsigned char value, std::size_t count, void* stream)
#define PINCHECK_ARGS_driver_set8_async , dst, value, count, stream
#define PINCHECK_PARAMS_driver_set8_2d \
    (std::uint64_t dst, std::size_t pitch, unsigned char value, std::size_t width, std::size_t height)
#define PINCHECK_ARGS_driver_set8_2d , dst, pitch, value, width, height
#define PINCHECK_PARAMS_driver_set8_2d_v1 \
    (std::uint32_t dst, std::uint32_t pitch, unsigned char value, std::uint32_t width, std::uint32_t height)
#define PINCHECK_ARGS_driver_set8_2d_v1 , dst, pitch, value, width, height
#define PINCHECK_PARAMS_driver_set8_2d_async \
    (std::uint64_t dst, std::size_t pitch, unsigned char value, std::size_t width, std::size_t height, void* \
     stream)
#define PINCHECK_ARGS_driver_set8_2d_async , dst, pitch, value, width, height, stream
#define PINCHECK_PARAMS_driver_set16 (std::uint64_t dst, unsigned short value, std::size_t count)
#define PINCHECK_ARGS_driver_set16 , dst, value, count
#define PINCHECK_PARAMS_driver_set16_v1 (std::uint32_t dst, unsigned short value, std::uint32_t count)
#define PINCHECK_ARGS_driver_set16_v1 , dst, value, count
#define PINCHECK_PARAMS_driver_set16_async (std::uint64_t dst, unsigned short value, std::size_t count, void* stream)
#define PINCHECK_ARGS_driver_set16_async , dst, value, count, stream
#define PINCHECK_PARAMS_driver_set16_2d \
    (std::uint64_t dst, std::size_t pitch, unsigned short value, std::size_t width, std::size_t height)
#define PINCHECK_ARGS_driver_set16_2d , dst, pitch, value, width, height
#define PINCHECK_PARAMS_driver_set16_2d_v1 \
    (std::uint32_t dst, std::uint32_t pitch, unsigned short value, std::uint32_t width, std::uint32_t height)
#define PINCHECK_ARGS_driver_set16_2d_v1 , dst, pitch, value, width, height
#define PINCHECK_PARAMS_driver_set16_2d_async \
    (std::uint64_t dst, std::size_t pitch, unsigned short value, std::size_t width, std::size_t height, void* \
     stream)
#define PINCHECK_ARGS_driver_set16_2d_async , dst, pitch, value, width, height, stream
#define PINCHECK_PARAMS_driver_set32 (std::uint64_t dst, unsigned value, std::size_t count)
#define PINCHECK_ARGS_driver_set32 , dst, value, count
#define PINCHECK_PARAMS_driver_set32_v1 (std::uint32_t dst, unsigned value, std::uint32_t count)
#define PINCHECK_ARGS_driver_set32_v1 , dst, value, count
#define PINCHECK_PARAMS_driver_set32_async (std::uint64_t dst, unsigned value, std::size_t count, void* stream)
#define PINCHECK_ARGS_driver_set32_async , dst, value, count, stream
#define PINCHECK_PARAMS_driver_set32_2d \
    (std::uint64_t dst, std::size_t pitch, unsigned value, std::size_t width, std::size_t height)
#define PINCHECK_ARGS_driver_set32_2d , dst, pitch, value, width, height
#define PINCHECK_PARAMS_driver_set32_2d_v1 \
    (std::uint32_t dst, std::uint32_t pitch, unsigned value, std::uint32_t width, std::uint32_t height)
#define PINCHECK_ARGS_driver_set32_2d_v1 , dst, pitch, value, width, height
#define PINCHECK_PARAMS_driver_set32_2d_async \
    (std::uint64_t dst, std::size_t pitch, unsigned value, std::size_t width, std::size_t height, void* stream)
#define PINCHECK_ARGS_driver_set32_2d_async , dst, pitch, value, width, height, stream

#define PINCHECK_PARAMS_prefetch_v1 (std::uint64_t pointer, std::size_t bytes, int device, void* stream)
#define PINCHECK_ARGS_prefetch_v1 , pointer, bytes, device, stream
#define PINCHECK_PARAMS_prefetch \
    (std::uint64_t pointer, std::size_t bytes, ::pincheck::cuda_abi::Location location, unsigned flags, void* stream)
#define PINCHECK_ARGS_prefetch , pointer, bytes, location, flags, stream
#define PINCHECK_PARAMS_prefetch_batch \
    (const std::uint64_t* pointers, const std::size_t* sizes, std::size_t count, const ::pincheck::cuda_abi::Location* locations, \
     const std::size_t* first, std::size_t location_count, std::uint64_t flags, void* stream)
#define PINCHECK_ARGS_prefetch_batch , pointers, sizes, count, locations, first, location_count, flags, stream
#define PINCHECK_PARAMS_device_free (std::uint64_t pointer)
#define PINCHECK_ARGS_device_free , pointer
#define PINCHECK_PARAMS_device_free_v1 (std::uint32_t pointer)
#define PINCHECK_ARGS_device_free_v1 , pointer

#define PINCHECK_PARAMS_graph_add_copy \
    (void** node, void* graph, const void* dependencies, std::size_t count, const ::pincheck::cuda_abi::Copy3DV2* copy, void* \
     context)
#define PINCHECK_ARGS_graph_add_copy , node, graph, dependencies, count, copy, context
#define PINCHECK_PARAMS_graph_set_copy (void* node, const ::pincheck::cuda_abi::Copy3DV2* copy)
#define PINCHECK_ARGS_graph_set_copy , node, copy
#define PINCHECK_PARAMS_graph_exec_set_copy (void* executable, void* node, const ::pincheck::cuda_abi::Copy3DV2* copy, void* context)
#define PINCHECK_ARGS_graph_exec_set_copy , executable, node, copy, context
#define PINCHECK_PARAMS_graph_add_fill \
    (void** node, void* graph, const void* dependencies, std::size_t count, const ::pincheck::cuda_abi::MemsetNode* fill, void* \
     context)
#define PINCHECK_ARGS_graph_add_fill , node, graph, dependencies, count, fill, context
#define PINCHECK_PARAMS_graph_set_fill (void* node, const ::pincheck::cuda_abi::MemsetNode* fill)
#define PINCHECK_ARGS_graph_set_fill , node, fill
#define PINCHECK_PARAMS_graph_exec_set_fill (void* executable, void* node, const ::pincheck::cuda_abi::MemsetNode* fill, void* context)
#define PINCHECK_ARGS_graph_exec_set_fill , executable, node, fill, context
#define PINCHECK_PARAMS_graph_add_node \
    (void** node, void* graph, const void* dependencies, std::size_t count, const ::pincheck::cuda_abi::GraphNode* parameters)
#define PINCHECK_ARGS_graph_add_node , node, graph, dependencies, count, parameters
#define PINCHECK_PARAMS_graph_add_node_v2 \
    (void** node, void* graph, const void* dependencies, const void* data, std::size_t count, const \
     ::pincheck::cuda_abi::GraphNode* parameters)
#define PINCHECK_ARGS_graph_add_node_v2 , node, graph, dependencies, data, count, parameters
#define PINCHECK_PARAMS_graph_set_node (void* node, const ::pincheck::cuda_abi::GraphNode* parameters)
#define PINCHECK_ARGS_graph_set_node , node, parameters
#define PINCHECK_PARAMS_graph_exec_set_node (void* executable, void* node, const ::pincheck::cuda_abi::GraphNode* parameters)
#define PINCHECK_ARGS_graph_exec_set_node , executable, node, parameters
#define PINCHECK_PARAMS_graph_exec_set_child (void* executable, void* node, void* child)
#define PINCHECK_ARGS_graph_exec_set_child , executable, node, child
#define PINCHECK_PARAMS_graph_enable_node (void* executable, void* node, unsigned enabled)
#define PINCHECK_ARGS_graph_enable_node , executable, node, enabled
#define PINCHECK_PARAMS_graph_instantiate_v1 \
    (void** executable, void* graph, void** error_node, char* log, std::size_t log_bytes)
#define PINCHECK_ARGS_graph_instantiate_v1 , executable, graph, error_node, log, log_bytes
#define PINCHECK_PARAMS_graph_instantiate_flags (void** executable, void* graph, std::uint64_t flags)
#define PINCHECK_ARGS_graph_instantiate_flags , executable, graph, flags
#define PINCHECK_PARAMS_graph_instantiate_params (void** executable, void* graph, void* parameters)
#define PINCHECK_ARGS_graph_instantiate_params , executable, graph, parameters
#define PINCHECK_PARAMS_graph_update_v1 (void* executable, void* graph, void** error_node, int* result)
#define PINCHECK_ARGS_graph_update_v1 , executable, graph, error_node, result
#define PINCHECK_PARAMS_graph_update (void* executable, void* graph, void* result)
#define PINCHECK_ARGS_graph_update , executable, graph, result
#define PINCHECK_PARAMS_graph_destroy (void* executable)
#define PINCHECK_ARGS_graph_destroy , executable

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
#define PINCHECK_PARAMS_launch_cooperative                                                                         \
    (void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,        \
     unsigned block_z, unsigned shared_bytes, void* stream, void** parameters)
#define PINCHECK_ARGS_launch_cooperative \
    , function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, parameters
#define PINCHECK_PARAMS_module_load         (void** module, const void* source)
#define PINCHECK_ARGS_module_load           , module, source
#define PINCHECK_PARAMS_module_load_ex \
    (void** module, const void* image, unsigned count, void* options, void** values)
#define PINCHECK_ARGS_module_load_ex        , module, image, count, options, values
#define PINCHECK_PARAMS_library_load \
    (void** library, const void* source, void* jit_options, void** jit_values, unsigned jit_count, void* options, \
     void** values, unsigned count)
#define PINCHECK_ARGS_library_load \
    , library, source, jit_options, jit_values, jit_count, options, values, count
#define PINCHECK_PARAMS_launch_ex \
    (const ::pincheck::cuda_abi::LaunchConfig* config, void* function, void** parameters, void** extra)
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
