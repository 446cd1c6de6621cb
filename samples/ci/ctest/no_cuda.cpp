// A test that makes no CUDA call; it exits with its argument, or 0; `no_cuda abort` is killed by SIGABRT.
#include <cstdlib>
#include <cstring>

int main(int argc, char** argv) {
    if (argc > 1 && std::strcmp(argv[1], "abort") == 0) {
        std::abort();
    }
    return argc > 1 ? std::atoi(argv[1]) : 0;
}
