// Copies of every kind from one line, by turns, over the stub driver of tests/bench: what is remembered of the place
// must not be taken for the next call. Must be recorded: 50 copies of each direction, host memory and stream.
#include <cstdio>

#include "stub_api.h"

int main() {
    static char pageable[kStubBytes];
    void* pinned = nullptr;
    int failed = cudaMallocHost(&pinned, kStubBytes);
    void* const created = reinterpret_cast<void*>(0x5000);
    for (int round = 0; round < 50; ++round) {
        for (int way = 0; way < 8; ++way) {
            void* const host = (way & 1) != 0 ? pinned : pageable;
            const bool upload = (way & 2) != 0;
            void* const stream = (way & 4) != 0 ? created : nullptr;
            failed += cudaMemcpyAsync(upload ? kStubDevice : host, upload ? host : kStubDevice, kStubBytes,
                                      upload ? 1 : 2, stream) != 0
                          ? 1
                          : 0;
        }
    }
    std::printf("failed %d\n", failed);
    return failed;
}
