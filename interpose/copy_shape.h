// From the arguments of a copy call to the facts that matter: which bytes of which memory it moves. Pure functions.
#pragma once

#include <cstdint>

#include "cuda_structs.h"
#include "report/records.h"

namespace pincheck {

// One copy, fill or prefetch as its call describes it. Addresses of arrays are their handles.
struct CopyArguments {
    std::uintptr_t destination = 0;
    std::uintptr_t source = 0;
    std::uint64_t bytes = 0;  // that are moved
    void* stream = nullptr;   // null where the function takes none
    // From the first to one past the last byte that is read or written, gaps included; 0: `bytes`.
    std::uint64_t destination_span = 0;
    std::uint64_t source_span = 0;
    report::Direction direction = report::Direction::unknown;  // unknown: worked out from the pointers
    bool async = false;
    report::SourceOrder source_order = report::SourceOrder::stream;
    report::SiteKind kind = report::SiteKind::copy;
    // What is known without asking; none: ask, or follows from the direction.
    report::MemoryClass destination_is = report::MemoryClass::none;
    report::MemoryClass source_is = report::MemoryClass::none;
    bool graph_node = false;  // describes a node: copies nothing by itself

    // A copy whose both sides are ranges of memory.
    bool is_linear() const noexcept {
        return kind == report::SiteKind::copy && destination_is == report::MemoryClass::none &&
               source_is == report::MemoryClass::none && !graph_node;
    }
};

// Offset of the first byte, and the span, of a box of bytes in pitched memory. A pitch or slice height of 0 means
// packed. Wrong arguments (overflow) give a saturated span.
struct Box {
    std::uint64_t x, y, z;  // x in bytes
    std::uint64_t pitch;    // bytes
    std::uint64_t slice_height;
    std::uint64_t width;  // bytes
    std::uint64_t height;
    std::uint64_t depth;
};
std::uint64_t offset_of(const Box& box) noexcept;
std::uint64_t span_of(const Box& box) noexcept;
std::uint64_t bytes_of(const Box& box) noexcept;

// 2D and 3D copies of the driver. CUDA Driver API, cuMemcpy2D and cuMemcpy3D: the memory type says which of the three
// fields (host, device, array) counts; unified means the device field, of unknown kind.
CopyArguments describe(const cuda_abi::Copy2DV1& copy) noexcept;
CopyArguments describe(const cuda_abi::Copy2DV2& copy) noexcept;
CopyArguments describe(const cuda_abi::Copy3DV1& copy) noexcept;
CopyArguments describe(const cuda_abi::Copy3DV2& copy) noexcept;
CopyArguments describe(const cuda_abi::MemsetNode& node) noexcept;
// `element_bytes`: of the array that takes part, 1 where none does.
CopyArguments describe(const cuda_abi::BatchCopy3D& copy, std::uint64_t element_bytes) noexcept;

// Bytes of one element of an array; 0: not known. CUDA Driver API, CUarray_format.
std::uint64_t element_bytes(const cuda_abi::ArrayDescriptor& array) noexcept;

}  // namespace pincheck
