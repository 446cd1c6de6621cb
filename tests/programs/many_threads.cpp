// Eight rounds of 64 threads that live at the same time; each makes 4 + 4 uploads and ends. No thread is left over.
// Must be recorded: 8 * 64 * 4 uploads of each kind, in far fewer slots than the 513 threads that made them.
#include <cstdio>
#include <thread>
#include <vector>

#include "small.h"

int main() {
    const Small small = small_start();
    for (int round = 0; round < 8; ++round) {
        std::vector<std::thread> threads;
        for (int i = 0; i < 64; ++i) {
            threads.emplace_back([&] { small_uploads(small, 4); });
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
    }
    const int status = cudaDeviceSynchronize();
    std::printf("status %d\n", status);
    return 0;
}
