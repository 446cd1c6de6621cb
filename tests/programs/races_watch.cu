// Buffers that the processor writes while their copy may be in flight, and the same where it is not: `races_watch
// NAME`, one name a half (scenario ids are those of the tests).
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "check_cuda.h"
#include "new_stream.h"

__global__ void work() {}

namespace {

constexpr std::size_t kFloats = 10'000;
constexpr std::size_t kBytes = kFloats * sizeof(float);

char* on_device(std::size_t bytes = kBytes) {
    void* memory = nullptr;
    CHECK(cudaMalloc(&memory, bytes));
    return static_cast<char*>(memory);
}
SITE float* pinned_floats(std::size_t count = kFloats) {
    void* memory = nullptr;
    CHECK(cudaMallocHost(&memory, count * sizeof(float)));
    std::memset(memory, 0, count * sizeof(float));
    return static_cast<float*>(memory);
}
cudaStream_t other_stream() {
    cudaStream_t stream = nullptr;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}
cudaEvent_t new_event() {
    cudaEvent_t event = nullptr;
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    return event;
}
SITE void upload(char* device, const float* host, cudaStream_t stream, std::size_t bytes = kBytes) {
    CHECK(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream));
}
SITE void download(float* host, const char* device, cudaStream_t stream, std::size_t bytes = kBytes) {
    CHECK(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream));
}
SITE void wait_for(cudaStream_t stream) {
    CHECK(cudaStreamSynchronize(stream));
}
SITE void wait_for_event(cudaEvent_t event) {
    CHECK(cudaEventSynchronize(event));
}
__attribute__((noinline)) void helper(float* host) {
    *static_cast<volatile float*>(host) = 5;
}

// B1: the next step stores before it waits.
void B1(bool early) {
    const cudaStream_t stream = other_stream();
    const cudaEvent_t event = new_event();
    char* device = on_device();
    float* host = pinned_floats();
    for (int step = 0; step < 4; ++step) {
        if (step > 0) {
            if (early) {
                helper(host);
            }
            wait_for_event(event);
        }
        for (std::size_t i = 0; i < kFloats; ++i) {
            host[i] = static_cast<float>(step + 1);
        }
        upload(device, host, stream);
        CHECK(cudaEventRecord(event, stream));
    }
    wait_for(stream);
}

// B2: an allocator that pins, far from who uses it.
struct Allocator {
    SITE static float* allocate() { return pinned_floats(); }
};
void B2(bool early) {
    const cudaStream_t stream = other_stream();
    char* device = on_device();
    float* host = Allocator::allocate();
    for (int step = 0; step < 3; ++step) {
        std::memset(host, step + 1, kBytes);
        upload(device, host, stream);
        if (!early) {
            wait_for(stream);
        }
    }
    wait_for(stream);
}

// B3: the last element.
void B3(std::size_t count) {
    const cudaStream_t stream = other_stream();
    float* host = pinned_floats(count);
    char* device = on_device(count * sizeof(float));
    upload(device, host, stream, count * sizeof(float));
    host[count - 1] = 7;
    wait_for(stream);
}

// B4: a system call writes.
void B4(bool early) {
    const cudaStream_t stream = other_stream();
    float* host = pinned_floats();
    const int zero = open("/dev/urandom", O_RDONLY);
    upload(on_device(), host, stream);
    if (!early) {
        wait_for(stream);
    }
    if (read(zero, host, kBytes) < 0) {
        std::exit(1);
    }
    wait_for(stream);
}

// D2: a block of a slab is released, handed out again and written.
void D2(bool early) {
    const cudaStream_t stream = other_stream();
    float* slab = pinned_floats(8 * kFloats);
    char* device = on_device();
    float* block = slab + 3 * kFloats;
    upload(device, block, stream);
    if (!early) {
        wait_for(stream);
    }
    block[17] = 1;  // its next owner
    wait_for(stream);
}

// A download's destination is written.
void written_result(bool early) {
    const cudaStream_t stream = other_stream();
    float* host = pinned_floats();
    download(host, on_device(), stream);
    if (!early) {
        wait_for(stream);
    }
    host[kFloats / 2] = 3;
    wait_for(stream);
}

// Neighbouring slices of one slab, each refilled after its own wait; several copies of one.
void L5() {
    cudaStream_t streams[4];
    cudaEvent_t events[4];
    for (int i = 0; i < 4; ++i) {
        streams[i] = other_stream();
        events[i] = new_event();
    }
    float* slab = pinned_floats(4 * 1000);
    char* device = on_device(4 * 4000);
    for (int step = 0; step < 6; ++step) {
        for (int i = 0; i < 4; ++i) {
            if (step > 0) {
                wait_for_event(events[i]);
            }
            std::memset(slab + i * 1000, step * 4 + i + 1, 4000);
            upload(device + i * 4000, slab + i * 1000, streams[i], 4000);
            upload(device + i * 4000, slab + i * 1000, streams[i], 4000);
            CHECK(cudaEventRecord(events[i], streams[i]));
        }
    }
    CHECK(cudaDeviceSynchronize());
}

