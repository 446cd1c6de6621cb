// Orders between host and device, one pattern each, with the wait that makes it right and without: `ordering_matrix
// NAME`, where NAME is a pattern and _racy or _ordered. The patterns are those which CuSan publishes as its test-suite
// (github.com/tudasc/cusan, test/runtime and test/multi_gpu), written anew; the last ones are more of the kind. There a
// kernel writes and the host, a copy or MPI reads. Here copies and fills stand for the kernel, since a kernel's
// accesses are not seen; PATTERN_kernel_racy and _ordered are theirs, with a kernel. MPI's send of device memory is a
// copy in a stream of its own. What the device happens to have done by then plays no part. ordering_matrix.md has the
// verdicts.
#include <atomic>
#include <string>
#include <thread>

#include "ordering_matrix_device.h"
#include "ordering_matrix_host.h"

namespace {

// ---- More in two streams

// Memory that somebody else's stream (MPI's) fills, before it is worked on.
void receive(bool ordered) {
    char* memory = on_device();
    const cudaStream_t library = side_stream();
    const cudaStream_t stream = other_stream();
    upload(memory, pinned(), library);
    if (ordered) {
        wait_for(library);
    }
    clear(memory, stream);
    wait_for(library);
    wait_for(stream);
}

// ---- Always in order

void both_read(bool) {
    Device memory;
    char* mine = pinned();
    const cudaStream_t stream = blocking_stream();
    memory.begin(stream);
    CHECK(cudaDeviceSynchronize());
    download(mine, memory.memory, stream);
    memory.send();
    wait_for(stream);
    g_sink = sum(mine);
}
void copied_then_sent(bool) {
    Device memory;
    char* source = pinned();
    memory.begin(nullptr);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(memory.memory, source, kBytes, cudaMemcpyHostToDevice));
    store(source);
    memory.send();
}
void copied_in_place(bool) {
    char* host = static_cast<char*>(std::calloc(kBytes, 1));
    CHECK(cudaHostRegister(host, kBytes, cudaHostRegisterDefault));
    CHECK(cudaMemcpy(host, host, kBytes, cudaMemcpyDefault));
    g_sink = sum(host);
    CHECK(cudaHostUnregister(host));
    std::free(host);
}
void allocated_and_freed(bool) {
    void* host = nullptr;
    CHECK(cudaHostAlloc(&host, kBytes, cudaHostAllocDefault));
    release(pinned());
    CHECK(cudaFreeHost(host));
}
void synchronous_copies(bool) {
    char* host = pinned();
    char* device = on_device();
    CHECK(cudaMemcpy(device, host, kBytes, cudaMemcpyHostToDevice));
    launch(nullptr);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(host, device, kBytes, cudaMemcpyDeviceToHost));
    g_sink = sum(host);
}
// One buffer by halves: the other half is in use.
void halves_sent(bool) {
    constexpr std::size_t kHalf = kBytes / 2;
    char* source = pinned();
    char* result = pinned();
    char* device = on_device();
    const cudaStream_t stream = blocking_stream();
    const cudaStream_t library = side_stream();
    upload(device, source, stream, kHalf);
    CHECK(cudaStreamSynchronize(stream));
    upload(device + kHalf, source + kHalf, stream, kHalf);
    store(source);
    download(result, device, library, kHalf);
    wait_for(library);
    CHECK(cudaStreamSynchronize(stream));
    download(result + kHalf, device + kHalf, library, kHalf);
    wait_for(library);
    g_sink = sum(result);
}
// Each chunk in its own stream, used after its own stream's wait; racy, after the one before it.
void chunks(bool ordered) {
    constexpr int kChunks = 4;
    constexpr std::size_t kChunk = kBytes / kChunks;
    char* host = pinned();
    char* device = on_device();
    cudaStream_t streams[kChunks];
    for (int i = 0; i < kChunks; ++i) {
        streams[i] = blocking_stream();
        download(host + i * kChunk, device + i * kChunk, streams[i], kChunk);
    }
    for (int i = 0; i < kChunks; ++i) {
        CHECK(cudaStreamSynchronize(streams[ordered ? i : 0]));
        g_sink = sum(host + i * kChunk, kChunk);
        next_download(host + i * kChunk, device + i * kChunk, streams[i], kChunk);
    }
    for (const cudaStream_t stream : streams) {
        wait_for(stream);
    }
    g_sink = sum(host);
}

