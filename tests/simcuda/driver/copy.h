// Copies: which engine, and does the host wait. A strided copy and one to an array behave as a plain one of the same
// memory kinds and size (measured: H200, driver 580.159.04: 2D copies of pageable memory of 256 KiB and 1 MiB to the
// device do not wait, one of 8 MiB does; to an array 1 MiB does not, 4 MiB does; all of them to pageable memory do).
#pragma once

#include <functional>

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

// When the source is read (cuda.h, CUmemcpySrcAccessOrder); `usual` is what functions without that choice do.
enum class SourceOrder { usual, stream, during_call, any };

Direction direction_of(const End& to, const End& from);
// As a profiler counts it.
Direction counted_direction(const End& to, const End& from);

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

// What a graph launch does with a copy node when its turn comes: it treats pageable memory as the copy calls do, with
// the same limits of staging (measured: H200, driver 580.159.04: up to 1 MiB to the device the source is a snapshot
// taken at the launch; 16 MiB, and everything to pageable memory, makes the launch wait for the work before it).
bool needs_host(const Region& to, const Region& from);
// For regions that need the host, when what the copy depends on has been issued to the stream. `work` gets what is left
// to an engine: the copy from the snapshot, or nothing when the launch has waited.
CUresult copy_at_launch(const StreamPtr& stream, Direction direction, const Region& to, const Region& from,
                        std::function<void()>* work);

// `value` repeated over the region; `width` of it is 1, 2 or 4 bytes, and divides the region's rows.
CUresult fill(const StreamPtr& stream, const Region& to, std::uint32_t value, std::size_t width, HostWait wait);

}  // namespace simcuda
