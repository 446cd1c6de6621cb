// Device memory of other processes (cuda.h, cuIpcGetMemHandle): the exported allocation's pages become those of a file
// without a name, which the other process opens through /proc.
#pragma once

#include "cuda_symbols.h"
#include "memory.h"

namespace simcuda {

// Whether a handle can be had for it: what cuMemAlloc gave, in this process.
bool exportable(const Range& range);

// The allocation that holds the address, which need not be its beginning. Waits for the device where
// the allocation has no file yet.
CUresult export_memory(CUdeviceptr address, CUipcMemHandle* out);

// Maps it, or counts one more use where the context has it open. Every open needs its close; the last one waits for the
// device and unmaps.
CUresult open_exported(Context* context, const CUipcMemHandle& handle, CUdeviceptr* out);
CUresult close_exported(Context* context, CUdeviceptr base);

}  // namespace simcuda
