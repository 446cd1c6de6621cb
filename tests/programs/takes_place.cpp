// takes_place PLUGIN...: opens each plugin, calls it from a frame of many pages and closes it, so that the next one is
// mapped where it was. The plugins are one source with frames of other sizes: what an unwinder remembers of one leads
// astray in the next. Must be recorded: 3 pageable copies for each plugin, as cudaMemcpyAsync.
#include <dlfcn.h>

#include <cstdio>

namespace {

using Copies = int (*)();

__attribute__((noinline)) int call_from_large_frame(Copies copies) {
    volatile char large[100'000];
    large[0] = 1;
    const int failed = copies();
    return failed + large[0] - 1;
}

}  // namespace

int main(int argc, char** argv) {
    int failed = 0;
    int elsewhere = 0;
    Copies before = nullptr;
    for (int i = 1; i < argc; ++i) {
        void* const plugin = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        if (plugin == nullptr) {
            std::printf("%s\n", dlerror());
            return 2;
        }
        const auto copies = reinterpret_cast<Copies>(dlsym(plugin, "plugin_copies"));
        failed += call_from_large_frame(copies);
        elsewhere += before != nullptr && copies != before ? 1 : 0;
        before = copies;
        dlclose(plugin);
    }
    std::printf("failed %d, elsewhere %d\n", failed, elsewhere);
    return failed;
}