// The double buffer of the lessons: the wait for an event that was never recorded is no mistake.
void L6() {
    const cudaStream_t stream = other_stream();
    float* host[] = {pinned_floats(), pinned_floats()};
    char* device[] = {on_device(), on_device()};
    const cudaEvent_t free[] = {new_event(), new_event()};
    for (int step = 0; step < 8; ++step) {
        wait_for_event(free[step % 2]);
        std::memset(host[step % 2], step + 1, kBytes);
        upload(device[step % 2], host[step % 2], stream);
        CHECK(cudaEventRecord(free[step % 2], stream));
        work<<<1, 1, 0, stream>>>();
    }
    wait_for(stream);
}
// Wrong twice: the event is recorded before the copy.
void event_before_copy() {
    const cudaStream_t stream = other_stream();
    float* host[] = {pinned_floats(), pinned_floats()};
    char* device[] = {on_device(), on_device()};
    const cudaEvent_t free[] = {new_event(), new_event()};
    for (int step = 0; step < 8; ++step) {
        wait_for_event(free[step % 2]);
        std::memset(host[step % 2], step + 1, kBytes);
        CHECK(cudaEventRecord(free[step % 2], stream));
        upload(device[step % 2], host[step % 2], stream);
    }
    wait_for(stream);
}

// L1: a host function fills the source; the copy is behind it.
float* g_host = nullptr;
std::atomic<bool> g_go{false};
void L1() {
    const cudaStream_t stream = other_stream();
    g_host = pinned_floats();
    CHECK(cudaLaunchHostFunc(
        stream,
        [](void*) {
            while (!g_go.load()) {
                std::this_thread::yield();
            }
            std::memset(g_host, 1, kBytes);
        },
        nullptr));
    upload(on_device(), g_host, stream);
    g_go.store(true);
    wait_for(stream);
}
// L2: a host function behind a download uses the result, and writes there.
void L2() {
    const cudaStream_t stream = other_stream();
    g_host = pinned_floats();
    for (int step = 0; step < 4; ++step) {
        download(g_host, on_device(), stream);
        CHECK(cudaLaunchHostFunc(
            stream, [](void*) { g_host[5] = 1; }, nullptr));
    }
    wait_for(stream);
}

// Another thread waits, and hands the buffer on.
void other_thread_waits() {
    const cudaStream_t stream = other_stream();
    float* host = pinned_floats();
    char* device = on_device();
    for (int step = 0; step < 4; ++step) {
        std::memset(host, step + 1, kBytes);
        upload(device, host, stream);
        std::thread([&] { wait_for(stream); }).join();
    }
}
// Registered memory, not on a page of its own, beside live heap.
void K10() {
    const cudaStream_t stream = other_stream();
    char* heap = static_cast<char*>(std::calloc(1, 65536));
    float* host = reinterpret_cast<float*>(heap + 4000);
    CHECK(cudaHostRegister(host, 12'000, cudaHostRegisterDefault));
    char* device = on_device(12'000);
    for (int step = 0; step < 4; ++step) {
        std::memset(host, step, 12'000);
        upload(device, host, stream, 12'000);
        std::memset(heap, step, 4000);  // neighbours
        std::memset(heap + 16'000, step, 4000);
        wait_for(stream);
    }
    CHECK(cudaHostUnregister(host));
    std::free(heap);
}

const struct Half {
    const char* name;
    void (*run)();
} kHalves[] = {
    {"B1", [] { B1(true); }},
    {"B1_waited", [] { B1(false); }},
    {"B2", [] { B2(true); }},
    {"B2_waited", [] { B2(false); }},
    {"B3_10", [] { B3(10); }},
    {"B3_10000", [] { B3(10'000); }},
    {"B4", [] { B4(true); }},
    {"B4_waited", [] { B4(false); }},
    {"D2", [] { D2(true); }},
    {"D2_waited", [] { D2(false); }},
    {"written_result", [] { written_result(true); }},
    {"written_result_waited", [] { written_result(false); }},
    {"event_before_copy", event_before_copy},
    {"L1", L1},
    {"L2", L2},
    {"L5", L5},
    {"L6", L6},
    {"other_thread_waits", other_thread_waits},
    {"K10", K10},
};

}  // namespace

int main(int argc, char** argv) {
    for (const Half& half : kHalves) {
        if (argc == 2 && std::strcmp(argv[1], half.name) == 0) {
            half.run();
            return 0;
        }
    }
    std::fprintf(stderr, "usage: races_watch NAME, one of:\n");
    for (const Half& half : kHalves) {
        std::fprintf(stderr, "  %s\n", half.name);
    }
    return 2;
}
