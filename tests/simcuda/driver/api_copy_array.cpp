// Copies between a line of an array and linear memory or another array. Offsets and sizes are in bytes, and whole
// elements (cuda.h, cuMemcpyAtoD). The functions without suffix have 32-bit offsets, sizes and addresses.
#include "arrays.h"
#include "context.h"
#include "copy.h"

using namespace simcuda;

namespace {

// One argument of such a function.
struct Line {
    CUarray array;
    std::size_t offset;
    CUresult end(std::size_t size, End* out) const {
        const Array* known = find_array(array);
        out->side = Side::device;
        return known ? array_line(*known, offset, size, &out->region) : CUDA_ERROR_INVALID_HANDLE;
    }
};

struct Linear {
    std::uintptr_t address;
    Side side;
    CUresult end(std::size_t size, End* out) const {
        out->side = side;
        return address ? make_region(address, {.width = size}, size, size, &out->region) : CUDA_ERROR_INVALID_VALUE;
    }
};

Linear host(const void* pointer) {
    return {reinterpret_cast<std::uintptr_t>(pointer), Side::host};
}
Linear device(CUdeviceptr address) {
    return {address, Side::device};
}

template <typename To, typename From>
CUresult copy_line(const StreamPtr& stream, const To& to, const From& from, std::size_t size, HostWait wait) {
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (size == 0)
        return CUDA_SUCCESS;
    End destination, source;
    if (const CUresult result = to.end(size, &destination); result != CUDA_SUCCESS)
        return result;
    if (const CUresult result = from.end(size, &source); result != CUDA_SUCCESS)
        return result;
    return copy(stream, destination, source, wait);
}

}  // namespace

#define SIM_LINE(to, from, wait, stream) \
    return copy_line(find_stream(context, stream, meaning), to, from, size, HostWait::wait);

// The first version, and the second one with its twin.
#define SIM_ARRAY_COPY(symbol, suffix, old_parameters, parameters, to, from, wait, stream) \
    SIM_ONE(symbol, old_parameters, SIM_LINE(to, from, wait, stream))                      \
    SIM_TWINS(symbol##_v2, suffix, parameters, SIM_LINE(to, from, wait, stream))

SIM_ARRAY_COPY(cuMemcpyDtoA, _ptds, (CUarray array, unsigned offset, CUdeviceptr_v1 from, unsigned size),
               (CUarray array, size_t offset, CUdeviceptr from, size_t size), (Line{array, offset}), device(from),
               synchronous, nullptr)
SIM_ARRAY_COPY(cuMemcpyAtoD, _ptds, (CUdeviceptr_v1 to, CUarray array, unsigned offset, unsigned size),
               (CUdeviceptr to, CUarray array, size_t offset, size_t size), device(to), (Line{array, offset}),
               synchronous, nullptr)
SIM_ARRAY_COPY(cuMemcpyHtoA, _ptds, (CUarray array, unsigned offset, const void* from, unsigned size),
               (CUarray array, size_t offset, const void* from, size_t size), (Line{array, offset}), host(from),
               synchronous, nullptr)
SIM_ARRAY_COPY(cuMemcpyAtoH, _ptds, (void* to, CUarray array, unsigned offset, unsigned size),
               (void* to, CUarray array, size_t offset, size_t size), host(to), (Line{array, offset}), synchronous,
               nullptr)
SIM_ARRAY_COPY(cuMemcpyAtoA, _ptds, (CUarray to, unsigned to_offset, CUarray from, unsigned from_offset, unsigned size),
               (CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t size), (Line{to, to_offset}),
               (Line{from, from_offset}), synchronous, nullptr)
SIM_ARRAY_COPY(cuMemcpyHtoAAsync, _ptsz,
               (CUarray array, unsigned offset, const void* from, unsigned size, CUstream stream),
               (CUarray array, size_t offset, const void* from, size_t size, CUstream stream), (Line{array, offset}),
               host(from), asynchronous, stream)
SIM_ARRAY_COPY(cuMemcpyAtoHAsync, _ptsz, (void* to, CUarray array, unsigned offset, unsigned size, CUstream stream),
               (void* to, CUarray array, size_t offset, size_t size, CUstream stream), host(to), (Line{array, offset}),
               asynchronous, stream)
