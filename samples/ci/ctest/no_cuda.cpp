// A test that makes no CUDA call; it exits with its argument, or 0.
#include <cstdlib>

int main(int argc, char** argv) {
    return argc > 1 ? std::atoi(argv[1]) : 0;
}
