// Calls wrapped functions before anything of the library's could have run: from a resolver and an initialiser of a
// library that is relocated and initialised before it (early_plugin.cpp, preloaded behind it), and from its own.
#include <unistd.h>

#include <csignal>
#include <cstdio>

namespace {

long g_from_preinit = 0;

void preinit() {
    char byte = 0;
    g_from_preinit = read(-1, &byte, 1);
}
__attribute__((section(".preinit_array"), used)) void (*g_preinit)() = &preinit;

}  // namespace

int main() {
    std::printf("preinit %ld\n", g_from_preinit);
    std::printf("write %ld\n", static_cast<long>(write(99, "", 1)));  // passes_by.cpp has an answer of its own
    return 0;
}