// ---- More of the kind

void per_thread_wait(bool ordered) {
    Host memory;
    memory.begin(cudaStreamPerThread);
    CHECK(cudaStreamSynchronize(ordered ? cudaStreamPerThread : side_stream()));
    memory.use();
}
void per_thread_of_another_thread(bool ordered) {
    Host memory;
    const cudaEvent_t event = new_event();
    memory.begin(cudaStreamPerThread);
    CHECK(cudaEventRecord(event, cudaStreamPerThread));
    std::thread([&] {
        CHECK(ordered ? cudaEventSynchronize(event) : cudaStreamSynchronize(cudaStreamPerThread));
    }).join();
    memory.use();
}
// The last event of a chain over three streams; racy, one that was recorded before its stream waited.
void event_chain(bool ordered) {
    Host memory;
    const cudaStream_t streams[] = {side_stream(), side_stream(), side_stream()};
    const cudaEvent_t events[] = {new_event(), new_event(), new_event()};
    memory.begin(streams[0]);
    CHECK(cudaEventRecord(events[0], streams[0]));
    for (int i = 1; i < 3; ++i) {
        if (!ordered) {
            CHECK(cudaEventRecord(events[i], streams[i]));
        }
        CHECK(cudaStreamWaitEvent(streams[i], events[i - 1], 0));
        if (ordered) {
            CHECK(cudaEventRecord(events[i], streams[i]));
        }
    }
    CHECK(cudaEventSynchronize(events[2]));
    memory.use();
}
void event_recorded_first(bool ordered) {
    Host memory;
    const cudaStream_t stream = side_stream();
    const cudaEvent_t event = new_event();
    if (ordered) {
        memory.begin(stream);
    }
    CHECK(cudaEventRecord(event, stream));
    if (!ordered) {
        memory.begin(stream);
    }
    CHECK(cudaEventSynchronize(event));
    memory.use();
}
// A function behind the copies tells the host, through memory of the program's own; racy, one before them, which runs
// when they have been queued.
void host_function(bool ordered) {
    static std::atomic<bool> queued{false};
    static std::atomic<bool> told{false};
    const auto tell = [](void*) {
        while (!queued.load()) {
            std::this_thread::yield();
        }
        told.store(true);
    };
    Host memory;
    const cudaStream_t stream = side_stream();
    if (ordered) {
        memory.begin(stream);
    }
    CHECK(cudaLaunchHostFunc(stream, tell, nullptr));
    if (!ordered) {
        memory.begin(stream);
    }
    queued.store(true);
    while (!told.load()) {
        std::this_thread::yield();
    }
    memory.use();
}
void registered_memory(bool ordered) {
    char* host = static_cast<char*>(std::calloc(kBytes, 1));
    CHECK(cudaHostRegister(host, kBytes, cudaHostRegisterDefault));
    const cudaStream_t stream = side_stream();
    upload(on_device(), host, stream);
    if (ordered) {
        CHECK(cudaStreamSynchronize(stream));
    }
    store(host);
    wait_for(stream);
    CHECK(cudaHostUnregister(host));
    std::free(host);
}
// The runtime waits with managed memory, which nothing promises.
void managed_memory(bool ordered) {
    char* host = managed();
    const cudaStream_t stream = side_stream();
    upload(on_device(), host, stream);
    if (ordered) {
        CHECK(cudaStreamSynchronize(stream));
    }
    store(host);
    wait_for(stream);
}
// Staged before the call returns.
void pageable_memory(bool) {
    std::string host(4096, 0);
    const cudaStream_t stream = side_stream();
    upload(on_device(), host.data(), stream, host.size());
    store(host.data());
    wait_for(stream);
}

