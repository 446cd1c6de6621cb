// SIGSEGV comes here first: a guard's goes to the user, any other is done with as the kernel would have done with the
// disposition that the program believes in.
#pragma once

#include <csignal>

#include "raw_calls.h"

namespace pincheck::trap {

// Puts the handler in front. False: nothing is changed. Once a process.
bool take_signal() noexcept;
// It is taken, and still comes here.
bool has_signal() noexcept;

// False in a child that still runs on its parent's memory (vfork): its dispositions are its own, this library's notes
// are not.
bool owns_memory() noexcept;
// The disposition that the kernel has in such a child, as the program is to see it.
KernelAction seen_by_borrower(const KernelAction& kernel) noexcept;

// Changes what the program wants and returns what it wanted, as the kernel would have.
KernelAction exchange_disposition(const KernelAction& action) noexcept;
KernelAction current_disposition() noexcept;
// Changes the flags alone.
void change_disposition_flags(std::uint64_t clear, std::uint64_t set) noexcept;

// The kernel's view of the disposition, for a program about to be executed in our place: ignored stays ignored, all
// else becomes the default there. And back, when that failed.
void show_ignored() noexcept;
void take_signal_again() noexcept;

// A SIGSEGV that somebody sent to this thread while the program blocked it: it waits here, since the kernel did not
// know.
bool signal_waits() noexcept;
// To be handled as soon as the kernel lets it: at once, unless it is really blocked.
void send_waiting_signal() noexcept;
// Taken by sigwait and its like.
bool take_waiting_signal(siginfo_t& info) noexcept;

}  // namespace pincheck::trap
