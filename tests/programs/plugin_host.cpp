// Opens the plugin named by its argument RTLD_LOCAL (RTLD_DEEPBIND too, with a second argument "deepbind") and runs its
// plugin_main. The host itself knows nothing of CUDA, so the runtime is in no global scope.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

int main(int argc, char** argv) {
    if (argc < 2) {
        std::fprintf(stderr, "usage: plugin_host PLUGIN [deepbind]\n");
        return 2;
    }
    const bool deep = argc > 2 && std::strcmp(argv[2], "deepbind") == 0;
    void* const plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL | (deep ? RTLD_DEEPBIND : 0));
    if (plugin == nullptr) {
        std::fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    const auto run = reinterpret_cast<int (*)()>(dlsym(plugin, "plugin_main"));
    return run != nullptr ? run() : 2;
}
