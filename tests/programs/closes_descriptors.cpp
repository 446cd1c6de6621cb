// Closes every descriptor from 3 up in mid-run, as daemons do, and opens 40 files of its own at the same numbers.
// Prints "ready" and waits for a line before, and again after more copies. Its files must hold what it wrote and
// nothing else; the report must have the first 10 + 10 uploads and say that its descriptor was lost, or have all 15
// + 15.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "small.h"

namespace {

void wait_for_line() {
    char line[64];
    std::puts("ready");
    std::fflush(stdout);
    if (std::fgets(line, sizeof line, stdin) == nullptr) {
        std::exit(4);
    }
}

}  // namespace

int main() {
    const Small small = small_start();
    int failed = small_uploads(small, 10);
    cudaDeviceSynchronize();
    wait_for_line();
    closefrom(3);
    std::vector<int> files;
    for (int i = 0; i < 40; ++i) {
        const std::string name = "own-" + std::to_string(i);
        const int file = open(name.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (file < 0 || write(file, name.data(), name.size()) != static_cast<ssize_t>(name.size())) {
            return 5;
        }
        files.push_back(file);
    }
    failed += small_uploads(small, 5);
    cudaDeviceSynchronize();
    wait_for_line();
    for (int i = 0; i < 40; ++i) {
        const std::string name = "own-" + std::to_string(i);
        char back[64] = {};
        const ssize_t length = pread(files[static_cast<std::size_t>(i)], back, sizeof back, 0);
        if (length != static_cast<ssize_t>(name.size()) || name != back) {
            std::printf("%s was changed\n", name.c_str());
            return 6;
        }
    }
    std::printf("failed %d\n", failed);
    return 0;
}
