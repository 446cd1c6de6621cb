// Copies through the wrapper library of copywrap.h: 4 pageable and 4 pinned uploads from caller_one, 2 pageable from
// caller_two, 3 pageable blocking downloads.
// Must be recorded under the runtime's names: stacks start in libcopywrap.so and go on in this program's callers; the
// two callers' pageable uploads are two sites; the downloads were synchronised at once.
#include <cstdio>
#include <cstdlib>

#include "copywrap.h"
#include "small.h"

volatile int repeats_one = 4;  // volatile: an unrolled loop would be several call sites
volatile int repeats_two = 2;
volatile int repeats_down = 3;

__attribute__((noinline)) int caller_one(const Small& small) {
    int failed = 0;
    for (int i = 0; i < repeats_one; ++i) {
        failed += copywrap_upload(small.device, small.pageable, kSmallBytes, nullptr) != 0 ? 1 : 0;
        failed += copywrap_upload(small.device, small.pinned, kSmallBytes, nullptr) != 0 ? 1 : 0;
    }
    return failed;
}

__attribute__((noinline)) int caller_two(const Small& small) {
    int failed = 0;
    for (int i = 0; i < repeats_two; ++i) {
        failed += copywrap_upload(small.device, small.pageable, kSmallBytes, nullptr) != 0 ? 1 : 0;
    }
    return failed;
}

__attribute__((noinline)) int caller_down(const Small& small) {
    int failed = 0;
    for (int i = 0; i < repeats_down; ++i) {
        failed += copywrap_download_and_wait(small.pageable, small.device, kSmallBytes, nullptr) != 0 ? 1 : 0;
    }
    return failed;
}

int main() {
    const Small small = small_start();
    const int failed = caller_one(small) + caller_two(small) + caller_down(small);
    std::printf("failed %d\n", failed);
    small_end(small);
    return failed;
}
