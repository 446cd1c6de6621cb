#include "hook_host_function.h"

#include <atomic>
#include <mutex>  // lock_guard

#include "log.h"
#include "memory.h"
#include "report/mutex.h"

namespace pincheck {

struct HostCall {
    State* state = nullptr;
    Operation operation;
    std::uint64_t gate = 0;
    HostFunction function = nullptr;
    StreamCallback callback = nullptr;
    void* data = nullptr;
    HostCall* next_free = nullptr;
    // The function's end and the end of the call that put it in, in either order; the second gives the memory back.
    std::atomic<std::uint32_t> ends{0};
};

namespace {

// Functions in streams at one time, in all processes' lives: what a program has queued, some thousands at most.
ChunkArray<HostCall, 256, 65536> g_calls;
HostCall* g_free = nullptr;
Mutex g_mutex;

void release(HostCall& host) noexcept {
    const std::lock_guard lock(g_mutex);
    host.next_free = g_free;
    g_free = &host;
}

// True: the other end came first.
bool is_second_end(HostCall& host) noexcept {
    return host.ends.fetch_add(1) == 1;
}

// In a fork's child there is no driver that would call us; still, the tables are the parent's.
bool is_followed(const HostCall& host) noexcept {
    return host.state == current_state();
}

void started(const HostCall& host) noexcept {
    const KeepErrno keep;
    if (is_followed(host)) {
        host.state->streams.learned(host.operation);
        if (host.state->watched.any()) {
            host.state->watched.learned(0);
        }
    }
}

void ended(HostCall& host) noexcept {
    const KeepErrno keep;
    if (is_followed(host)) {
        host.state->races.host_function_ended(host.operation, 0);
        host.state->streams.gate_opened(host.operation, host.gate);
    }
    if (is_second_end(host)) {
        release(host);
    }
}

}  // namespace

HostCall* new_host_call(const StreamCall& call, HostFunction function, StreamCallback callback, void* data) noexcept {
    if (call.operation().entry == nullptr || (function == nullptr && callback == nullptr)) {
        return nullptr;
    }
    const KeepErrno keep;
    HostCall* host = nullptr;
    {
        const std::lock_guard lock(g_mutex);
        host = g_free;
        if (host != nullptr) {
            g_free = host->next_free;
        } else {
            host = g_calls.fresh();
        }
    }
    if (host != nullptr) {
        host->state = call.state();
        host->operation = call.operation();
        host->gate = call.streams().new_gate();
        host->function = function;
        host->callback = callback;
        host->data = data;
        host->ends.store(0);
    }
    return host;
}

void host_call_issued(StreamCall& call, HostCall* host, int status) noexcept {
    if (host == nullptr) {
        call.issued_gate(status);
        return;
    }
    call.issued_gate(status, host->gate);
    if (status != 0) {
        release(*host);  // it will never run
        return;
    }
    if (is_second_end(*host)) {
        const KeepErrno keep;
        call.streams().gate_opened(host->operation, host->gate);
        release(*host);
    }
}

// The program's function may end its thread or jump out; then the call's memory is not given back.
void run_host_function(void* host_call) {
    auto& host = *static_cast<HostCall*>(host_call);
    started(host);
    host.function(host.data);
    ended(host);
}

// A callback is called after a failure too (CUDA Driver API, cuStreamAddCallback): then nothing is complete.
void run_stream_callback(void* stream, int status, void* host_call) {
    auto& host = *static_cast<HostCall*>(host_call);
    if (status == 0) {
        started(host);
    }
    host.callback(stream, status, host.data);
    ended(host);
}

}  // namespace pincheck
