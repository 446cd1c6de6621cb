// Keeps libunwind's descriptors out of the program's table.
//
// libunwind (1.6 and newer) opens a pipe at its first use and later asks whether an address can be read by writing one
// byte from there into that pipe. The pipe takes the lowest free numbers, which the program then does not get; and when
// the program closes descriptors that it did not open, and opens files of its own, libunwind writes into these and
// reads from them (measured, 1.6.2: numbers 3 and 4 of a program's table are gone). So its references to pipe, read,
// write and close are answered here for that one pipe, which is no descriptor at all; everything else goes on to libc.
#pragma once

namespace pincheck {

// `function` lies in libunwind. Before its first use; nothing happens where it refers to none of these functions.
void replace_unwinder_pipe(const void* function) noexcept;

// Whether a word can be read there: one system call, which leaves errno set.
bool can_be_read(const void* address) noexcept;

}  // namespace pincheck
