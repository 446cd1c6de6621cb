#include "pointer_answers.h"

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>

#include "driver_library.h"

namespace conformance {
namespace {

enum class Form { number, truth, address, handle };

struct Column {
    const char* name;
    Form form;
    std::size_t size;
    CUpointer_attribute which;
};
constexpr Column kColumns[] = {
    {"type", Form::number, 4, CU_POINTER_ATTRIBUTE_MEMORY_TYPE},
    {"managed", Form::truth, 1, CU_POINTER_ATTRIBUTE_IS_MANAGED},
    {"ordinal", Form::number, 4, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL},
    {"context", Form::handle, 8, CU_POINTER_ATTRIBUTE_CONTEXT},
    {"device", Form::address, 8, CU_POINTER_ATTRIBUTE_DEVICE_POINTER},
    {"host", Form::address, 8, CU_POINTER_ATTRIBUTE_HOST_POINTER},
    {"start", Form::address, 8, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR},
    {"size", Form::number, 8, CU_POINTER_ATTRIBUTE_RANGE_SIZE},
    {"mapped", Form::truth, 1, CU_POINTER_ATTRIBUTE_MAPPED},
    {"access", Form::number, 4, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS},
    {"pool", Form::handle, 8, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE},
};

std::string hexadecimal(unsigned long long value) {
    char text[32];
    std::snprintf(text, sizeof text, "%llx", value);
    return text;
}

std::string value_of(const Column& column, CUdeviceptr pointer, std::size_t offset) {
    unsigned char bytes[8];
    std::memset(bytes, 0xA5, sizeof bytes);
    void* where = bytes;
    CUpointer_attribute which = column.which;
    const CUresult result = DRIVER(cuPointerGetAttributes)(1, &which, &where, pointer);
    if (result != CUDA_SUCCESS)
        return "error " + std::to_string(static_cast<int>(result));
    // Of a boolean the driver may write the first byte only.
    bool written = false;
    for (std::size_t i = 0; i < column.size; ++i)
        written = written || bytes[i] != 0xA5;
    if (!written)
        return "-";
    unsigned long long value = 0;
    std::memcpy(&value, bytes, column.size);
    if (column.form == Form::handle && value != 0)
        return "some";
    if (column.form == Form::address && value == pointer)
        return "pointer";
    if (column.form == Form::address && value == pointer - offset)
        return "base";
    return hexadecimal(value);
}

}  // namespace

std::string said_of(const void* pointer, std::size_t offset) {
    std::string line;
    for (const Column& column : kColumns)
        line += std::string(column.name) + "=" + value_of(column, reinterpret_cast<CUdeviceptr>(pointer), offset) + " ";
    cudaPointerAttributes attributes{};
    const cudaError_t error = cudaPointerGetAttributes(&attributes, pointer);
    cudaGetLastError();
    line += "runtime=" + (error == cudaSuccess ? std::to_string(static_cast<int>(attributes.type))
                                               : "error " + std::to_string(static_cast<int>(error)));
    unsigned flags = 0;
    const CUresult result = DRIVER(cuMemHostGetFlags)(&flags, const_cast<void*>(pointer));
    line +=
        " flags=" + (result == CUDA_SUCCESS ? hexadecimal(flags) : "error " + std::to_string(static_cast<int>(result)));
    return line;
}

}  // namespace conformance
