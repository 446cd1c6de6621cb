// Opens the plugin named by its argument, runs its plugin_copies and closes it again, 20 times, with its runtime;
// between two rounds mappings are made, so that what is opened next may lie elsewhere, and functions kept from before
// are gone. Must be recorded: 20 * 3 pageable copies, as cudaMemcpyAsync.
#include <dlfcn.h>
#include <sys/mman.h>

#include <cstdio>

int main(int argc, char** argv) {
    if (argc < 2) {
        return 2;
    }
    int failed = 0;
    for (int round = 0; round < 20; ++round) {
        void* const plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        if (plugin == nullptr) {
            std::printf("%s\n", dlerror());
            return 2;
        }
        failed += reinterpret_cast<int (*)()>(dlsym(plugin, "plugin_copies"))();
        dlclose(plugin);
        // A hole of another size than the runtime's, taken first by what is opened first: the plugin.
        mmap(nullptr, static_cast<std::size_t>(4096) << (round % 5), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    void* const runtime = dlopen(RUNTIME_NAME, RTLD_NOW | RTLD_NOLOAD);
    std::printf("failed %d, runtime %s\n", failed, runtime == nullptr ? "gone" : "there");
    return failed;
}
