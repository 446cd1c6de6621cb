// The argument structs of the intercepted functions, as the driver's ABI lays them out. No CUDA header is needed; sizes
// and offsets are checked against the installed headers by tests/unit/interpose/abi_test.cpp. Enumerations are int.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pincheck::cuda_abi {

// CUmemorytype
inline constexpr unsigned kHost = 1;
inline constexpr unsigned kDevice = 2;
inline constexpr unsigned kArray = 3;
inline constexpr unsigned kUnified = 4;

// CUlaunchConfig.
struct LaunchConfig {
    unsigned grid[3];
    unsigned block[3];
    unsigned shared_bytes;
    void* stream;
    void* attributes;
    unsigned attribute_count;
};

// CUDA_MEMCPY2D_v1 (32-bit sizes and device addresses, CUDA 2 and 3.0) and CUDA_MEMCPY2D_v2.
template <class Size, class Address>
struct Copy2D {
    Size source_x;
    Size source_y;
    unsigned source_type;
    const void* source_host;
    Address source_device;
    void* source_array;
    Size source_pitch;
    Size destination_x;
    Size destination_y;
    unsigned destination_type;
    void* destination_host;
    Address destination_device;
    void* destination_array;
    Size destination_pitch;
    Size width;  // bytes
    Size height;
};
using Copy2DV1 = Copy2D<std::uint32_t, std::uint32_t>;
using Copy2DV2 = Copy2D<std::size_t, std::uint64_t>;

// CUDA_MEMCPY3D_v1, CUDA_MEMCPY3D_v2 and CUDA_MEMCPY3D_PEER_v1 (contexts where the others have reserved words).
template <class Size, class Address>
struct Copy3D {
    Size source_x;
    Size source_y;
    Size source_z;
    Size source_level;
    unsigned source_type;
    const void* source_host;
    Address source_device;
    void* source_array;
    void* source_context;
    Size source_pitch;
    Size source_height;
    Size destination_x;
    Size destination_y;
    Size destination_z;
    Size destination_level;
    unsigned destination_type;
    void* destination_host;
    Address destination_device;
    void* destination_array;
    void* destination_context;
    Size destination_pitch;
    Size destination_height;
    Size width;  // bytes
    Size height;
    Size depth;
};
using Copy3DV1 = Copy3D<std::uint32_t, std::uint32_t>;
using Copy3DV2 = Copy3D<std::size_t, std::uint64_t>;

struct IpcHandle {  // CUipcEventHandle
    char reserved[64];
};

struct Location {  // CUmemLocation
    int type;
    int id;
};
// CUmemLocationType: the device's memory; every other valid value is a place in the host's memory.
inline constexpr int kLocationDevice = 1;

struct CopyAttributes {  // CUmemcpyAttributes
    int source_access_order;
    Location source_hint;
    Location destination_hint;
    unsigned flags;
};

struct Extent {  // CUextent3D, cudaExtent
    std::size_t width;
    std::size_t height;
    std::size_t depth;
};

struct PitchedPointer {  // cudaPitchedPtr
    void* pointer;
    std::size_t pitch;
    std::size_t x_size;
    std::size_t y_size;
};

struct BatchOperand {  // CUmemcpy3DOperand
    int type;          // 1 pointer, 2 array
    union {
        struct {
            std::uint64_t address;
            std::size_t row_length;    // elements; 0: as wide as the extent
            std::size_t layer_height;  // rows; 0: as high as the extent
            Location hint;
        } pointer;
        struct {
            void* array;
            std::size_t x;
            std::size_t y;
            std::size_t z;
        } array;
    };
};
inline constexpr int kOperandPointer = 1;
inline constexpr int kOperandArray = 2;

struct BatchCopy3D {  // CUDA_MEMCPY3D_BATCH_OP
    BatchOperand source;
    BatchOperand destination;
    Extent extent;  // elements of the array that takes part; bytes where none does
    int source_access_order;
    unsigned flags;
};

struct ArrayDescriptor {  // CUDA_ARRAY3D_DESCRIPTOR_v2
    std::size_t width;
    std::size_t height;
    std::size_t depth;
    int format;
    unsigned channels;
    unsigned flags;
};

struct MemsetNode {  // CUDA_MEMSET_NODE_PARAMS_v1; v2 has a context behind it
    std::uint64_t destination;
    std::size_t pitch;
    unsigned value;
    unsigned element_bytes;
    std::size_t width;  // elements
    std::size_t height;
};

struct GraphNode {  // CUgraphNodeParams
    int type;
    int reserved[3];
    union {
        long long words[29];
        struct {
            int flags;
            int reserved;
            void* context;
            Copy3DV2 copy;
        } memcpy;
        MemsetNode memset;
        void* child_graph;
    };
    long long reserved2;
};
// CUgraphNodeType
inline constexpr int kNodeMemcpy = 1;
inline constexpr int kNodeMemset = 2;
inline constexpr int kNodeHostFunction = 3;
inline constexpr int kNodeChildGraph = 4;
inline constexpr int kNodeWaitEvent = 6;
inline constexpr int kNodeRecordEvent = 7;
inline constexpr int kNodeExternalWait = 9;
inline constexpr int kNodeBatchValues = 12;
inline constexpr int kNodeConditional = 13;

}  // namespace pincheck::cuda_abi
