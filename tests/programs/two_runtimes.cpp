// Linked with one runtime, opens a plugin (first argument) that is linked with the runtime of another major version.
// Each makes uploads and one refused call, and looks at its own runtime's last error. Must be recorded: 4 + 4 uploads
// of the program, 6 + 6 of the plugin, all as cudaMemcpyAsync. The last error of each runtime must be the one that its
// own caller made: a call sent to the other runtime shows here.
#include <dlfcn.h>

#include <cstdio>

#include "small.h"

int main(int argc, char** argv) {
    if (argc < 2) {
        return 2;
    }
    void* const plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (plugin == nullptr) {
        std::printf("%s\n", dlerror());
        return 2;
    }
    const auto uploads = reinterpret_cast<int (*)()>(dlsym(plugin, "plugin_uploads"));
    const auto refused = reinterpret_cast<int (*)()>(dlsym(plugin, "plugin_refused"));
    const auto last_error = reinterpret_cast<int (*)()>(dlsym(plugin, "plugin_last_error"));
    const Small small = small_start();
    const int failed = small_uploads(small, 4);
    std::printf("failed %d, in the plugin %d\n", failed, uploads());
    std::printf("refused in the plugin %d: ", refused());
    std::printf("its error %d, ", last_error());
    std::printf("ours %d\n", static_cast<int>(cudaGetLastError()));
    const auto bad_kind = static_cast<cudaMemcpyKind>(77);
    const cudaError_t here = cudaMemcpyAsync(small.device, small.pinned, kSmallBytes, bad_kind, nullptr);
    std::printf("refused here %d: ", static_cast<int>(here));
    std::printf("its error %d, ", last_error());
    std::printf("ours %d\n", static_cast<int>(cudaGetLastError()));
    cudaDeviceSynchronize();
    small_end(small);
    return 0;
}
