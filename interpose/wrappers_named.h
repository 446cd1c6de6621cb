// Wrapper bodies of runtime functions that lend their name to the driver call they make (see wrappers.h).
#pragma once

#include "hook.h"
#include "shapes.h"

namespace pincheck {

template <class... Arguments>
inline int name_through(Api api, Caller caller, Arguments... arguments) {
    NamedHook hook(api, caller);
    auto* real = hook.real<int(Arguments...)>();
    if (real == nullptr) {
        return kNoCuda;
    }
    if (!hook.before()) {
        return real(arguments...);
    }
    const int status = real(arguments...);
    hook.leave();
    return status;
}

#define PINCHECK_NAMED(shape)                                 \
    template <class... A>                                     \
    inline int hook_##shape(Api api, Caller caller, A... a) { \
        return name_through(api, caller, a...);               \
    }
PINCHECK_NAMED(runtime_2d)
PINCHECK_NAMED(runtime_2d_async)
PINCHECK_NAMED(runtime_2d_to_array)
PINCHECK_NAMED(runtime_2d_to_array_async)
PINCHECK_NAMED(runtime_2d_from_array)
PINCHECK_NAMED(runtime_2d_from_array_async)
PINCHECK_NAMED(runtime_2d_arrays)
PINCHECK_NAMED(runtime_to_array)
PINCHECK_NAMED(runtime_to_array_async)
PINCHECK_NAMED(runtime_from_array)
PINCHECK_NAMED(runtime_from_array_async)
PINCHECK_NAMED(runtime_arrays)
PINCHECK_NAMED(runtime_3d)
PINCHECK_NAMED(runtime_3d_async)
PINCHECK_NAMED(runtime_peer)
PINCHECK_NAMED(runtime_peer_async)
PINCHECK_NAMED(runtime_to_symbol)
PINCHECK_NAMED(runtime_to_symbol_async)
PINCHECK_NAMED(runtime_from_symbol)
PINCHECK_NAMED(runtime_from_symbol_async)
PINCHECK_NAMED(runtime_set)
PINCHECK_NAMED(runtime_set_async)
PINCHECK_NAMED(runtime_set_2d)
PINCHECK_NAMED(runtime_set_2d_async)
PINCHECK_NAMED(runtime_set_3d)
PINCHECK_NAMED(runtime_set_3d_async)
PINCHECK_NAMED(runtime_managed)
PINCHECK_NAMED(runtime_free)
PINCHECK_NAMED(runtime_graph_launch)
PINCHECK_NAMED(runtime_add_copy)
PINCHECK_NAMED(runtime_add_copy_1d)
PINCHECK_NAMED(runtime_add_to_symbol)
PINCHECK_NAMED(runtime_add_from_symbol)

}  // namespace pincheck
