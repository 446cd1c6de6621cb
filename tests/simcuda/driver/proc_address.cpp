// cuGetProcAddress: name without suffix, version and flags choose the symbol (CUDA Driver API, "Driver Entry Point Access").
#include <cstring>
#include <string_view>

#include "context.h"
#include "settings.h"

namespace simcuda {
namespace {

enum class Variant { none, legacy, per_thread };

struct Row {
  std::string_view name;
  void* address;
  int since;
  Variant variant;
};

template <typename F>
void* address_of(F* function) {
  return reinterpret_cast<void*>(function);
}


// Not constexpr: the addresses are known to the dynamic linker only.
const Row kRows[] = {
#define SIM_API(name, symbol, since, variant) {#name, address_of(&symbol), since, Variant::variant},
#define SIM_ALIAS(name, symbol, since, variant) SIM_API(name, symbol, since, variant)
#include "driver_api.def"
#undef SIM_API
};

// Highest version not above the asked one; among equals a per-thread row wins when it was asked for.
const Row* choose(std::string_view name, int version, bool per_thread, bool* known) {
  const Row* best = nullptr;
  *known = false;
  for (const Row& candidate : kRows) {
    const Row* row = &candidate;
    if (row->name != name) continue;
    *known = true;
    if (row->since > version) continue;
    if (row->variant == Variant::per_thread && !per_thread) continue;
    if (!best) {
      best = row;
      continue;
    }
    const bool twin_better = per_thread && row->variant == Variant::per_thread && best->variant != Variant::per_thread;
    const bool twin_worse = per_thread && best->variant == Variant::per_thread && row->variant != Variant::per_thread;
    if (twin_better || (!twin_worse && row->since > best->since)) best = row;
  }
  return best;
}

CUresult look_up(const char* name, void** function, int version, cuuint64_t flags,
                 CUdriverProcAddressQueryResult* status) {
  if (!name || !function) return CUDA_ERROR_INVALID_VALUE;
  constexpr cuuint64_t both =
      CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  if ((flags & ~both) || flags == both) return CUDA_ERROR_INVALID_VALUE;
  *function = nullptr;
  if (version > settings().driver_version) return CUDA_ERROR_INVALID_VALUE;  // cuda.h, cuGetProcAddress
  bool known = false;
  const Row* row = choose(name, version, flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &known);
  if (row) *function = row->address;
  if (status)
    *status = row     ? CU_GET_PROC_ADDRESS_SUCCESS
              : known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                      : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return row ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

}  // namespace
}  // namespace simcuda

SIM_EXPORT CUresult cuGetProcAddress(const char* symbol, void** function, int version, cuuint64_t flags) {
  simcuda::count_call(simcuda::Api::cuGetProcAddress);
  return simcuda::look_up(symbol, function, version, flags, nullptr);
}

// A look-up that fails still succeeds as a call when the caller asks for the status: documented for CUDA 12 as
// CUDA_ERROR_NOT_FOUND, the result that is given here in both cases.
SIM_EXPORT CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version, cuuint64_t flags,
                                        CUdriverProcAddressQueryResult* status) {
  simcuda::count_call(simcuda::Api::cuGetProcAddress_v2);
  return simcuda::look_up(symbol, function, version, flags, status);
}
