// The wrappers, one a row of the list, and their exported names.

#include "wrappers.h"
#include "wrappers_graph.h"

#pragma GCC diagnostic ignored "-Wmissing-attributes"

extern "C" {

#define PINCHECK_API(symbol, side, shape, lookup, since, variant)                                        \
    __attribute__((visibility("hidden"), noinline)) int pincheck_hook_##symbol PINCHECK_PARAMS_##shape { \
        return ::pincheck::hook_##shape(::pincheck::Api::symbol, PINCHECK_CALLER PINCHECK_ARGS_##shape); \
    }                                                                                                    \
    __attribute__((visibility("default"), alias("pincheck_hook_" #symbol))) int symbol PINCHECK_PARAMS_##shape;
#include "report/cuda_api.def"
#undef PINCHECK_API

}  // extern "C"
