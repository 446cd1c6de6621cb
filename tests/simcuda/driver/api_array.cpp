// Creation, description and release of arrays.
#include "arrays.h"
#include "capture.h"
#include "context.h"

using namespace simcuda;

namespace {

// `Wanted` and `Given` are the structures of the old and the new versions: the same members, 32 and 64 bits wide.
template <typename Wanted>
CUresult create(Context* context, CUarray* out, const Wanted* wanted) {
    if (!out || !wanted)
        return CUDA_ERROR_INVALID_VALUE;
    if (capture_forbids(context))
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    CUDA_ARRAY3D_DESCRIPTOR descriptor{};
    descriptor.Width = wanted->Width;
    descriptor.Height = wanted->Height;
    descriptor.Format = wanted->Format;
    descriptor.NumChannels = wanted->NumChannels;
    if constexpr (requires { wanted->Depth; }) {
        descriptor.Depth = wanted->Depth;
        descriptor.Flags = wanted->Flags;
    }
    return create_array(context, descriptor, out);
}

template <typename Given>
CUresult describe(Given* out, CUarray handle) {
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    const Array* array = find_array(handle);
    if (!array)
        return CUDA_ERROR_INVALID_HANDLE;
    const auto narrow = [](std::size_t value) { return static_cast<decltype(out->Width)>(value); };
    out->Width = narrow(array->descriptor.Width);
    out->Height = narrow(array->descriptor.Height);
    out->Format = array->descriptor.Format;
    out->NumChannels = array->descriptor.NumChannels;
    if constexpr (requires { out->Depth; }) {
        out->Depth = narrow(array->descriptor.Depth);
        out->Flags = array->descriptor.Flags;
    }
    return CUDA_SUCCESS;
}

}  // namespace

SIM_ONE(cuArrayCreate, (CUarray * out, const CUDA_ARRAY_DESCRIPTOR_v1* wanted), return create(context, out, wanted);)
SIM_ONE(cuArrayCreate_v2, (CUarray * out, const CUDA_ARRAY_DESCRIPTOR* wanted), return create(context, out, wanted);)
SIM_ONE(cuArray3DCreate, (CUarray * out, const CUDA_ARRAY3D_DESCRIPTOR_v1* wanted),
        return create(context, out, wanted);)
SIM_ONE(cuArray3DCreate_v2, (CUarray * out, const CUDA_ARRAY3D_DESCRIPTOR* wanted),
        return create(context, out, wanted);)
SIM_ONE(cuArrayGetDescriptor, (CUDA_ARRAY_DESCRIPTOR_v1 * out, CUarray array), return describe(out, array);)
SIM_ONE(cuArrayGetDescriptor_v2, (CUDA_ARRAY_DESCRIPTOR * out, CUarray array), return describe(out, array);)
SIM_ONE(cuArray3DGetDescriptor, (CUDA_ARRAY3D_DESCRIPTOR_v1 * out, CUarray array), return describe(out, array);)
SIM_ONE(cuArray3DGetDescriptor_v2, (CUDA_ARRAY3D_DESCRIPTOR * out, CUarray array), return describe(out, array);)

// Waits for the device, as the other functions that release memory do (assumed, not measured for arrays).
SIM_ONE(cuArrayDestroy, (CUarray handle), {
    if (capture_forbids(context))
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    const Array* array = find_array(handle);
    if (!array)
        return CUDA_ERROR_INVALID_HANDLE;
    machine().wait_context(array->context);
    return destroy_array(handle);
})
