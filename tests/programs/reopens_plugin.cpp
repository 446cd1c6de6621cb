// The plugin of reopens.cpp, linked with the stub runtime of tests/bench.
#include "stub_api.h"

extern "C" int plugin_copies() {
    static char pageable[kStubBytes];
    int failed = 0;
    for (int i = 0; i < 3; ++i) {
        failed += cudaMemcpyAsync(kStubDevice, pageable, sizeof pageable, 1, nullptr) != 0 ? 1 : 0;
    }
    return failed;
}
