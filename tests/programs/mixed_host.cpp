// Makes 10 + 10 uploads through the shared runtime and then runs the plugin named by its argument, which brings a
// static runtime: both in one process (scenario I1). Must be recorded: these as cudaMemcpyAsync, the plugin's as the
// driver's.
#include <dlfcn.h>

#include <cstdio>

#include "small.h"

int main(int argc, char** argv) {
    const Small small = small_start();
    const int failed = small_uploads(small, 10);
    cudaDeviceSynchronize();
    void* const plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : nullptr;
    const auto run = plugin != nullptr ? reinterpret_cast<int (*)()>(dlsym(plugin, "plugin_main")) : nullptr;
    if (run == nullptr) {
        return 2;
    }
    const int status = run();
    small_end(small);
    return status + failed;
}
