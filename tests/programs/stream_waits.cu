// Waits that are for nothing, by what the program could know, and waits that are needed: each in a function of its own,
// whose name begins with idle_ or needed_ and is printed when it is called. Whether the device happens to be done by
// then plays no part.
#include <atomic>
#include <cstring>
#include <vector>

#include "check_cuda.h"
#include "new_stream.h"

__global__ void work() {}

namespace {

#define STREAM_WAIT(name)                     \
    SITE void name(cudaStream_t stream) {     \
        std::puts(#name);                     \
        CHECK(cudaStreamSynchronize(stream)); \
    }
#define EVENT_WAIT(name)                    \
    SITE void name(cudaEvent_t event) {     \
        std::puts(#name);                   \
        CHECK(cudaEventSynchronize(event)); \
    }
STREAM_WAIT(idle_after_a_wait)
STREAM_WAIT(idle_after_a_query)
STREAM_WAIT(idle_after_a_query_of_an_event)
STREAM_WAIT(idle_after_a_time_between_events)
STREAM_WAIT(idle_after_a_stream_that_waited_for_it)
STREAM_WAIT(idle_after_a_wait_for_the_device)
STREAM_WAIT(idle_after_a_synchronous_download)
STREAM_WAIT(idle_after_a_wait_for_the_legacy_stream)
STREAM_WAIT(idle_per_thread)
STREAM_WAIT(idle_after_an_event_that_was_followed)
EVENT_WAIT(idle_before_a_host_function)
EVENT_WAIT(idle_before_a_callback)
STREAM_WAIT(needed_after_work)
STREAM_WAIT(needed_after_a_graph)
STREAM_WAIT(needed_after_a_wait_for_another_stream)
STREAM_WAIT(needed_after_an_older_event)
STREAM_WAIT(needed_in_a_stream_made_anew)
STREAM_WAIT(needed_after_a_wait_for_the_legacy_stream)
STREAM_WAIT(needed_per_thread)
STREAM_WAIT(needed_after_a_release)
EVENT_WAIT(needed_behind_a_host_function)

cudaEvent_t new_event(unsigned flags = cudaEventDisableTiming) {
    cudaEvent_t event = nullptr;
    CHECK(cudaEventCreateWithFlags(&event, flags));
    return event;
}
void launch_in(cudaStream_t stream) {
    work<<<1, 1, 0, stream>>>();
    CHECK(cudaGetLastError());
}
template <class Query>
void until_done(Query&& query) {
    cudaError_t status = cudaErrorNotReady;
    while ((status = query()) == cudaErrorNotReady) {
    }
    CHECK(status);
}

void one_stream() {
    const cudaStream_t stream = new_stream();
    launch_in(stream);
    needed_after_work(stream);
    idle_after_a_wait(stream);
    launch_in(stream);
    until_done([&] { return cudaStreamQuery(stream); });
    idle_after_a_query(stream);
    launch_in(stream);
    CHECK(cudaDeviceSynchronize());
    idle_after_a_wait_for_the_device(stream);
}

void events() {
    const cudaStream_t stream = new_stream();
    const cudaEvent_t event = new_event();
    launch_in(stream);
    CHECK(cudaEventRecord(event, stream));
    until_done([&] { return cudaEventQuery(event); });
    idle_after_a_query_of_an_event(stream);
    launch_in(stream);
    CHECK(cudaEventRecord(event, stream));
    launch_in(stream);
    CHECK(cudaEventSynchronize(event));
    needed_after_an_older_event(stream);
    const cudaEvent_t start = new_event(cudaEventDefault);
    const cudaEvent_t end = new_event(cudaEventDefault);
    CHECK(cudaEventRecord(start, stream));
    launch_in(stream);
    CHECK(cudaEventRecord(end, stream));
    float milliseconds = 0;
    until_done([&] { return cudaEventElapsedTime(&milliseconds, start, end); });
    idle_after_a_time_between_events(stream);
}

void several_streams() {
    const cudaStream_t one = new_stream();
    const cudaStream_t two = new_stream();
    const cudaEvent_t event = new_event();
    launch_in(one);
    CHECK(cudaEventRecord(event, one));
    CHECK(cudaStreamWaitEvent(two, event, 0));
    launch_in(two);
    CHECK(cudaStreamSynchronize(two));
    idle_after_a_stream_that_waited_for_it(one);
    launch_in(one);
    launch_in(two);
    CHECK(cudaStreamSynchronize(two));
    needed_after_a_wait_for_another_stream(one);
}

// E2: what releases memory waits for the device, which nobody promises: it tells nothing.
void released_memory() {
    const cudaStream_t stream = new_stream();
    void* unrelated = nullptr;
    CHECK(cudaMalloc(&unrelated, 64));
    launch_in(stream);
    CHECK(cudaFree(unrelated));
    needed_after_a_release(stream);
}

void destroyed_stream() {
    const cudaStream_t stream = new_stream();
    launch_in(stream);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
    const cudaStream_t again = new_stream();
    launch_in(again);
    needed_in_a_stream_made_anew(again);
}

void default_streams() {
    void* device = nullptr;
    char host[64];
    CHECK(cudaMalloc(&device, sizeof(host)));
    launch_in(cudaStreamLegacy);
    CHECK(cudaMemcpy(host, device, sizeof(host), cudaMemcpyDeviceToHost));
    idle_after_a_synchronous_download(cudaStreamLegacy);
    const cudaStream_t blocking = new_blocking_stream();
    const cudaStream_t apart = new_stream();
    launch_in(blocking);
    launch_in(apart);
    CHECK(cudaStreamSynchronize(cudaStreamLegacy));
    idle_after_a_wait_for_the_legacy_stream(blocking);
    needed_after_a_wait_for_the_legacy_stream(apart);
    launch_in(cudaStreamPerThread);
    needed_per_thread(cudaStreamPerThread);
    idle_per_thread(cudaStreamPerThread);
}

std::atomic<int> functions_run{0};

// A host function's start says that what came before it is complete.
void host_functions() {
    const cudaStream_t stream = new_stream();
    const cudaEvent_t before = new_event();
    const cudaEvent_t behind = new_event();
    launch_in(stream);
    CHECK(cudaEventRecord(before, stream));
    int argument = 3;
    CHECK(cudaLaunchHostFunc(
        stream, [](void* data) { functions_run += *static_cast<int*>(data); }, &argument));
    launch_in(stream);
    CHECK(cudaEventRecord(behind, stream));
    while (functions_run != 3) {
    }
    idle_before_a_host_function(before);
    needed_behind_a_host_function(behind);
    launch_in(stream);
    CHECK(cudaEventRecord(before, stream));
    CHECK(cudaStreamAddCallback(
        stream,
        [](cudaStream_t, cudaError_t status, void* data) {
            functions_run += status == cudaSuccess ? *static_cast<int*>(data) : 0;
        },
        &argument, 0));
    while (functions_run != 6) {
    }
    idle_before_a_callback(before);
}

void graphs() {
    const cudaStream_t stream = new_stream();
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    launch_in(stream);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiateWithFlags(&executable, graph, 0));
    CHECK(cudaGraphLaunch(executable, stream));
    needed_after_a_graph(stream);
}

// More events than are followed: all recorded behind work, and all waited for.
void many_events() {
    const cudaStream_t stream = new_stream();
    std::vector<cudaEvent_t> events(70000);
    launch_in(stream);
    for (cudaEvent_t& event : events) {
        event = new_event();
        CHECK(cudaEventRecord(event, stream));
    }
    for (const cudaEvent_t event : events) {
        CHECK(cudaEventSynchronize(event));
        CHECK(cudaEventDestroy(event));
    }
    idle_after_an_event_that_was_followed(stream);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 2 && std::strcmp(argv[1], "many_events") == 0) {
        many_events();
        return 0;
    }
    one_stream();
    events();
    several_streams();
    released_memory();
    destroyed_stream();
    default_streams();
    host_functions();
    graphs();
    return 0;
}
