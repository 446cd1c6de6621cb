#include "memory_operation.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "host_access.h"
#include "memory.h"

namespace simcuda {
namespace {

bool wide(CUstreamBatchMemOpType type) {
    return type == CU_STREAM_MEM_OP_WAIT_VALUE_64 || type == CU_STREAM_MEM_OP_WRITE_VALUE_64;
}

// Device memory, or host memory that the device can address, but not managed memory (cuda.h, cuStreamWaitValue32).
CUresult check_address(CUdeviceptr address, bool is_wide) {
    const std::size_t size = is_wide ? 8 : 4;
    if (!address || address % size)
        return CUDA_ERROR_INVALID_VALUE;
    Span span;
    if (const CUresult result = classify(address, size, &span); result != CUDA_SUCCESS)
        return result;
    return span.pageable() || span.managed() ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

// What the engine reads and writes: through its own mapping of the memory, one access of the operand's size.
template <typename T>
T load(CUdeviceptr address) {
    T value{};
    Span span;
    if (classify(address, sizeof value, &span) == CUDA_SUCCESS)
        dma_load(span, &value, sizeof value);
    return value;
}

template <typename T>
bool holds(T seen, T wanted, unsigned flags) {
    switch (flags & 3) {
        case CU_STREAM_WAIT_VALUE_GEQ:
            return static_cast<std::make_signed_t<T>>(seen - wanted) >= 0;
        case CU_STREAM_WAIT_VALUE_EQ:
            return seen == wanted;
        case CU_STREAM_WAIT_VALUE_AND:
            return (seen & wanted) != 0;
        default:
            return ~(seen | wanted) != 0;
    }
}

template <typename T>
void wait_value(CUdeviceptr address, T wanted, unsigned flags) {
    while (!holds<T>(load<T>(address), wanted, flags))
        std::this_thread::sleep_for(std::chrono::microseconds(20));
}

template <typename T>
void write_value(CUdeviceptr address, T value) {
    Span span;
    if (classify(address, sizeof value, &span) == CUDA_SUCCESS)
        dma_store(span, &value, sizeof value);
}

}  // namespace

CUresult check_operation(const CUstreamBatchMemOpParams& operation) {
    constexpr unsigned wait_flags = 3u | CU_STREAM_WAIT_VALUE_FLUSH;
    switch (operation.operation) {
        case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        case CU_STREAM_MEM_OP_WAIT_VALUE_64:
            if (operation.waitValue.flags & ~wait_flags)
                return CUDA_ERROR_INVALID_VALUE;
            return check_address(operation.waitValue.address, wide(operation.operation));
        case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        case CU_STREAM_MEM_OP_WRITE_VALUE_64:
            if (operation.writeValue.flags & ~unsigned{CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER})
                return CUDA_ERROR_INVALID_VALUE;
            return check_address(operation.writeValue.address, wide(operation.operation));
        case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
        case CU_STREAM_MEM_OP_BARRIER:
            return CUDA_SUCCESS;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult check_operations(const std::vector<CUstreamBatchMemOpParams>& operations) {
    for (const auto& operation : operations)
        if (const CUresult result = check_operation(operation); result != CUDA_SUCCESS)
            return result;
    return CUDA_SUCCESS;
}

void run_operation(const CUstreamBatchMemOpParams& operation) {
    switch (operation.operation) {
        case CU_STREAM_MEM_OP_WAIT_VALUE_32:
            return wait_value<cuuint32_t>(operation.waitValue.address, operation.waitValue.value,
                                          operation.waitValue.flags);
        case CU_STREAM_MEM_OP_WAIT_VALUE_64:
            return wait_value<cuuint64_t>(operation.waitValue.address, operation.waitValue.value64,
                                          operation.waitValue.flags);
        case CU_STREAM_MEM_OP_WRITE_VALUE_32:
            return write_value<cuuint32_t>(operation.writeValue.address, operation.writeValue.value);
        case CU_STREAM_MEM_OP_WRITE_VALUE_64:
            return write_value<cuuint64_t>(operation.writeValue.address, operation.writeValue.value64);
        default:
            return;  // engines see and make every access in order: nothing to flush, no barrier needed
    }
}

}  // namespace simcuda
