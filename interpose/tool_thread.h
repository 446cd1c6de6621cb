// A thread of the tool's own in the program's process.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <cstddef>

namespace pincheck {

// Starts a detached thread with all signals blocked: one of ours must not reach the program, nor one of the program's
// us. False: no thread, and errno says why.
inline bool start_tool_thread(std::size_t stack_bytes, void* (*run)(void*), void* data) noexcept {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) {
        return false;
    }
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, stack_bytes);
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    const bool started = pthread_create(&thread, &attributes, run, data) == 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    return started;
}

}  // namespace pincheck
