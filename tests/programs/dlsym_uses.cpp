// Calls dlsym in the ways that programs without CUDA do (scenario I4): from a constructor, from a preinit function,
// from eight threads, with RTLD_DEFAULT, RTLD_NEXT and handles, for names that exist and that do not, an empty and a
// very long one. Prints where each answer lies and what dlerror says: must equal the output without the tool. Makes no
// CUDA call: no file.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <string>
#include <thread>
#include <vector>

namespace {

std::string describe(void* found) {
    if (found == nullptr) {
        // Without the object that it names first: which one looked is not the program's business.
        const char* const error = dlerror();
        const char* const text = error != nullptr ? std::strstr(error, ": ") : nullptr;
        return std::string("none, error") + (text != nullptr ? text : " (none)");
    }
    Dl_info info{};
    if (dladdr(found, &info) == 0 || info.dli_fname == nullptr) {
        return "somewhere";
    }
    const char* const slash = std::strrchr(info.dli_fname, '/');
    return std::string(slash != nullptr ? slash + 1 : info.dli_fname) + " " +
           (info.dli_sname != nullptr ? info.dli_sname : "?");
}

std::string ask(void* handle, const char* handle_name, const char* name) {
    dlerror();
    return std::string(handle_name) + " " + name + ": " + describe(dlsym(handle, name)) + "\n";
}

std::string ask_all() {
    std::string all;
    const std::string long_name(5000, 'x');
    void* const math = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
    void* const self = dlopen(nullptr, RTLD_NOW);
    for (const char* name : {"malloc", "cos", "dlopen", "cudaMemcpyAsyncX", "cudaMemcpyAsync", "cu", "", "main"}) {
        all += ask(RTLD_DEFAULT, "RTLD_DEFAULT", name);
        all += ask(RTLD_NEXT, "RTLD_NEXT", name);
        all += ask(math, "libm", name);
        all += ask(self, "self", name);
    }
    all += dlsym(RTLD_DEFAULT, long_name.c_str()) == nullptr ? "long name: none\n" : "long name: found\n";
    dlclose(math);
    return all;
}

std::string at_construction;
__attribute__((constructor)) void construct() {
    at_construction = ask(RTLD_DEFAULT, "constructor", "free");
}

bool preinit_found = false;
void preinit(int, char**, char**) {
    preinit_found = dlsym(RTLD_DEFAULT, "free") != nullptr;
}
__attribute__((section(".preinit_array"), used)) void (*preinit_entry)(int, char**, char**) = preinit;

}  // namespace

int main() {
    std::vector<std::string> answers(8);
    std::vector<std::thread> threads;
    for (std::string& answer : answers) {
        threads.emplace_back([&answer] {
            for (int i = 0; i < 50; ++i) {
                answer = ask_all();
            }
        });
    }
    bool same = true;
    const std::string mine = ask_all();
    for (std::size_t i = 0; i < threads.size(); ++i) {
        threads[i].join();
        same = same && answers[i] == mine;
    }
    std::printf("preinit %d\n%s%sthreads agree %d\n", preinit_found ? 1 : 0, at_construction.c_str(), mine.c_str(),
                same ? 1 : 0);
    return 0;
}
