// Makes 10 pinned and 10 pageable uploads, prints "ready", waits for a line on stdin, makes 5 more of each and ends in
// the way its argument says: return, exit, _exit, quick_exit, abort, exec (runs itself again with "return"), hang
// (waits to be killed), thread-exit (exit called by another thread), static (pinned memory freed by a static object's
// destructor). With "at-once" it makes one call only and ends by _exit.
// Must be recorded: 15 + 15 uploads (10 + 10 for hang and for every call after the last snapshot of a sudden end), one
// report for each program image.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "small.h"

namespace {

struct FreesLate {
    void* pinned = nullptr;
    ~FreesLate() {
        if (pinned != nullptr) {
            cudaFreeHost(pinned);
        }
    }
};
FreesLate frees_late;

void wait_for_line() {
    char line[64];
    std::puts("ready");
    std::fflush(stdout);
    if (std::fgets(line, sizeof line, stdin) == nullptr) {
        std::exit(4);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const char* const ending = argc > 1 ? argv[1] : "return";
    if (std::strcmp(ending, "at-once") == 0) {
        void* pinned = nullptr;
        _exit(cudaMallocHost(&pinned, 64));
    }
    const Small small = small_start();
    int failed = small_uploads(small, 10);
    cudaDeviceSynchronize();
    if (std::strcmp(ending, "static") == 0) {
        cudaMallocHost(&frees_late.pinned, kSmallBytes);
    }
    wait_for_line();
    failed += small_uploads(small, 5);
    cudaDeviceSynchronize();
    std::printf("failed %d\n", failed);
    std::fflush(stdout);
    if (std::strcmp(ending, "_exit") == 0) {
        wait_for_line();  // the caller looks at the report first: what follows runs no exit handler
        _exit(7);
    }
    if (std::strcmp(ending, "quick_exit") == 0) {
        wait_for_line();
        std::quick_exit(7);
    }
    if (std::strcmp(ending, "abort") == 0) {
        wait_for_line();
        std::abort();
    }
    if (std::strcmp(ending, "hang") == 0) {
        wait_for_line();
        for (;;) {
            pause();
        }
    }
    if (std::strcmp(ending, "exec") == 0) {
        wait_for_line();
        execl("/proc/self/exe", argv[0], "return", static_cast<char*>(nullptr));
        return 5;
    }
    if (std::strcmp(ending, "exit") == 0) {
        std::exit(7);
    }
    if (std::strcmp(ending, "thread-exit") == 0) {
        std::thread([] { std::exit(7); }).join();
    }
    small_end(small);
    return 0;
}
