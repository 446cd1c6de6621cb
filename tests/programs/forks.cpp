// Forks before or after its first CUDA call; the child makes 5 + 5 uploads and ends; the parent waits for it and has
// made 10 + 10 before (mode after-*) and 5 + 5 afterwards.
// Modes: before-exit, before-_exit, after-exit, after-_exit, after-exec, after-idle (the child makes no CUDA call),
// after-busy (another thread of the parent copies all the while), vfork-exec, raw-clone.
// Must be recorded: the parent's 15 + 15 in one file; a child's calls in its own, flagged as "after a CUDA fork" where
// the parent had used CUDA; nothing for a child without a CUDA call.
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "small.h"

namespace {

bool ends_with(const std::string& text, const char* tail) {
    const std::size_t length = std::strlen(tail);
    return text.size() >= length && text.compare(text.size() - length, length, tail) == 0;
}

[[noreturn]] void child(const std::string& mode, const Small* inherited, char** argv) {
    if (ends_with(mode, "-exec")) {
        execl("/proc/self/exe", argv[0], "plain", static_cast<char*>(nullptr));
        _exit(9);
    }
    if (!ends_with(mode, "-idle") && !ends_with(mode, "-busy")) {
        if (inherited == nullptr) {
            const Small own = small_start();
            small_uploads(own, 5);
            cudaDeviceSynchronize();
            small_end(own);
        } else {
            // CUDA does not work in a child of a process that used it: these fail, and must fail as without the tool.
            small_uploads(*inherited, 5);
        }
    }
    if (ends_with(mode, "-exit")) {
        std::exit(0);
    }
    _exit(0);
}

// A function of its own: the child borrows the parent's frame until it execs.
__attribute__((noinline)) pid_t vfork_and_exec(const char* name) {
    const pid_t pid = vfork();
    if (pid == 0) {
        execl("/proc/self/exe", name, "plain", static_cast<char*>(nullptr));
        _exit(9);
    }
    return pid;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string mode = argc > 1 ? argv[1] : "plain";
    if (mode == "plain") {
        const Small small = small_start();
        const int failed = small_uploads(small, 3);
        cudaDeviceSynchronize();
        std::printf("plain failed %d\n", failed);
        return 0;
    }
    Small small;
    int failed = 0;
    const bool before = mode.rfind("before", 0) == 0;
    if (!before) {
        small = small_start();
        failed += small_uploads(small, 10);
        cudaDeviceSynchronize();
    }
    std::fflush(stdout);

    std::atomic<bool> stop = false;
    std::thread busy;
    if (ends_with(mode, "-busy")) {
        busy = std::thread([&] {
            while (!stop) {
                small_upload_pinned(small, 1);
            }
        });
    }
    int children = ends_with(mode, "-busy") ? 20 : 1;
    int status = 0;
    bool clean = true;
    for (; children > 0; --children) {
        pid_t pid = 0;
        if (mode == "vfork-exec") {
            pid = vfork_and_exec(argv[0]);
        } else if (mode == "raw-clone") {
            pid = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
        } else {
            pid = fork();
        }
        if (pid == 0) {
            child(mode, before ? nullptr : &small, argv);
        }
        waitpid(pid, &status, 0);
        clean = clean && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    if (busy.joinable()) {
        stop = true;
        busy.join();
    }
    if (before) {
        small = small_start();
        failed += small_uploads(small, 10);
    }
    failed += small_uploads(small, 5);
    cudaDeviceSynchronize();
    std::printf("child %s, parent failed %d\n", clean ? "clean" : "not clean", failed);
    return clean ? 0 : 1;
}
