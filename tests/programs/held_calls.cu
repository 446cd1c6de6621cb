// Calls that hold the host, and the same calls where they do not: `held_calls NAME`, one name a cause and half.
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "check_cuda.h"
#include "held_gate.h"

namespace {

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

// Behind the gate and a recorded copy: a download of 4 bytes to the stack, and an upload of 8 MiB.
void earlier_work_download() {
    char* device = on_device(kMiB);
    char* staged = pinned(64);
    const cudaStream_t stream = new_stream();
    gate().close_in(stream);
    upload(device, staged, 64, stream);
    char value[4];
    opened_from_outside([&] { download(value, device, sizeof(value), stream); });
}
void earlier_work_upload() {
    constexpr std::size_t kBytes = 8 * kMiB;
    char* device = on_device(kBytes);
    char* host = pageable(kBytes);
    const cudaStream_t stream = new_stream();
    gate().close_in(stream);
    opened_from_outside([&] { upload(device, host, kBytes, stream); });
    wait_for(stream);
}
// Small pageable uploads are staged and return while there is room.
void small_upload_behind_work() {
    char* device = on_device(kMiB);
    char* host = pageable(kMiB);
    const cudaStream_t stream = new_stream();
    gate().close_in(stream);
    upload(device, host, 4096, stream);
    gate().open();
    wait_for(stream);
}
// More of them than there is room for.
void staging_full() {
    char* device = on_device(kMiB);
    char* host = pageable(kMiB);
    const cudaStream_t stream = new_stream();
    gate().close_in(stream);
    opened_from_outside([&] {
        for (int i = 0; i < 200; ++i) {
            upload(device, host, 64 * 1024, stream);
        }
    });
    wait_for(stream);
}

// A4: threads that each wait for a kernel in a 4-byte download to a stack variable.
SITE void download_to_stack(char* device, cudaStream_t stream) {
    int value = 0;
    CHECK(cudaMemcpyAsync(&value, device, sizeof(value), cudaMemcpyDeviceToHost, stream));
}
void A4() {
    constexpr int kThreads = 8;
    char* device = on_device(kMiB);
    const cudaStream_t held = new_stream();
    gate().close_in(held);
    cudaEvent_t opened = nullptr;
    CHECK(cudaEventCreateWithFlags(&opened, cudaEventDisableTiming));
    CHECK(cudaEventRecord(opened, held));
    std::vector<cudaStream_t> streams;
    for (int i = 0; i < kThreads; ++i) {
        streams.push_back(new_stream());
        CHECK(cudaStreamWaitEvent(streams.back(), opened, 0));
        launch_work(streams.back());
    }
    opened_from_outside([&] {
        std::vector<std::thread> threads;
        for (const cudaStream_t stream : streams) {
            threads.emplace_back([=] { download_to_stack(device, stream); });
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
    });
}

// S2: a host function fills a malloc buffer, then the buffer goes up: the call returns before that function has run.
void S2() {
    static std::atomic<bool> open{false};
    static char* buffer = pageable(4096);
    char* device = on_device(4096);
    const cudaStream_t stream = new_stream();
    CHECK(cudaLaunchHostFunc(
        stream,
        [](void*) {
            while (!open) {
                std::this_thread::yield();
            }
            std::memset(buffer, 1, 4096);
        },
        nullptr));
    upload(device, buffer, 4096, stream);
    open = true;
    wait_for(stream);
    char back[4096];
    download(back, device, sizeof(back), stream);
    wait_for(stream);
    std::puts(back[0] == 0 ? "the old data was uploaded" : "the new data was uploaded");
}

// ---- Releases

// E1: what a thread releases waits for the work of a stream that has nothing to do with it.
SITE void release_pinned(void* memory) {
    CHECK(cudaFreeHost(memory));
}
SITE void release_device(void* memory) {
    CHECK(cudaFree(memory));
}
SITE void unregister(void* memory) {
    CHECK(cudaHostUnregister(memory));
}
void releases(bool behind_gate) {
    char* page_locked = pinned(kMiB);
    char* device = on_device(kMiB);
    char* registered = pageable(kMiB);
    CHECK(cudaHostRegister(registered, kMiB, cudaHostRegisterDefault));
    const cudaStream_t stream = new_stream();
    const auto release = [&](auto&& call) {
        if (behind_gate) {
            gate().close_in(stream);
            opened_from_outside(call);
            wait_for(stream);
        } else {
            call();
        }
    };
    if (!behind_gate) {
        launch_work(stream);
        wait_for(stream);
    }
    release([&] { release_pinned(page_locked); });
    release([&] { release_device(device); });
    release([&] { unregister(registered); });
}

// ---- Queues

// Q1: more launches than a stream's queue holds.
void queue(int launches, bool fills) {
    const cudaStream_t stream = new_stream();
    gate().close_in(stream);
    const auto launch_all = [&] {
        for (int i = 0; i < launches; ++i) {
            launch_work(stream);
        }
    };
    if (fills) {
        opened_from_outside(launch_all);
    } else {
        launch_all();
        gate().open();
    }
    wait_for(stream);
}

// Q2: the first launch of a kernel loads it; later ones do not.
void loading() {
    const cudaStream_t stream = new_stream();
    for (int i = 0; i < 3; ++i) {
        launch_work(stream);
        launch_other_work(stream);
    }
    wait_for(stream);
}

// ---- The legacy default stream

// E3: the user's stream has work, the library copies and waits on stream 0.
SITE void library_download(char* host, const char* device) {
    CHECK(cudaMemcpyAsync(host, device, 64, cudaMemcpyDeviceToHost, nullptr));
}
void legacy(bool blocking) {
    char* device = on_device(kMiB);
    char* host = pageable(64);
    const cudaStream_t stream = blocking ? new_blocking_stream() : new_stream();
    gate().close_in(stream);
    if (blocking) {
        opened_from_outside([&] { library_download(host, device); });
    } else {
        library_download(host, device);
        gate().open();
    }
    wait_for(stream);
}
void legacy_wait() {
    const cudaStream_t stream = new_blocking_stream();
    gate().close_in(stream);
    opened_from_outside([&] { wait_for(nullptr); });
}

// ---- Managed memory, synchronous copies, copies between host buffers

void managed() {
    void* memory = nullptr;
    CHECK(cudaMallocManaged(&memory, kMiB));
    char* device = on_device(kMiB);
    const cudaStream_t stream = new_stream();
    gate().close_in(stream);
    opened_from_outside([&] { upload(device, static_cast<char*>(memory), 256, stream); });
}
SITE void synchronous_download(char* host, const char* device) {
    CHECK(cudaMemcpy(host, device, 64, cudaMemcpyDeviceToHost));
}
void synchronous_copy() {
    char* device = on_device(kMiB);
    char* host = pinned(64);
    gate().close_in(nullptr);
    opened_from_outside([&] { synchronous_download(host, device); });
}
// E4
SITE void copy_on_host(char* to, const char* from) {
    CHECK(cudaMemcpy(to, from, 4096, cudaMemcpyDefault));
}
void E4() {
    char* from = pageable(4096);
    char* to = pageable(4096);
    gate().close_in(nullptr);
    opened_from_outside([&] { copy_on_host(to, from); });
}

// ---- Waits

// E3: a wait after every copy although nothing was issued since the last one.
void idle_waits() {
    const cudaStream_t stream = new_stream();
    launch_work(stream);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 100; ++i) {
        wait_for(stream);
    }
}
void requested_wait() {
    const cudaStream_t stream = new_stream();
    gate().close_in(stream);
    opened_from_outside([&] { wait_for(stream); });
}
// Waits for an event, each of which has something to wait for, or was never recorded; and queries.
void needed_waits() {
    const cudaStream_t stream = new_stream();
    cudaEvent_t event = nullptr;
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CHECK(cudaEventSynchronize(event));
    for (int i = 0; i < 10; ++i) {
        launch_work(stream);
        CHECK(cudaEventRecord(event, stream));
        CHECK(cudaEventSynchronize(event));
    }
    for (int i = 0; i < 10; ++i) {
        cudaStreamQuery(stream);
        cudaEventQuery(event);
    }
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

// ---- What a wait delays

void delays() {
    char* device = on_device(kMiB);
    char* host = pinned(64);
    char value[4];
    const cudaStream_t held = new_stream();
    std::vector<cudaStream_t> others;
    for (int i = 0; i < 3; ++i) {
        others.push_back(new_stream());
    }
    gate().close_in(held);
    opened_from_outside([&] { download(value, device, sizeof(value), held); });
    upload(device, host, 64, held);
    upload(device, host, 64, others[2]);
    upload(device, host, 64, others[0]);
    wait_for(others[2]);
    upload(device, host, 64, others[1]);
    CHECK(cudaDeviceSynchronize());
}

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
    {"earlier_work_download", &earlier_work_download},
    {"earlier_work_upload", &earlier_work_upload},
    {"small_upload_behind_work", &small_upload_behind_work},
    {"staging_full", &staging_full},
    {"A4", &A4},
    {"S2", &S2},
    {"E1", [] { releases(true); }},
    {"releases_idle", [] { releases(false); }},
    {"Q1", [] { queue(1500, true); }},
    {"queue_not_full", [] { queue(900, false); }},
    {"Q2", &loading},
    {"E3_legacy", [] { legacy(true); }},
    {"legacy_non_blocking", [] { legacy(false); }},
    {"legacy_wait", &legacy_wait},
    {"managed", &managed},
    {"synchronous_copy", &synchronous_copy},
    {"E4", &E4},
    {"E3_idle", &idle_waits},
    {"requested_wait", &requested_wait},
    {"needed_waits", &needed_waits},
    {"lock_pages", &lock_pages},
    {"allocate_managed", &allocate_managed},
    {"beside_release", &beside_release},
    {"beside_wait", &beside_wait},
    {"delays", &delays},
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
