// Ends by _Exit while eight threads are in the middle of copies, after cancelling one more with pthread_cancel.
// Must survive: same status as without the tool, a readable report.
#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "small.h"

namespace {

Small small;
std::atomic<int> running{0};

void* copy_forever(void*) {
    running.fetch_add(1);
    for (;;) {
        // A forced unwind through the driver is the driver's business: only the thread's end is asked for here.
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
        small_upload_pinned(small, 1);
        pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, nullptr);
        pthread_testcancel();
    }
    return nullptr;
}

}  // namespace

int main() {
    small = small_start();
    pthread_t cancelled{};
    pthread_create(&cancelled, nullptr, copy_forever, nullptr);
    for (int i = 0; i < 8; ++i) {
        pthread_t thread{};
        pthread_create(&thread, nullptr, copy_forever, nullptr);
        pthread_detach(thread);
    }
    while (running.load() != 9) {
        std::this_thread::yield();
    }
    pthread_cancel(cancelled);
    void* result = nullptr;
    pthread_join(cancelled, &result);
    std::printf("cancelled %d\n", result == PTHREAD_CANCELED ? 1 : 0);
    std::fflush(stdout);
    std::_Exit(small_upload_pageable(small, 1) + 3);
}
