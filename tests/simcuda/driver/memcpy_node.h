// Copies and memsets as graph nodes: CUDA_MEMCPY3D and CUDA_MEMSET_NODE_PARAMS, checked when the node is made and
// resolved when it runs.
#pragma once

#include "calls.h"
#include "copy.h"
#include "node_params.h"

namespace simcuda {

// The description of a plain copy, as stream capture records it.
CUDA_MEMCPY3D plain_copy(std::uintptr_t to, Side to_side, std::uintptr_t from, Side from_side, std::size_t size);

CUresult check_copy(const CUDA_MEMCPY3D& copy);
CUresult check_fill(const CUDA_MEMSET_NODE_PARAMS& fill);

// The direction in which the copy goes now; device to device when it cannot be told any more.
Direction direction_of(const CUDA_MEMCPY3D& copy);
std::size_t bytes_of(const CUDA_MEMCPY3D& copy);

// On engine threads. Memory that is gone by then stays as it is: what a real device does with it is not known.
void run_copy(const CUDA_MEMCPY3D& copy);
void run_fill(const CUDA_MEMSET_NODE_PARAMS& fill);

// The memory of a memset.
CUresult region_of(const CUDA_MEMSET_NODE_PARAMS& fill, Region* out);

// What the node copies now; empty for all nodes but copies.
std::optional<CopyRegions> copy_of(const NodeParams& params);
// What the node copies now if that is memory which the launch has to deal with (needs_host); empty for all other nodes.
std::optional<CopyRegions> host_copy(const NodeParams& params);

}  // namespace simcuda