struct Pattern {
    const char* name;
    void (*run)(bool ordered);
    void (*with_kernel)(bool ordered) = nullptr;
    bool always_ordered = false;
};
#define OF_HOST(name) \
    { #name, name < Host>, name < HostKernel> }
#define OF_DEVICE(name) \
    { #name, name < Device>, name < DeviceKernel> }
#define OF_ROWS(name) \
    { #name, name < Rows>, name < RowsKernel> }
constexpr Pattern kPatterns[] = {
    OF_HOST(event_wait),
    OF_HOST(device_wait),
    OF_HOST(stream_query),
    {"event_query", event_query<Host, cudaEventDefault>, event_query<HostKernel, cudaEventDefault>},
    {"event_query_blocking", event_query<Host, cudaEventBlockingSync>, event_query<HostKernel, cudaEventBlockingSync>},
    OF_HOST(memset_between),
    OF_HOST(memset_between_nonblocking),
    OF_HOST(legacy_wait),
    OF_HOST(behind_legacy),
    OF_HOST(behind_legacy_nonblocking),
    OF_HOST(legacy_wait_nonblocking),
    OF_HOST(legacy_between),
    OF_HOST(other_device_wait),
    OF_HOST(other_device_event),
    OF_DEVICE(send_device_wait),
    OF_DEVICE(send_stream_wait),
    OF_DEVICE(send_event_wait),
    OF_DEVICE(send_event_query),
    OF_DEVICE(send_legacy_wait),
    OF_DEVICE(send_host_copy),
    {"send_rows", send_device_wait<Rows>, send_device_wait<RowsKernel>},
    OF_DEVICE(host_copy_between),
    OF_DEVICE(host_copy_between_nonblocking),
    OF_DEVICE(alloc_between),
    OF_DEVICE(managed_alloc_between),
    OF_ROWS(copy_rows_between),
    OF_ROWS(memset_rows_between),
    OF_DEVICE(stream_wait),
    OF_DEVICE(stream_waits_for_event),
    OF_DEVICE(event_between),
    OF_DEVICE(two_buffers),
    OF_DEVICE(send_second_buffer),
    {"receive", receive},
    {"both_read", both_read, nullptr, true},
    {"copied_then_sent", copied_then_sent, nullptr, true},
    {"copied_in_place", copied_in_place, nullptr, true},
    {"allocated_and_freed", allocated_and_freed, nullptr, true},
    {"synchronous_copies", synchronous_copies, nullptr, true},
    {"halves_sent", halves_sent, nullptr, true},
    {"chunks", chunks},
    {"per_thread_wait", per_thread_wait},
    {"per_thread_of_another_thread", per_thread_of_another_thread},
    {"event_chain", event_chain},
    {"event_recorded_first", event_recorded_first},
    {"host_function", host_function},
    {"registered_memory", registered_memory},
    {"managed_memory", managed_memory},
    {"pageable_memory", pageable_memory, nullptr, true},
};

}  // namespace

int main(int argc, char** argv) {
    std::string names;
    for (const Pattern& pattern : kPatterns) {
        for (const bool with_kernel : {false, true}) {
            const auto run = with_kernel ? pattern.with_kernel : pattern.run;
            for (const bool ordered : {false, true}) {
                if (run == nullptr || (!ordered && pattern.always_ordered)) {
                    continue;
                }
                const std::string name =
                    std::string(pattern.name) + (with_kernel ? "_kernel" : "") + (ordered ? "_ordered" : "_racy");
                if (argc == 2 && name == argv[1]) {
                    run(ordered);
                    return 0;
                }
                names += "  " + name + "\n";
            }
        }
    }
    std::fprintf(stderr, "usage: ordering_matrix NAME, one of:\n%s", names.c_str());
    return 2;
}
