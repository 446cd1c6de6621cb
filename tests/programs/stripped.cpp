// A stripped program with copies behind a vendor's library that cannot be unwound (scenario K9): 4 uploads by the
// library itself, 3 by the wrapper library (libcopywrap.so) in a callback from it. Must be recorded: both sites' return
// addresses, with module, build-id and offset, however little follows them.
#include <cstdio>

#include "copywrap.h"
#include "small.h"

extern "C" int bare_upload(void* device, const void* host, std::size_t bytes);
extern "C" int bare_call(int (*function)(void*), void* data);

volatile int repeats_direct = 4;  // volatile: an unrolled loop would be several call sites
volatile int repeats_called = 3;

int main() {
    Small small = small_start();
    int failed = 0;
    for (int i = 0; i < repeats_direct; ++i) {
        failed += bare_upload(small.device, small.pageable, kSmallBytes);
    }
    const auto through_wrapper = [](void* data) {
        const Small& mine = *static_cast<Small*>(data);
        const int status = copywrap_upload(mine.device, mine.pageable, kSmallBytes, nullptr);
        asm volatile("" ::: "memory");
        return status;
    };
    for (int i = 0; i < repeats_called; ++i) {
        failed += bare_call(through_wrapper, &small);
    }
    cudaDeviceSynchronize();
    std::printf("failed %d\n", failed);
    small_end(small);
    return 0;
}
