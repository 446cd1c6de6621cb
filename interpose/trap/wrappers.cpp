// The wrappers of the functions that hand memory to the kernel, made from libc_api.def.
#include <sys/syscall.h>
#include <sys/types.h>

#include "access.h"
#include "libc_functions.h"
#include "raw_calls.h"
#include "shapes.h"
#include "wrap.h"

namespace pincheck::trap {
namespace {

bool is_this_process(pid_t process) noexcept {
    return raw_call(SYS_getpid) == process;
}

}  // namespace

#define PINCHECK_LIBC(symbol, shape)                                                                                \
    PINCHECK_WRAP(PINCHECK_RESULT_##shape, symbol, PINCHECK_PARAMS_##shape) {                                       \
        if (const TrapUser* const user = attached_user(); user != nullptr) [[unlikely]] {                           \
            const Teller tell(*user, #symbol, __builtin_return_address(0), __builtin_frame_address(0));             \
            PINCHECK_TELL_##shape;                                                                                  \
            if (tell.held() != 0) [[unlikely]] {                                                                    \
                const auto result = call<decltype(pincheck_wrapper_##symbol)>(Libc::symbol, PINCHECK_ARGS_##shape); \
                user->after_access(tell.held());                                                                    \
                return result;                                                                                      \
            }                                                                                                       \
        }                                                                                                           \
        return call<decltype(pincheck_wrapper_##symbol)>(Libc::symbol, PINCHECK_ARGS_##shape);                      \
    }
#include "libc_api.def"

}  // namespace pincheck::trap
