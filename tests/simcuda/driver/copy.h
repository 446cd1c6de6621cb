// Copies: which engine, and does the host wait.
#pragma once

#include "calls.h"
#include "context.h"
#include "memory.h"

namespace simcuda {

enum class HostWait { asynchronous, synchronous };

// What the entry point promises about its pointers; `any` is unified addressing.
enum class Ends { h2d, d2h, d2d, any };

CUresult copy(const StreamPtr& stream, std::uintptr_t destination, std::uintptr_t source, std::size_t size, Ends ends,
              HostWait wait);

CUresult fill(const StreamPtr& stream, CUdeviceptr destination, std::uint32_t value, std::size_t width,
              std::size_t count, HostWait wait);

}  // namespace simcuda
