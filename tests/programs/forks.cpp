// Forks before or after its first CUDA call; the child makes 5 + 5 uploads and ends; the parent waits for it and has
// made 10 + 10 before (mode after-*) and 5 + 5 afterwards.
// Modes: before-exit, before-_exit, after-exit, after-_exit, after-exec, after-idle (the child makes no CUDA call),
// after-busy (another thread of the parent copies all the while), vfork-exec, raw-clone, after-_Fork, posix_spawn,
// after-walks-exit (two threads walk the loader's list of objects, with its lock, while 200 children come to be that
// make calls), after-load-exit and after-load-_exit (four threads copy while twenty children come to be, and these make
// calls too). Must be recorded: the parent's 15 + 15 in one file; a child's calls in its own, flagged as "after a CUDA
// fork" where the parent had used CUDA; nothing for a child without a CUDA call.
#include <link.h>
#include <spawn.h>
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
#include <vector>

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

pid_t spawn(const char* name) {
    char* const arguments[] = {const_cast<char*>(name), const_cast<char*>("plain"), nullptr};
    pid_t pid = -1;
    return posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, arguments, environ) == 0 ? pid : -1;
}

bool has(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
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
    std::vector<std::thread> busy;
    for (int i = 0; i < (has(mode, "-load") ? 4 : ends_with(mode, "-busy") ? 1 : 0); ++i) {
        busy.emplace_back([&] {
            while (!stop) {
                small_upload_pinned(small, 1);
            }
        });
    }
    for (int i = 0; i < (has(mode, "-walks") ? 2 : 0); ++i) {
        busy.emplace_back([&] {
            while (!stop) {
                dl_iterate_phdr([](dl_phdr_info*, std::size_t, void*) { return 0; }, nullptr);
            }
        });
    }
    int children = has(mode, "-walks") ? 200 : busy.empty() ? 1 : 20;
    int status = 0;
    bool clean = true;
    for (; children > 0; --children) {
        pid_t pid = 0;
        if (mode == "vfork-exec") {
            pid = vfork_and_exec(argv[0]);
        } else if (mode == "raw-clone") {
            pid = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
        } else if (mode == "posix_spawn") {
            pid = spawn(argv[0]);
        } else if (ends_with(mode, "-_Fork")) {
            pid = _Fork();
        } else {
            pid = fork();
        }
        if (pid == 0) {
            child(mode, before ? nullptr : &small, argv);
        }
        waitpid(pid, &status, 0);
        clean = clean && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    stop = true;
    for (std::thread& thread : busy) {
        thread.join();
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
