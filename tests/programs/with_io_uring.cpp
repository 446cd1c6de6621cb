// Becomes a program that has a ring of io_uring from the start: with_io_uring PROGRAM ARGUMENTS. Exits 77 where there
// is none to be had.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

int main(int, char** argv) {
    // struct io_uring_params (linux/io_uring.h), all zero.
    alignas(8) char parameters[120];
    std::memset(parameters, 0, sizeof parameters);
    const long ring = syscall(SYS_io_uring_setup, 4, parameters);
    if (ring < 0) {
        std::printf("io_uring is not available here\n");
        return 77;
    }
    fcntl(static_cast<int>(ring), F_SETFD, 0);
    execv(argv[1], argv + 1);
    std::perror("execv");
    return 126;
}
