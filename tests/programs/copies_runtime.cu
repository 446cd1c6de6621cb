// Copies of every kind through the CUDA runtime; see copies.h. Built by nvcc with the shared runtime, with a static
// one, and with --default-stream per-thread.
#include "api_runtime.h"
// Comes after the API.
#include "copies.h"

int main() {
    return copies_main();
}
