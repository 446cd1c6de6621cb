// Numbers of contexts, streams and devices as the records have them.
#include "library.h"

using namespace simcupti;

SIM_EXPORT CUptiResult cuptiGetContextId(CUcontext context, uint32_t* id) {
    const SimcudaDriver* driver = connect();
    if (!id || !driver)
        return finish(id ? CUPTI_ERROR_NOT_INITIALIZED : CUPTI_ERROR_INVALID_PARAMETER);
    *id = context ? driver->context_id(context) : 0;
    return *id ? CUPTI_SUCCESS : finish(CUPTI_ERROR_INVALID_CONTEXT);
}

SIM_EXPORT CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t per_thread, uint32_t* id) {
    const SimcudaDriver* driver = connect();
    if (!id || !driver)
        return finish(id ? CUPTI_ERROR_NOT_INITIALIZED : CUPTI_ERROR_INVALID_PARAMETER);
    *id = driver->stream_id(context, stream, per_thread != 0);
    return *id ? CUPTI_SUCCESS : finish(CUPTI_ERROR_INVALID_STREAM);
}

SIM_EXPORT CUptiResult cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t* id) {
    return cuptiGetStreamIdEx(context, stream, 0, id);
}
