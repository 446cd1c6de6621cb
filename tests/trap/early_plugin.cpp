// See early.cpp. Its resolver runs while the loader relocates it, before the libraries that are in front of it.
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

namespace {

void chosen() {}
long g_from_resolver = 0;
long g_from_constructor = 0;

}  // namespace

extern "C" {
using function_type = void (*)();
__attribute__((used)) function_type early_plugin_resolver() {
    g_from_resolver = getpid() == syscall(SYS_getpid);
    return &chosen;
}
__attribute__((ifunc("early_plugin_resolver"))) void early_plugin_function();
}

namespace {

__attribute__((used)) function_type g_anchor = &early_plugin_function;

__attribute__((constructor)) void begin() {
    sigset_t set;
    sigemptyset(&set);
    g_from_constructor = sigprocmask(SIG_BLOCK, nullptr, &set) == 0 && write(-1, "", 1) == -1;
    std::printf("resolver %ld constructor %ld\n", g_from_resolver, g_from_constructor);
}

}  // namespace
