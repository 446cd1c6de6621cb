#include "trap_library.h"

#include "access.h"
#include "signal_chain.h"
#include "threads.h"

namespace pincheck::trap {
namespace {

bool attach(const TrapUser& user) noexcept {
    if (attached_user() != nullptr || !take_signal()) {
        return false;
    }
    g_user.store(&user, std::memory_order_release);
    return true;
}

}  // namespace
}  // namespace pincheck::trap

extern "C" __attribute__((visibility("default"), used)) const pincheck::TrapLibrary pincheck_trap_library = {
    pincheck::kTrapVersion,
    &pincheck::trap::attach,
    &pincheck::trap::has_signal,
    &pincheck::trap::every_other_thread_takes_signal,
};
