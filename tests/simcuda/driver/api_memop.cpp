// Streams that wait for a value in memory or write one. The first versions and the second differ in what the driver
// needed to be told before it allowed them, not in what they do.
#include "capture.h"
#include "context.h"
#include "memory_operation.h"

using namespace simcuda;

namespace {

CUresult run(const StreamPtr& stream, std::vector<CUstreamBatchMemOpParams> operations) {
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (const CUresult result = check_operations(operations); result != CUDA_SUCCESS)
        return result;
    BatchNode node{std::move(operations), 0, stream->context};
    if (const auto captured = capture_node(stream, node))
        return *captured;
    return issue(stream, Engine::compute, [operations = std::move(node.operations)] {
        for (const auto& operation : operations)
            run_operation(operation);
    });
}

template <typename T>
CUresult wait_value(const StreamPtr& stream, CUstreamBatchMemOpType type, CUdeviceptr address, T value,
                    unsigned flags) {
    CUstreamBatchMemOpParams operation{};
    operation.waitValue.operation = type;
    operation.waitValue.address = address;
    operation.waitValue.value64 = value;
    operation.waitValue.flags = flags;
    return run(stream, {operation});
}

template <typename T>
CUresult write_value(const StreamPtr& stream, CUstreamBatchMemOpType type, CUdeviceptr address, T value,
                     unsigned flags) {
    CUstreamBatchMemOpParams operation{};
    operation.writeValue.operation = type;
    operation.writeValue.address = address;
    operation.writeValue.value64 = value;
    operation.writeValue.flags = flags;
    return run(stream, {operation});
}

CUresult batch(const StreamPtr& stream, unsigned count, const CUstreamBatchMemOpParams* operations, unsigned flags) {
    if (!operations || count == 0 || count > 256 || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    return run(stream, {operations, operations + count});
}

}  // namespace

#define SIM_VALUE(symbol, function, operation, type)                                                         \
    SIM_TWINS(symbol, _ptsz, (CUstream stream, CUdeviceptr address, type value, unsigned flags),             \
              { return function(find_stream(context, stream, meaning), operation, address, value, flags); }) \
    SIM_TWINS(symbol##_v2, _ptsz, (CUstream stream, CUdeviceptr address, type value, unsigned flags),        \
              { return function(find_stream(context, stream, meaning), operation, address, value, flags); })

SIM_VALUE(cuStreamWaitValue32, wait_value, CU_STREAM_MEM_OP_WAIT_VALUE_32, cuuint32_t)
SIM_VALUE(cuStreamWaitValue64, wait_value, CU_STREAM_MEM_OP_WAIT_VALUE_64, cuuint64_t)
SIM_VALUE(cuStreamWriteValue32, write_value, CU_STREAM_MEM_OP_WRITE_VALUE_32, cuuint32_t)
SIM_VALUE(cuStreamWriteValue64, write_value, CU_STREAM_MEM_OP_WRITE_VALUE_64, cuuint64_t)

SIM_TWINS(cuStreamBatchMemOp, _ptsz,
          (CUstream stream, unsigned count, CUstreamBatchMemOpParams* operations, unsigned flags),
          { return batch(find_stream(context, stream, meaning), count, operations, flags); })
SIM_TWINS(cuStreamBatchMemOp_v2, _ptsz,
          (CUstream stream, unsigned count, CUstreamBatchMemOpParams* operations, unsigned flags),
          { return batch(find_stream(context, stream, meaning), count, operations, flags); })
