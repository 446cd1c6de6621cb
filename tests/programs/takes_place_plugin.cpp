// A plugin of takes_place.cpp, linked with the stub runtime of tests/bench. FRAME_BYTES: of plugin_copies's frame.
#include "stub_api.h"

extern "C" int plugin_copies() {
    volatile char frame[FRAME_BYTES];
    frame[0] = 0;
    static char pageable[kStubBytes];
    int failed = frame[0];
    for (int i = 0; i < 3; ++i) {
        failed += cudaMemcpyAsync(kStubDevice, pageable, sizeof pageable, 1, nullptr) != 0 ? 1 : 0;
    }
    return failed;
}
