// Events of other processes, external semaphores and green contexts: refused, as on a device that has none of them
// (CUDA Driver API: CUDA_ERROR_NOT_SUPPORTED). And the first versions of the functions that destroy.
#include "context.h"

using namespace simcuda;

SIM_ONE(cuIpcGetEventHandle, (CUipcEventHandle*, CUevent), { return CUDA_ERROR_NOT_SUPPORTED; })
SIM_ONE(cuIpcOpenEventHandle, (CUevent*, CUipcEventHandle), { return CUDA_ERROR_NOT_SUPPORTED; })
SIM_TWINS(cuSignalExternalSemaphoresAsync, _ptsz,
          (const CUexternalSemaphore*, const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS*, unsigned, CUstream),
          { return CUDA_ERROR_NOT_SUPPORTED; })
SIM_TWINS(cuWaitExternalSemaphoresAsync, _ptsz,
          (const CUexternalSemaphore*, const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS*, unsigned, CUstream),
          { return CUDA_ERROR_NOT_SUPPORTED; })
#if CUDA_VERSION >= 12050
SIM_ONE(cuGreenCtxStreamCreate, (CUstream*, CUgreenCtx, unsigned, int), { return CUDA_ERROR_NOT_SUPPORTED; })
#endif
