// Every listed runtime function that moves or sets memory (see every_copy.h). The runtime's managed memory is left to
// the driver form: which of the driver's functions gets it is the runtime's affair.
#include "every_copy.h"

extern "C" {
int cudaMalloc(void** pointer, std::size_t bytes);
int cudaMallocArray(void** array, const void* format, std::size_t width, std::size_t height, unsigned flags);
int cudaStreamCreateWithFlags(void** stream, unsigned flags);
int cudaGraphCreate(void** graph, unsigned flags);
int cudaGraphDestroy(void* graph);
const char* cudaGetErrorString(int status);
const void* every_copy_symbol();
#define PINCHECK_API(symbol, side, shape, lookup, since, variant) \
    int symbol PINCHECK_PARAMS_##shape __attribute__((weak));
#include "report/cuda_api.def"
#undef PINCHECK_API
}

namespace every_copy {
namespace {

using Name = const char*;
enum Kind { kHostToHost, kHostToDevice, kDeviceToHost, kDeviceToDevice, kDefault };

void wait() {
    cudaDeviceSynchronize();
}

void once(Name api, const char* kind, const char* direction, const char* source, const char* destination,
          std::uint64_t bytes, int status) {
    if (worked(status, api, kind)) {
        expect(api, kind, direction, source, destination, bytes);
    }
    wait();
}

// Uploads from and downloads to each kind of host memory, and a copy on the device. `call(dst, src, kind)`.
template <class Call>
void three_ways(Name api, std::uint64_t bytes, Call&& call) {
    void* device = pointer(g_memory.device);
    for (const Host& host : g_memory.hosts) {
        once(api, "copy", "host-to-device", host.kind, "device", bytes, call(device, host.memory, kHostToDevice));
        once(api, "copy", "device-to-host", "device", host.kind, bytes, call(host.memory, device, kDeviceToHost));
        once(api, "copy", "host-to-device", host.kind, "device", bytes, call(device, host.memory, kDefault));
        once(api, "copy", "device-to-host", "device", host.kind, bytes, call(host.memory, device, kDefault));
    }
    once(api, "copy", "device-to-device", "device", "device", bytes,
         call(pointer(g_memory.device2), device, kDeviceToDevice));
}
// To an array, or from it. `call(memory, kind)`.
template <class Call>
void to_array(Name api, std::uint64_t bytes, Call&& call) {
    for (const Host& host : g_memory.hosts) {
        once(api, "copy", "host-to-device", host.kind, "array", bytes, call(host.memory, kHostToDevice));
    }
    once(api, "copy", "device-to-device", "device", "array", bytes, call(pointer(g_memory.device), kDeviceToDevice));
}
template <class Call>
void from_array(Name api, std::uint64_t bytes, Call&& call) {
    for (const Host& host : g_memory.hosts) {
        once(api, "copy", "device-to-host", "array", host.kind, bytes, call(host.memory, kDeviceToHost));
    }
    once(api, "copy", "device-to-device", "array", "device", bytes, call(pointer(g_memory.device), kDeviceToDevice));
}

#define BODY(shape) void body_##shape(int(*f) PINCHECK_PARAMS_##shape, Name api)
#define NO_COPY(shape) \
    BODY(shape) {      \
        (void)f;       \
        (void)api;     \
    }

constexpr std::uint64_t kBox = kWidth * kRows;

BODY(runtime_copy) {
    three_ways(api, kBytes, [&](void* dst, const void* src, Kind kind) { return f(dst, src, kBytes, kind); });
}
BODY(runtime_copy_async) {
    three_ways(api, kBytes,
               [&](void* dst, const void* src, Kind kind) { return f(dst, src, kBytes, kind, g_memory.stream); });
}
BODY(runtime_2d) {
    three_ways(api, kBox,
               [&](void* dst, const void* src, Kind kind) { return f(dst, kPitch, src, kPitch, kWidth, kRows, kind); });
}
BODY(runtime_2d_async) {
    three_ways(api, kBox, [&](void* dst, const void* src, Kind kind) {
        return f(dst, kPitch, src, kPitch, kWidth, kRows, kind, g_memory.stream);
    });
}
BODY(runtime_2d_to_array) {
    to_array(api, kBox,
             [&](const void* src, Kind kind) { return f(g_memory.array, 0, 0, src, kPitch, kWidth, kRows, kind); });
}
BODY(runtime_2d_to_array_async) {
    to_array(api, kBox, [&](const void* src, Kind kind) {
        return f(g_memory.array, 0, 0, src, kPitch, kWidth, kRows, kind, g_memory.stream);
    });
}
BODY(runtime_2d_from_array) {
    from_array(api, kBox,
               [&](void* dst, Kind kind) { return f(dst, kPitch, g_memory.array, 0, 0, kWidth, kRows, kind); });
}
BODY(runtime_2d_from_array_async) {
    from_array(api, kBox, [&](void* dst, Kind kind) {
        return f(dst, kPitch, g_memory.array, 0, 0, kWidth, kRows, kind, g_memory.stream);
    });
}
BODY(runtime_2d_arrays) {
    once(api, "copy", "device-to-device", "array", "array", kBox,
         f(g_memory.array2, 0, 0, g_memory.array, 0, 0, kWidth, kRows, kDeviceToDevice));
}
// One row of the array: copies of several rows may be several copies of the driver's.
constexpr std::uint64_t kRow = 128;
BODY(runtime_to_array) {
    to_array(api, kRow, [&](const void* src, Kind kind) { return f(g_memory.array, 0, 0, src, kRow, kind); });
}
BODY(runtime_to_array_async) {
    to_array(api, kRow,
             [&](const void* src, Kind kind) { return f(g_memory.array, 0, 0, src, kRow, kind, g_memory.stream); });
}
BODY(runtime_from_array) {
    from_array(api, kRow, [&](void* dst, Kind kind) { return f(dst, g_memory.array, 0, 0, kRow, kind); });
}
BODY(runtime_from_array_async) {
    from_array(api, kRow,
               [&](void* dst, Kind kind) { return f(dst, g_memory.array, 0, 0, kRow, kind, g_memory.stream); });
}
BODY(runtime_arrays) {
    once(api, "copy", "device-to-device", "array", "array", kRow,
         f(g_memory.array2, 0, 0, g_memory.array, 0, 0, kRow, kDeviceToDevice));
}

// cudaMemcpy3DParms and cudaMemcpy3DPeerParms
struct Copy3D {
    void* source_array;
    std::size_t source_position[3];
    abi::PitchedPointer source;
    void* destination_array;
    std::size_t destination_position[3];
    abi::PitchedPointer destination;
    abi::Extent extent;
    int kind;
};
struct PeerCopy3D {
    void* source_array;
    std::size_t source_position[3];
    abi::PitchedPointer source;
    int source_device;
    void* destination_array;
    std::size_t destination_position[3];
    abi::PitchedPointer destination;
    int destination_device;
    abi::Extent extent;
};
Copy3D copy_3d(void* dst, const void* src, Kind kind) {
    Copy3D copy{};
    copy.source = {const_cast<void*>(src), kPitch, kPitch, kRows};
    copy.destination = {dst, kPitch, kPitch, kRows};
    copy.extent = {kWidth, kRows, 1};
    copy.kind = kind;
    return copy;
}
template <class Call>
void copies_3d(Name api, Call&& call) {
    if (std::strstr(api, "Peer") == nullptr) {
        three_ways(api, kBox, [&](void* dst, const void* src, Kind kind) {
            const Copy3D copy = copy_3d(dst, src, kind);
            return call(&copy);
        });
    } else {
        PeerCopy3D copy{};
        copy.source = {pointer(g_memory.device), kPitch, kPitch, kRows};
        copy.destination = {pointer(g_memory.device2), kPitch, kPitch, kRows};
        copy.extent = {kWidth, kRows, 1};
        once(api, "copy", "device-to-device", "device", "device", kBox, call(&copy));
    }
}
BODY(runtime_3d) {
    copies_3d(api, [&](const void* parameters) { return f(parameters); });
}
BODY(runtime_3d_async) {
    copies_3d(api, [&](const void* parameters) { return f(parameters, g_memory.stream); });
}
BODY(runtime_peer) {
    once(api, "copy", "device-to-device", "device", "device", kBytes,
         f(pointer(g_memory.device2), 0, pointer(g_memory.device), 0, kBytes));
}
BODY(runtime_peer_async) {
    once(api, "copy", "device-to-device", "device", "device", kBytes,
         f(pointer(g_memory.device2), 0, pointer(g_memory.device), 0, kBytes, g_memory.stream));
}
BODY(runtime_to_symbol) {
    for (const Host& host : g_memory.hosts) {
        once(api, "copy", "host-to-device", host.kind, "device-symbol", kBytes,
             f(g_memory.symbol, host.memory, kBytes, 64, kHostToDevice));
    }
}
BODY(runtime_to_symbol_async) {
    for (const Host& host : g_memory.hosts) {
        once(api, "copy", "host-to-device", host.kind, "device-symbol", kBytes,
             f(g_memory.symbol, host.memory, kBytes, 64, kHostToDevice, g_memory.stream));
    }
}
BODY(runtime_from_symbol) {
    for (const Host& host : g_memory.hosts) {
        once(api, "copy", "device-to-host", "device-symbol", host.kind, kBytes,
             f(host.memory, g_memory.symbol, kBytes, 64, kDeviceToHost));
    }
}
BODY(runtime_from_symbol_async) {
    for (const Host& host : g_memory.hosts) {
        once(api, "copy", "device-to-host", "device-symbol", host.kind, kBytes,
             f(host.memory, g_memory.symbol, kBytes, 64, kDeviceToHost, g_memory.stream));
    }
}

template <class Call>
void fills(Name api, std::uint64_t bytes, Call&& call) {
    once(api, "fill", "none", "none", "device", bytes, call(pointer(g_memory.device)));
    once(api, "fill", "none", "none", "pinned", bytes, call(g_memory.hosts[1].memory));
}
BODY(runtime_set) {
    fills(api, kBytes, [&](void* memory) { return f(memory, 1, kBytes); });
}
BODY(runtime_set_async) {
    fills(api, kBytes, [&](void* memory) { return f(memory, 1, kBytes, g_memory.stream); });
}
BODY(runtime_set_2d) {
    fills(api, kBox, [&](void* memory) { return f(memory, kPitch, 1, kWidth, kRows); });
}
BODY(runtime_set_2d_async) {
    fills(api, kBox, [&](void* memory) { return f(memory, kPitch, 1, kWidth, kRows, g_memory.stream); });
}
BODY(runtime_set_3d) {
    fills(api, kBox, [&](void* memory) { return f({memory, kPitch, kPitch, kRows}, 1, {kWidth, kRows, 1}); });
}
BODY(runtime_set_3d_async) {
    fills(api, kBox, [&](void* memory) {
        return f({memory, kPitch, kPitch, kRows}, 1, {kWidth, kRows, 1}, g_memory.stream);
    });
}

// Nodes: each is counted as the call that makes it, and copies nothing.
template <class Call>
void nodes(Call&& call) {
    void* graph = nullptr;
    worked(cudaGraphCreate(&graph, 0), "cudaGraphCreate", "");
    void* node = nullptr;
    call(&node, graph);
    cudaGraphDestroy(graph);
}
BODY(runtime_add_copy) {
    for (const Host& host : g_memory.hosts) {
        const Copy3D copy = copy_3d(pointer(g_memory.device), host.memory, kHostToDevice);
        nodes([&](void** node, void* graph) {
            once(api, "copy", "host-to-device", host.kind, "device", kBox, f(node, graph, nullptr, 0, &copy));
        });
    }
}
BODY(runtime_add_copy_1d) {
    for (const Host& host : g_memory.hosts) {
        nodes([&](void** node, void* graph) {
            once(api, "copy", "device-to-host", "device", host.kind, kBytes,
                 f(node, graph, nullptr, 0, host.memory, pointer(g_memory.device), kBytes, kDeviceToHost));
        });
    }
}
BODY(runtime_add_to_symbol) {
    for (const Host& host : g_memory.hosts) {
        nodes([&](void** node, void* graph) {
            once(api, "copy", "host-to-device", host.kind, "device", kBytes,
                 f(node, graph, nullptr, 0, g_memory.symbol, host.memory, kBytes, 0, kHostToDevice));
        });
    }
}
BODY(runtime_add_from_symbol) {
    for (const Host& host : g_memory.hosts) {
        nodes([&](void** node, void* graph) {
            once(api, "copy", "device-to-host", "device", host.kind, kBytes,
                 f(node, graph, nullptr, 0, host.memory, g_memory.symbol, kBytes, 0, kDeviceToHost));
        });
    }
}

NO_COPY(host_alloc)
NO_COPY(malloc_host)
NO_COPY(free_host)
NO_COPY(host_register)
NO_COPY(host_unregister)
NO_COPY(stream_sync)
NO_COPY(device_sync)
NO_COPY(event_sync)
NO_COPY(runtime_managed)
NO_COPY(runtime_free)
NO_COPY(runtime_graph_launch)

void prepare() {
    constexpr std::size_t kRoom = 256 * 1024;
    void* device[2] = {};
    worked(cudaMalloc(&device[0], kRoom), "cudaMalloc", "");
    worked(cudaMalloc(&device[1], kRoom), "cudaMalloc", "");
    g_memory.device = address(device[0]);
    g_memory.device2 = address(device[1]);
    const int format[] = {32, 0, 0, 0, 2};  // cudaChannelFormatDesc of a float
    worked(cudaMallocArray(&g_memory.array, format, 64, 64, 0), "cudaMallocArray", "");
    worked(cudaMallocArray(&g_memory.array2, format, 64, 64, 0), "cudaMallocArray", "");
    worked(cudaStreamCreateWithFlags(&g_memory.stream, 1), "cudaStreamCreateWithFlags", "");
    void* pinned = nullptr;
    worked(cudaMallocHost(&pinned, kRoom), "cudaMallocHost", "");
    void* registered = std::aligned_alloc(4096, kRoom);
    worked(cudaHostRegister(registered, kRoom, 0), "cudaHostRegister", "");
    g_memory.symbol = every_copy_symbol();
    g_memory.hosts = {{"pageable", static_cast<char*>(std::calloc(kRoom, 1))},
                      {"pinned", static_cast<char*>(pinned)},
                      {"registered", static_cast<char*>(registered)}};
}

template <class F>
void call(F* function, void (*body)(F*, Name), Name api) {
    if (function == nullptr) {
        std::fprintf(stderr, "%s is not in this runtime\n", api);
    } else {
        body(function, api);
    }
}

#define CALL_runtime(symbol, shape) call(&::symbol, &body_##shape, #symbol);
#define CALL_driver(symbol, shape)

void call_all() {
#define PINCHECK_API(symbol, side, shape, lookup, since, variant) CALL_##side(symbol, shape)
#include "report/cuda_api.def"
#undef PINCHECK_API
}

}  // namespace
}  // namespace every_copy

int main() {
    using namespace every_copy;
    prepare();
    if (g_failures == 0) {
        call_all();
    }
    print_expected();
    return g_failures == 0 ? 0 : 1;
}
