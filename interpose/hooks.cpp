// The wrappers, one a row of the list, and their exported names.

#include "wrappers.h"
#include "wrappers_graph.h"
#include "wrappers_stream.h"

#pragma GCC diagnostic ignored "-Wmissing-attributes"

extern "C" {

#define PINCHECK_API(symbol, side, shape, lookup, since, variant)                                        \
    __attribute__((visibility("hidden"), noinline)) int pincheck_hook_##symbol PINCHECK_PARAMS_##shape { \
        using namespace ::pincheck;                                                                      \
        return followed<follow_of(#side, #shape)>(                                                       \
            Api::symbol, PINCHECK_CALLER, [&](const Caller& caller) __attribute__((always_inline)) {     \
                return hook_##shape(Api::symbol, caller PINCHECK_ARGS_##shape);                          \
            } PINCHECK_ARGS_##shape);                                                                    \
    }                                                                                                    \
    __attribute__((visibility("default"), alias("pincheck_hook_" #symbol))) int symbol PINCHECK_PARAMS_##shape;
#include "report/cuda_api.def"
#undef PINCHECK_API

}  // extern "C"
