// Which numbers the program's own descriptors get while it copies, from frames that cannot be unwound, too
// (libbare_vendor.so); then closes everything from 3 up and fills the numbers with pipes of its own. Nobody else may
// take a number, write into a pipe or read from one. Prints numbers, pipe contents and errno. Must be recorded: 60
// uploads.
// With a file's name as argument: closes descriptor 2 (unless it was started without), opens the file, which gets that
// number, makes its first CUDA calls, and prints what the file holds then.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "small.h"

extern "C" int bare_upload(void* device, const void* host, std::size_t bytes);

namespace {

volatile int repeats = 20;

__attribute__((noinline)) int upload(const Small& small) {
    int failed = 0;
    for (int i = 0; i < repeats; ++i) {
        failed += bare_upload(small.device, small.pageable, kSmallBytes) != 0 ? 1 : 0;
    }
    asm volatile("" ::: "memory");
    return failed;
}
// Other stacks than upload()'s.
__attribute__((noinline)) int upload_again(const Small& small) {
    const int failed = upload(small);
    asm volatile("" ::: "memory");
    return failed;
}

int file_in_place_of_stderr(const char* name) {
    close(2);
    const int file = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const Small small = small_start();
    const int failed = small_uploads(small, 5);
    cudaDeviceSynchronize();
    small_end(small);
    char contents[512] = {};
    const ssize_t length = pread(file, contents, sizeof contents - 1, 0);
    std::printf("descriptor %d, failed %d, %d bytes: %s\n", file, failed, static_cast<int>(length), contents);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1) {
        return file_in_place_of_stderr(argv[1]);
    }
    const Small small = small_start();
    errno = 77;
    int failed = upload(small);
    std::printf("errno %d, next descriptor %d\n", errno, open("/dev/null", O_RDONLY | O_CLOEXEC));
    closefrom(3);
    int ends[20][2];
    for (int i = 0; i < 20; ++i) {
        if (pipe2(ends[i], O_CLOEXEC | O_NONBLOCK) != 0 || write(ends[i][1], "abc", 3) != 3) {
            return 5;
        }
    }
    errno = 77;
    failed += upload_again(small);
    std::printf("errno %d, pipes from %d to %d:", errno, ends[0][0], ends[19][1]);
    failed += upload(small);
    for (const auto& pair : ends) {
        char contents[16] = {};
        const ssize_t length = read(pair[0], contents, sizeof contents - 1);
        std::printf(" %d %s", static_cast<int>(length), contents);
    }
    std::printf("\nfailed %d\n", failed);
    small_end(small);
    return 0;
}
