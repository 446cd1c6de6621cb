#include "ipc_child.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "driver_library.h"
#include "gate.h"
#include "host_memory.h"
#include "pointer_answers.h"

namespace conformance {
namespace {

constexpr const char* kVariable = "CONFORMANCE_IPC_CHILD";  // role, size, the handle's bytes in hexadecimal

struct Order {
    Role role = Role::exchange;
    std::size_t size = 0;
    cudaIpcMemHandle_t handle{};
};

std::string to_text(const Order& order) {
    std::string text = std::to_string(static_cast<int>(order.role)) + " " + std::to_string(order.size) + " ";
    for (std::size_t i = 0; i < sizeof order.handle; ++i) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(order.handle.reserved[i]));
        text += digits;
    }
    return text;
}

std::optional<Order> from_text(const char* text) {
    Order order;
    int role = 0, begin = 0;
    if (std::sscanf(text, "%d %zu %n", &role, &order.size, &begin) != 2)
        return std::nullopt;
    order.role = static_cast<Role>(role);
    for (char& byte : order.handle.reserved) {
        unsigned value = 0;
        if (std::sscanf(text + begin, "%2x", &value) != 1)
            return std::nullopt;
        byte = static_cast<char>(value);
        begin += 2;
    }
    return order;
}

int failures = 0;

void expect(bool truth, const char* what) {
    if (truth)
        return;
    ++failures;
    std::fprintf(stderr, "in the other process: not so: %s\n", what);
}
#define EXPECT_SO(truth) expect(truth, #truth)
#define EXPECT_OK(call) expect((call) == cudaSuccess, #call)

char* open_memory(const Order& order) {
    void* memory = nullptr;
    EXPECT_OK(cudaIpcOpenMemHandle(&memory, order.handle, cudaIpcMemLazyEnablePeerAccess));
    return static_cast<char*>(memory);
}

template <typename Bytes>
bool holds(const char* memory, std::size_t size, Bytes bytes) {
    for (std::size_t i = 0; i < size; ++i)
        if (memory[i] != bytes(i))
            return false;
    return true;
}

void exchange(const Order& order) {
    char* const memory = open_memory(order);
    if (!memory)
        return;
    cudaPointerAttributes attributes{};
    EXPECT_OK(cudaPointerGetAttributes(&attributes, memory));
    EXPECT_SO(attributes.type == cudaMemoryTypeDevice);
    EXPECT_SO(attributes.device == 0);
    EXPECT_SO(attributes.hostPointer == nullptr);
    std::printf("for information: opened memory: %s\n", said_of(memory).c_str());

    Stream stream;
    for (const Kind kind : {Kind::pinned, Kind::pageable}) {
        HostMemory host(kind, order.size);
        EXPECT_OK(cudaMemcpyAsync(host.data(), memory, order.size, cudaMemcpyDeviceToHost, stream));
        EXPECT_OK(cudaStreamSynchronize(stream));
        EXPECT_SO(holds(host.data(), order.size, before_child));
    }
    // The first half from pinned, the rest from pageable memory.
    HostMemory pinned(Kind::pinned, order.size), pageable(Kind::pageable, order.size);
    for (std::size_t i = 0; i < order.size; ++i)
        pinned[i] = pageable[i] = after_child(i);
    const std::size_t half = order.size / 2;
    EXPECT_OK(cudaMemcpyAsync(memory, pinned.data(), half, cudaMemcpyHostToDevice, stream));
    EXPECT_OK(cudaMemcpyAsync(memory + half, pageable.data() + half, order.size - half, cudaMemcpyDefault, stream));
    EXPECT_OK(cudaStreamSynchronize(stream));
    EXPECT_OK(cudaIpcCloseMemHandle(memory));
    EXPECT_SO(cudaIpcCloseMemHandle(memory) != cudaSuccess);
    cudaGetLastError();
}

// cuda.h, cuIpcOpenMemHandle: a second open counts, and gives the same pointer.
void open_twice(const Order& order) {
    char* const first = open_memory(order);
    char* const second = open_memory(order);
    EXPECT_SO(first == second);
    if (!first)
        return;
    EXPECT_OK(cudaIpcCloseMemHandle(first));
    std::vector<char> host(order.size);
    EXPECT_OK(cudaMemcpy(host.data(), second, order.size, cudaMemcpyDeviceToHost));
    EXPECT_SO(holds(host.data(), order.size, before_child));
    EXPECT_OK(cudaIpcCloseMemHandle(second));
}

// What copies from device memory do to the host, they do from this.
void wait(const Order& order) {
    launch_empty(nullptr);  // loads the module
    EXPECT_OK(cudaDeviceSynchronize());
    char* const memory = open_memory(order);
    if (!memory)
        return;
    {
        Stream stream;
        HostMemory pinned(Kind::pinned, order.size), pageable(Kind::pageable, order.size);
        const auto download_waits = [&](const HostMemory& host, std::chrono::milliseconds deadline) {
            Gate gate;
            gate.close_in(stream);
            return waits(
                gate,
                [&] { EXPECT_OK(cudaMemcpyAsync(host.data(), memory, order.size, cudaMemcpyDeviceToHost, stream)); },
                deadline);
        };
        EXPECT_SO(!download_waits(pinned, kDeadline));
        EXPECT_SO(download_waits(pageable, kSoon));
        EXPECT_OK(cudaStreamSynchronize(stream));
    }
    EXPECT_OK(cudaIpcCloseMemHandle(memory));
}

}  // namespace

int run_child(Role role, const cudaIpcMemHandle_t& handle, std::size_t size) {
    const std::string order = std::string(kVariable) + "=" + to_text({role, size, handle});
    std::vector<char*> environment;
    for (char** entry = environ; *entry; ++entry)
        environment.push_back(*entry);
    environment.push_back(const_cast<char*>(order.c_str()));
    environment.push_back(nullptr);
    char name[] = "pincheck-conformance";
    char* const arguments[] = {name, nullptr};
    std::fflush(stdout);
    pid_t child = -1;
    int status = 0;
    if (posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments, environment.data()) != 0 ||
        waitpid(child, &status, 0) != child)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::optional<int> play_role() {
    const char* const text = std::getenv(kVariable);
    if (!text)
        return std::nullopt;
    const auto order = from_text(text);
    if (!order)
        return 2;
    EXPECT_OK(cudaFree(nullptr));  // a context of this process's own
    switch (order->role) {
        case Role::exchange:
            exchange(*order);
            break;
        case Role::open_twice:
            open_twice(*order);
            break;
        case Role::wait:
            wait(*order);
            break;
    }
    return failures ? 1 : 0;
}

}  // namespace conformance
