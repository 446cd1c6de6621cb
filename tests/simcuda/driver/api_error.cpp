// Names and descriptions of results. Usable before cuInit.
#include "context.h"

using namespace simcuda;

namespace {

struct Text {
    CUresult result;
    const char* name;
    const char* description;
};

constexpr Text kTexts[] = {
#define SIM_TEXT(result, description) {result, #result, description},
#include "error_texts.inc"
#undef SIM_TEXT
};

const Text* find(CUresult result) {
    for (const Text& text : kTexts)
        if (text.result == result)
            return &text;
    return nullptr;
}

}  // namespace

SIM_EXPORT CUresult cuGetErrorName(CUresult error, const char** out) {
    count_call(Api::cuGetErrorName);
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    const Text* text = find(error);
    *out = text ? text->name : nullptr;
    return text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIM_EXPORT CUresult cuGetErrorString(CUresult error, const char** out) {
    count_call(Api::cuGetErrorString);
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    const Text* text = find(error);
    *out = text ? text->description : nullptr;
    return text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
