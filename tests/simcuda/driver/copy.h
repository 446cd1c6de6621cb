// Copies: which engine, and does the host wait. A strided copy and one to an array behave as a plain one of the same
// memory kinds and size (an assumption: only plain copies were measured).
#pragma once

#include "calls.h"
#include "context.h"
#include "region.h"

namespace simcuda {

enum class HostWait { asynchronous, synchronous };

// What the entry point says that a pointer is; `unified` leaves it to unified addressing.
enum class Side { host, device, unified };

// One end of a copy.
struct End {
    Region region;
    Side side = Side::unified;
};

// When the source is read (cuda.h, CUmemcpySrcAccessOrder): as the functions without that choice do it, in stream order
// even if it is pageable, or before the call returns. "Any order" allows both, and the stand-in does what it does
// without the choice of the source's kind: stream order.
enum class SourceOrder { usual, stream, during_call };

Direction direction_of(const End& to, const End& from);

// CUDA_ERROR_INVALID_VALUE for pageable memory where an entry point asks for memory of the device, unless the device
// shares the host's page tables.
CUresult check_device_access(const Span& span);

// On engine threads.
void fill_region(const Region& to, std::uint32_t value, std::size_t width);

// CUDA_SUCCESS for a copy of nothing. The regions are not empty. `description` is what a captured copy leaves in its
// node; without one the node's parameters cannot be asked for.
CUresult copy(const StreamPtr& stream, const End& to, const End& from, HostWait wait,
              SourceOrder order = SourceOrder::usual, const CUDA_MEMCPY3D* description = nullptr);

// Contiguous memory. A size of zero is a success, a null pointer is not.
CUresult copy(const StreamPtr& stream, std::uintptr_t to, Side to_side, std::uintptr_t from, Side from_side,
              std::size_t size, HostWait wait);

// `value` repeated over the region; `width` of it is 1, 2 or 4 bytes, and divides the region's rows.
CUresult fill(const StreamPtr& stream, const Region& to, std::uint32_t value, std::size_t width, HostWait wait);

}  // namespace simcuda
