// Looks for CUDA in every way of probe.h, from the program, from a library it is linked with and from a plugin (first
// argument), and prints the answers. Built as PIE and not, lazy and BIND_NOW. Further arguments, in order:
//   local    open libcudart.so.N RTLD_LOCAL first (N: PROBE_CUDART); what others see must not change
//   global   open it RTLD_GLOBAL first; it must now be found
//   handle   also ask with the handle of an opened library
// Must be recorded: nothing, not even a file.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "probe.h"

extern "C" void probe_in_library(const char* who);

int main(int argc, char** argv) {
    const char* const cudart = std::getenv("PROBE_CUDART");
    void* opened = nullptr;
    for (int i = 2; i < argc; ++i) {
        if (std::strcmp(argv[i], "local") == 0 || std::strcmp(argv[i], "global") == 0) {
            opened = dlopen(cudart, RTLD_NOW | (argv[i][0] == 'g' ? RTLD_GLOBAL : RTLD_LOCAL));
            if (opened == nullptr) {
                std::printf("%s\n", dlerror());
                return 2;
            }
        }
        if (std::strcmp(argv[i], "handle") == 0) {
            probe_dlsym("program", opened, "handle", "cudaMemcpyAsync");
            probe_dlsym("program", opened, "handle", "cudaNoSuchFunction");
        }
    }
    probe_weak("program");
    probe_by_name("program");
    probe_in_library("library");
    if (argc > 1 && std::strcmp(argv[1], "-") != 0) {
        void* const plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        if (plugin == nullptr) {
            std::printf("%s\n", dlerror());
            return 2;
        }
        reinterpret_cast<void (*)(const char*)>(dlsym(plugin, "probe_in_plugin"))("plugin");
    }
    return 0;
}
