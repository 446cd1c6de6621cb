// Blocking SIGSEGV without blocking it. A guard's fault in a thread that blocks SIGSEGV would kill the process, so the
// kernel never gets to see that the program blocks it; what the program believes must still be known wherever the
// kernel keeps a mask: in each thread and those it starts, in a sigjmp_buf, in a ucontext_t, in a sa_mask, across fork.
//
// So it is written into the mask itself, by two signals: SIGSTKFLT, which nothing sends on x86-64, and one that
// programs all but never block or unblock without blocking or unblocking every other. Where the two bits differ, the
// program blocks SIGSEGV. The second one's bit is true as it stands; SIGSTKFLT's is lost: the program reads the second
// one's.
//
// A thread that had blocked one of the two alone before attach(), other than the one that attaches, is misread: a fault
// in it goes to no handler, as if it blocked SIGSEGV. every_other_thread_takes_signal() tells before.
#pragma once

#include <csignal>

#include "raw_calls.h"

namespace pincheck::trap {

inline constexpr int kReferenceSignal = 63;
inline constexpr Mask kFault = mask_of(SIGSEGV);
inline constexpr Mask kStandIn = mask_of(SIGSTKFLT);
inline constexpr Mask kReference = mask_of(kReferenceSignal);

// What the kernel gets for a mask of the program's.
constexpr Mask to_kernel(Mask program) noexcept {
    const bool differ = (program & kFault) != 0;
    const bool reference = (program & kReference) != 0;
    return (program & ~(kFault | kStandIn)) | (reference != differ ? kStandIn : 0);
}

// And back. A mask that blocks SIGSEGV outright is from before attach(), or from a system call past the wrappers.
constexpr Mask to_program(Mask kernel) noexcept {
    const bool stand_in = (kernel & kStandIn) != 0;
    const bool reference = (kernel & kReference) != 0;
    const bool blocked = (kernel & kFault) != 0 || stand_in != reference;
    return (kernel & ~(kFault | kStandIn)) | (blocked ? kFault : 0) | (reference ? kStandIn : 0);
}

// The mask of a signal's handler is added to the thread's. The second signal's own handler runs with that one blocked,
// whether its mask says so or not.
constexpr Mask handler_mask_to_kernel(int signal, Mask program) noexcept {
    const Mask implied = signal == kReferenceSignal ? kReference & ~program : 0;
    return to_kernel(program | implied) & ~implied;
}

constexpr Mask handler_mask_to_program(int signal, Mask kernel) noexcept {
    const Mask implied = signal == kReferenceSignal ? kReference & ~kernel : 0;
    return to_program(kernel | implied) & ~(implied != 0 ? kReference | kStandIn : 0);
}

static_assert(to_kernel(0) == 0 && to_program(0) == 0);
static_assert(to_program(to_kernel(kFault)) == kFault);
static_assert(to_program(to_kernel(~Mask{0})) == ~Mask{0});
static_assert(to_program(to_kernel(~kFault)) == ~kFault);
static_assert((to_kernel(~Mask{0}) & kFault) == 0);
static_assert(handler_mask_to_program(kReferenceSignal, handler_mask_to_kernel(kReferenceSignal, 0)) == 0);
static_assert(handler_mask_to_program(kReferenceSignal, handler_mask_to_kernel(kReferenceSignal, kFault)) == kFault);
static_assert(to_program(handler_mask_to_kernel(kReferenceSignal, 0) | kReference) == (kReference | kStandIn));

}  // namespace pincheck::trap
