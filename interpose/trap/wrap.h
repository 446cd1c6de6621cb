// A function that libpincheck-trap.so exports under libc's name. In C++ it has another one, so that it need not agree
// with the declaration in libc's header, its noexcept least of all: a thread that is cancelled in read() unwinds
// through the wrapper, which must not end the program.
#pragma once

#define PINCHECK_WRAP(result, symbol, parameters)                 \
    extern "C" __attribute__((visibility("default"), used))       \
    result pincheck_wrapper_##symbol parameters __asm__(#symbol); \
    result pincheck_wrapper_##symbol parameters
