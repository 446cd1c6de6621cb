// The program's own calls about signals, once SIGSEGV is taken: it sees what it would see without us. Until then all of
// them go straight to the C library.
//
// Not seen: signalfd on a SIGSEGV sent to a thread that blocks it (it waits with this library instead), the same signal
// when the program ends its blocking by siglongjmp (it comes with the thread's next call about its mask), the stand-in
// in the uc_sigmask that handlers of other signals are given (signal_mask.h), a mask that blocks SIGSEGV given to
// pthread_attr_setsigmask_np (the new thread blocks it outright), and system calls past the C library.
#pragma once

#include <csignal>

#include "raw_calls.h"

namespace pincheck::trap {

// The mask lies in the first word of a sigset_t; the kernel neither reads nor writes the others.
inline Mask& word_of(sigset_t& set) noexcept {
    return *reinterpret_cast<Mask*>(&set);
}
inline const Mask& word_of(const sigset_t& set) noexcept {
    return *reinterpret_cast<const Mask*>(&set);
}

}  // namespace pincheck::trap
