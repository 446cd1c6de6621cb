// Has its report brought up to date from within, as a test runner's plugin does (pincheck_flush(), looked up: the
// program is linked with nothing of pincheck's), and prints what that returns. A line of input is awaited before the
// end.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>

#include "small.h"

int main() {
    const auto flush = reinterpret_cast<std::int64_t (*)()>(dlsym(RTLD_DEFAULT, "pincheck_flush"));
    if (flush == nullptr) {
        std::puts("none");
        return 0;
    }
    std::printf("before %d\n", static_cast<int>(flush()));
    const Small small = small_start();
    int failed = small_upload_pageable(small, 10);
    const std::int64_t first = flush();
    const std::int64_t again = flush();
    failed += small_upload_pageable(small, 5);
    const std::int64_t more = flush();
    std::printf("first %d, again %d, more %d\n", first > 0, again == first, more > first);
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        _exit(flush() == 0 ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::printf("in the child %d\n", status);
    std::puts("flushed");
    std::fflush(stdout);
    std::getchar();
    return failed;
}
