// Another preloaded library that stands in front of libc, behind libpincheck-trap.so: it must still be called.
#include <dlfcn.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

extern "C" ssize_t write(int file, const void* memory, size_t bytes) {
    using Write = ssize_t (*)(int, const void*, size_t);
    static const auto next = reinterpret_cast<Write>(dlsym(RTLD_NEXT, "write"));
    return file == 99 ? 4242 : next(file, memory, bytes);
}
