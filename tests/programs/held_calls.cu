// Calls that hold the host, and the same calls where they do not: `held_calls NAME`, one name a cause and half.
//
// What holds is always a gate: a kernel that runs until the host opens it. A half whose call waits for the gate says
// "inside" right before it, and a second thread opens the gate when a line comes on stdin: whoever runs the program can
// see first that the call has begun. A half whose call must not wait opens the gate itself, after it.
#include <cstring>
#include <thread>

#include "check_cuda.h"

constexpr std::size_t kMiB = 1 << 20;

__global__ void hold(volatile int* open) {
    while (*open == 0) {
    }
}
__global__ void work() {}
__global__ void other_work() {}

namespace {

// One gate at a time; each closing has a word of its own, since the one before may still be read.
class Gate {
  public:
    Gate() { CHECK(cudaHostAlloc(reinterpret_cast<void**>(&words_), sizeof(int) * 1024, cudaHostAllocMapped)); }
    SITE void close_in(cudaStream_t stream) {
        int* word = &words_[++last_];
        *word = 0;
        int* on_device = nullptr;
        CHECK(cudaHostGetDevicePointer(reinterpret_cast<void**>(&on_device), word, 0));
        hold<<<1, 1, 0, stream>>>(on_device);
        CHECK(cudaGetLastError());
    }
    void open() { *static_cast<volatile int*>(&words_[last_]) = 1; }

  private:
    int* words_ = nullptr;
    int last_ = 0;
};

// Never destroyed: releasing its memory would be one more wait.
Gate& gate() {
    static Gate& instance = *new Gate;
    return instance;
}

void read_line() {
    int c = 0;
    while ((c = std::getchar()) != '\n' && c != EOF) {
    }
}
void say_inside() {
    std::puts("inside");
    std::fflush(stdout);
}

// Runs `call`, which waits for the gate, and opens that when a line comes on stdin.
template <class Call>
void opened_from_outside(Call&& call) {
    say_inside();
    std::thread opener([] {
        read_line();
        gate().open();
    });
    call();
    opener.join();
}

SITE cudaStream_t new_stream() {
    cudaStream_t stream = nullptr;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}
char* on_device(std::size_t bytes) {
    void* memory = nullptr;
    CHECK(cudaMalloc(&memory, bytes));
    return static_cast<char*>(memory);
}
char* pinned(std::size_t bytes) {
    void* memory = nullptr;
    CHECK(cudaMallocHost(&memory, bytes));
    return static_cast<char*>(memory);
}
char* pageable(std::size_t bytes) {
    return static_cast<char*>(std::calloc(bytes, 1));
}

SITE void upload(char* device, const char* host, std::size_t bytes, cudaStream_t stream) {
    CHECK(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream));
}
SITE void download(char* host, const char* device, std::size_t bytes, cudaStream_t stream) {
    CHECK(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream));
}
SITE void wait_for(cudaStream_t stream) {
    CHECK(cudaStreamSynchronize(stream));
}
SITE void launch_work(cudaStream_t stream) {
    work<<<1, 1, 0, stream>>>();
    CHECK(cudaGetLastError());
}
SITE void launch_other_work(cudaStream_t stream) {
    other_work<<<1, 1, 0, stream>>>();
    CHECK(cudaGetLastError());
}

// ---- Pageable copies

void staging(bool page_locked) {
    constexpr std::size_t kBytes = 8 * kMiB;
    char* host = page_locked ? pinned(kBytes) : pageable(kBytes);
    char* device = on_device(kBytes);
    const cudaStream_t stream = new_stream();
    upload(device, host, kBytes, stream);
    wait_for(stream);
    download(host, device, kBytes, stream);
    wait_for(stream);
}

// ---- Releases

SITE void release_pinned(void* memory) {
    CHECK(cudaFreeHost(memory));
}
// ---- Loading

// Q2: the first launch of a kernel loads it; later ones do not.
void loading() {
    const cudaStream_t stream = new_stream();
    for (int i = 0; i < 3; ++i) {
        launch_work(stream);
        launch_other_work(stream);
    }
    wait_for(stream);
}

// ---- Page-locking

SITE void lock_pages() {
    char* memory = pageable(kMiB);
    pinned(kMiB);
    CHECK(cudaHostRegister(memory, kMiB, cudaHostRegisterDefault));
}
SITE void allocate_managed() {
    void* memory = nullptr;
    CHECK(cudaMallocManaged(&memory, 64 * kMiB));
}

// ---- Another thread's call

// One thread is inside a release, which waits for the gate; this one copies meanwhile.
void beside_release() {
    char* device = on_device(kMiB);
    char* host = pinned(64);
    char* released = pinned(64);
    const cudaStream_t held = new_stream();
    const cudaStream_t stream = new_stream();
    upload(device, host, 64, stream);
    wait_for(stream);
    gate().close_in(held);
    say_inside();
    std::thread other([&] { release_pinned(released); });
    read_line();  // the release has begun
    opened_from_outside([&] { upload(device, host, 64, stream); });
    other.join();
}
// One thread is inside a wait, which holds nothing up.
void beside_wait() {
    char* device = on_device(kMiB);
    char* host = pinned(64);
    const cudaStream_t held = new_stream();
    const cudaStream_t stream = new_stream();
    gate().close_in(held);
    say_inside();
    std::thread other([&] { wait_for(held); });
    read_line();  // the wait has begun
    upload(device, host, 64, stream);
    gate().open();
    other.join();
    wait_for(stream);
}

// ---- Sizes

// One line of code that copies several sizes.
void sizes() {
    char* device = on_device(kMiB);
    char* host = pinned(kMiB);
    const cudaStream_t stream = new_stream();
    for (std::size_t bytes = 1; bytes <= kMiB; bytes *= 2) {
        upload(device, host, bytes, stream);
    }
    wait_for(stream);
}

struct Half {
    const char* name;
    void (*run)();
};
const Half kHalves[] = {
    {"staging", [] { staging(false); }},
    {"staging_pinned", [] { staging(true); }},
    {"Q2", &loading},
    {"lock_pages", &lock_pages},
    {"allocate_managed", &allocate_managed},
    {"beside_release", &beside_release},
    {"beside_wait", &beside_wait},
    {"sizes", &sizes},
};

}  // namespace

int main(int argc, char** argv) {
    for (const Half& half : kHalves) {
        if (argc == 2 && std::strcmp(argv[1], half.name) == 0) {
            gate();
            half.run();
            return 0;
        }
    }
    std::fprintf(stderr, "usage: held_calls NAME\n");
    for (const Half& half : kHalves) {
        std::fprintf(stderr, "  %s\n", half.name);
    }
    return 2;
}
