// Streams, events and capture.
#include "call.h"

using namespace simcudart;

RT_ONE(cudaStreamCreate, context, (cudaStream_t * out), { return finish(driver().cuStreamCreate(out, 0)); })
RT_ONE(cudaStreamCreateWithFlags, context, (cudaStream_t * out, unsigned flags),
       { return finish(driver().cuStreamCreate(out, flags)); })
RT_ONE(cudaStreamCreateWithPriority, context, (cudaStream_t * out, unsigned flags, int priority),
       { return finish(driver().cuStreamCreateWithPriority(out, flags, priority)); })
RT_ONE(cudaStreamDestroy, context, (cudaStream_t stream), { return finish(driver().cuStreamDestroy_v2(stream)); })
RT_TWINS(cudaStreamSynchronize, _ptsz, (cudaStream_t stream),
         { return finish(RT_DRIVER(cuStreamSynchronize, _ptsz)(stream)); })
RT_TWINS(cudaStreamQuery, _ptsz, (cudaStream_t stream), { return finish(RT_DRIVER(cuStreamQuery, _ptsz)(stream)); })
RT_TWINS(cudaStreamWaitEvent, _ptsz, (cudaStream_t stream, cudaEvent_t event, unsigned flags),
         { return finish(RT_DRIVER(cuStreamWaitEvent, _ptsz)(stream, event, flags)); })
RT_TWINS(cudaStreamGetFlags, _ptsz, (cudaStream_t stream, unsigned* flags),
         { return finish(RT_DRIVER(cuStreamGetFlags, _ptsz)(stream, flags)); })
RT_TWINS(cudaStreamGetPriority, _ptsz, (cudaStream_t stream, int* priority),
         { return finish(RT_DRIVER(cuStreamGetPriority, _ptsz)(stream, priority)); })
RT_TWINS(cudaStreamIsCapturing, _ptsz, (cudaStream_t stream, cudaStreamCaptureStatus* status), {
    return finish(RT_DRIVER(cuStreamIsCapturing, _ptsz)(stream, reinterpret_cast<CUstreamCaptureStatus*>(status)));
})
RT_TWINS(cudaStreamBeginCapture, _ptsz, (cudaStream_t stream, cudaStreamCaptureMode mode),
         { return finish(RT_DRIVER(cuStreamBeginCapture_v2, _ptsz)(stream, static_cast<CUstreamCaptureMode>(mode))); })
RT_TWINS(cudaStreamEndCapture, _ptsz, (cudaStream_t stream, cudaGraph_t* graph),
         { return finish(RT_DRIVER(cuStreamEndCapture, _ptsz)(stream, graph)); })

RT_ONE(cudaEventCreate, context, (cudaEvent_t * out), { return finish(driver().cuEventCreate(out, 0)); })
RT_ONE(cudaEventCreateWithFlags, context, (cudaEvent_t * out, unsigned flags),
       { return finish(driver().cuEventCreate(out, flags)); })
RT_ONE(cudaEventDestroy, context, (cudaEvent_t event), { return finish(driver().cuEventDestroy_v2(event)); })
RT_ONE(cudaEventQuery, context, (cudaEvent_t event), { return finish(driver().cuEventQuery(event)); })
RT_ONE(cudaEventSynchronize, context, (cudaEvent_t event), { return finish(driver().cuEventSynchronize(event)); })
RT_ONE(cudaEventElapsedTime, context, (float* milliseconds, cudaEvent_t start, cudaEvent_t end),
       { return finish(driver().cuEventElapsedTime(milliseconds, start, end)); })
RT_TWINS(cudaEventRecord, _ptsz, (cudaEvent_t event, cudaStream_t stream),
         { return finish(RT_DRIVER(cuEventRecord, _ptsz)(event, stream)); })
RT_TWINS(cudaEventRecordWithFlags, _ptsz, (cudaEvent_t event, cudaStream_t stream, unsigned flags),
         { return finish(RT_DRIVER(cuEventRecordWithFlags, _ptsz)(event, stream, flags)); })
