// Every listed driver function that moves or sets memory (see every_copy.h). Needs a device below 4 GiB for the 32-bit
// functions of CUDA 2 and 3.0; without one (a real GPU) those are left out and named on stderr. With the argument `one`
// batches have one copy: a driver may carry out several as one, and a profiler then counts one (measured: H200, driver
// 580.159.04).
#include "every_copy.h"

extern "C" {
int cuInit(unsigned flags);
int cuDeviceGet(int* device, int ordinal);
int cuDevicePrimaryCtxRetain(void** context, int device);
int cuCtxSetCurrent(void* context);
int cuMemAlloc_v2(std::uint64_t* pointer, std::size_t bytes);
int cuArrayCreate_v2(void** array, const void* descriptor);
int cuStreamCreate(void** stream, unsigned flags);
#define PINCHECK_API(symbol, side, shape, lookup, since, variant) \
    int symbol PINCHECK_PARAMS_##shape __attribute__((weak));
#include "report/cuda_api.def"
#undef PINCHECK_API
}

namespace every_copy {
namespace {

using Name = const char*;

void wait() {
    cuCtxSynchronize();
}

// ---- Copies of one range

template <class F>
void up(F* copy, Name api, const char* array = nullptr) {
    for (const Host& host : g_memory.hosts) {
        int status = 0;
        if constexpr (requires { copy(std::uint64_t{}, host.memory, kBytes, g_memory.stream); }) {
            status = copy(g_memory.device, host.memory, kBytes, g_memory.stream);
        } else if constexpr (requires { copy(std::uint64_t{}, host.memory, kBytes); }) {
            status = copy(g_memory.device, host.memory, kBytes);
        }
        if (worked(status, api, host.kind)) {
            expect(api, "copy", "host-to-device", host.kind, array != nullptr ? array : "device", kBytes);
        }
        wait();
    }
}
template <class F>
void down(F* copy, Name api) {
    for (const Host& host : g_memory.hosts) {
        int status = 0;
        if constexpr (requires { copy(host.memory, std::uint64_t{}, kBytes, g_memory.stream); }) {
            status = copy(host.memory, g_memory.device, kBytes, g_memory.stream);
        } else if constexpr (requires { copy(host.memory, std::uint64_t{}, kBytes); }) {
            status = copy(host.memory, g_memory.device, kBytes);
        }
        if (worked(status, api, host.kind)) {
            expect(api, "copy", "device-to-host", "device", host.kind, kBytes);
        }
        wait();
    }
}

template <class Call>
void each_host(Name api, const char* direction, const char* source, const char* destination, std::uint64_t bytes,
               Call&& call) {
    for (const Host& host : g_memory.hosts) {
        if (worked(call(host), api, host.kind)) {
            expect(api, "copy", direction, source != nullptr ? source : host.kind,
                   destination != nullptr ? destination : host.kind, bytes);
        }
        wait();
    }
}
void once(Name api, const char* kind, const char* direction, const char* source, const char* destination,
          std::uint64_t bytes, int status, std::uint64_t calls = 1) {
    if (worked(status, api, kind)) {
        expect(api, kind, direction, source, destination, bytes, calls);
    }
    wait();
}

std::uint32_t low(std::uint64_t address) {
    return static_cast<std::uint32_t>(address);
}
constexpr std::uint32_t kLowBytes = kBytes;

#define BODY(shape) void body_##shape(int(*f) PINCHECK_PARAMS_##shape, Name api)
#define NO_COPY(shape) \
    BODY(shape) {      \
        (void)f;       \
        (void)api;     \
    }

BODY(driver_h2d) {
    up(f, api);
}
BODY(driver_h2d_async) {
    up(f, api);
}
BODY(driver_d2h) {
    down(f, api);
}
BODY(driver_d2h_async) {
    down(f, api);
}
BODY(driver_h2d_v1) {
    each_host(api, "host-to-device", nullptr, "device", kBytes,
              [&](const Host& host) { return f(low(g_memory.device), host.memory, kLowBytes); });
}
BODY(driver_h2d_async_v1) {
    each_host(api, "host-to-device", nullptr, "device", kBytes,
              [&](const Host& host) { return f(low(g_memory.device), host.memory, kLowBytes, g_memory.stream); });
}
BODY(driver_d2h_v1) {
    each_host(api, "device-to-host", "device", nullptr, kBytes,
              [&](const Host& host) { return f(host.memory, low(g_memory.device), kLowBytes); });
}
BODY(driver_d2h_async_v1) {
    each_host(api, "device-to-host", "device", nullptr, kBytes,
              [&](const Host& host) { return f(host.memory, low(g_memory.device), kLowBytes, g_memory.stream); });
}

// Unified addressing: any two ends.
template <class Call>
void any_ends(Name api, Call&& call, std::uint64_t bytes = kBytes) {
    std::vector<Host> ends = g_memory.hosts;
    ends.push_back({"device", static_cast<char*>(pointer(g_memory.device2))});
    for (const Host& source : ends) {
        for (const Host& destination : ends) {
            if (source.memory == destination.memory) {
                continue;
            }
            if (worked(call(address(destination.memory), address(source.memory)), api, source.kind)) {
                expect(api, "copy", direction_between(source.kind, destination.kind), source.kind, destination.kind,
                       bytes);
            }
            wait();
        }
    }
}
BODY(driver_copy) {
    any_ends(api, [&](std::uint64_t dst, std::uint64_t src) { return f(dst, src, kBytes); });
}
BODY(driver_copy_async) {
    any_ends(api, [&](std::uint64_t dst, std::uint64_t src) { return f(dst, src, kBytes, g_memory.stream); });
}
// "Device to device" of page-locked memory, which has device addresses too: how frameworks upload and download.
template <class Call>
void by_device_address(Name api, Call&& call) {
    for (const Host& host : g_memory.hosts) {
        if (std::strcmp(host.kind, "pinned") == 0 || std::strcmp(host.kind, "registered") == 0) {
            once(api, "copy", "host-to-device", host.kind, "device", kBytes,
                 call(g_memory.device, address(host.memory)));
            once(api, "copy", "device-to-host", "device", host.kind, kBytes,
                 call(address(host.memory), g_memory.device));
        }
    }
}
BODY(driver_d2d) {
    by_device_address(api, [&](std::uint64_t dst, std::uint64_t src) { return f(dst, src, kBytes); });
    once(api, "copy", "device-to-device", "device", "device", kBytes, f(g_memory.device2, g_memory.device, kBytes));
}
BODY(driver_d2d_v1) {
    once(api, "copy", "device-to-device", "device", "device", kBytes,
         f(low(g_memory.device2), low(g_memory.device), kLowBytes));
}
BODY(driver_d2d_async) {
    by_device_address(api, [&](std::uint64_t dst, std::uint64_t src) { return f(dst, src, kBytes, g_memory.stream); });
    once(api, "copy", "device-to-device", "device", "device", kBytes,
         f(g_memory.device2, g_memory.device, kBytes, g_memory.stream));
}
BODY(driver_d2d_async_v1) {
    once(api, "copy", "device-to-device", "device", "device", kBytes,
         f(low(g_memory.device2), low(g_memory.device), kLowBytes, g_memory.stream));
}
BODY(driver_peer) {
    once(api, "copy", "device-to-device", "device", "device", kBytes,
         f(g_memory.device2, g_memory.context, g_memory.device, g_memory.context, kBytes));
}
BODY(driver_peer_async) {
    once(api, "copy", "device-to-device", "device", "device", kBytes,
         f(g_memory.device2, g_memory.context, g_memory.device, g_memory.context, kBytes, g_memory.stream));
}

// ---- Arrays of one dimension

BODY(driver_d2a) {
    once(api, "copy", "device-to-device", "device", "array", kBytes, f(g_memory.line, 0, g_memory.device, kBytes));
}
BODY(driver_d2a_v1) {
    once(api, "copy", "device-to-device", "device", "array", kBytes,
         f(g_memory.line, 0, low(g_memory.device), kLowBytes));
}
BODY(driver_a2d) {
    once(api, "copy", "device-to-device", "array", "device", kBytes, f(g_memory.device, g_memory.line, 0, kBytes));
}
BODY(driver_a2d_v1) {
    once(api, "copy", "device-to-device", "array", "device", kBytes,
         f(low(g_memory.device), g_memory.line, 0, kLowBytes));
}
BODY(driver_a2a) {
    once(api, "copy", "device-to-device", "array", "array", kBytes, f(g_memory.line2, 0, g_memory.line, 0, kBytes));
}
BODY(driver_a2a_v1) {
    once(api, "copy", "device-to-device", "array", "array", kBytes, f(g_memory.line2, 0, g_memory.line, 0, kLowBytes));
}
BODY(driver_h2a) {
    each_host(api, "host-to-device", nullptr, "array", kBytes,
              [&](const Host& host) { return f(g_memory.line, 0, host.memory, kBytes); });
}
BODY(driver_h2a_v1) {
    each_host(api, "host-to-device", nullptr, "array", kBytes,
              [&](const Host& host) { return f(g_memory.line, 0, host.memory, kLowBytes); });
}
BODY(driver_h2a_async) {
    each_host(api, "host-to-device", nullptr, "array", kBytes,
              [&](const Host& host) { return f(g_memory.line, 0, host.memory, kBytes, g_memory.stream); });
}
BODY(driver_h2a_async_v1) {
    each_host(api, "host-to-device", nullptr, "array", kBytes,
              [&](const Host& host) { return f(g_memory.line, 0, host.memory, kLowBytes, g_memory.stream); });
}
BODY(driver_a2h) {
    each_host(api, "device-to-host", "array", nullptr, kBytes,
              [&](const Host& host) { return f(host.memory, g_memory.line, 0, kBytes); });
}
BODY(driver_a2h_v1) {
    each_host(api, "device-to-host", "array", nullptr, kBytes,
              [&](const Host& host) { return f(host.memory, g_memory.line, 0, kLowBytes); });
}
BODY(driver_a2h_async) {
    each_host(api, "device-to-host", "array", nullptr, kBytes,
              [&](const Host& host) { return f(host.memory, g_memory.line, 0, kBytes, g_memory.stream); });
}
BODY(driver_a2h_async_v1) {
    each_host(api, "device-to-host", "array", nullptr, kBytes,
              [&](const Host& host) { return f(host.memory, g_memory.line, 0, kLowBytes, g_memory.stream); });
}

// ---- Strided

template <class Copy>
Copy box() {
    Copy copy{};
    copy.source_pitch = kPitch;
    copy.destination_pitch = kPitch;
    copy.source_y = 1;
    copy.width = kWidth;
    copy.height = kRows;
    if constexpr (requires { copy.depth; }) {
        copy.depth = 1;
        copy.source_height = kRows + 1;
        copy.destination_height = kRows;
    }
    return copy;
}
template <class Copy, class Call>
void strided(Name api, Call&& call) {
    Copy peers = box<Copy>();
    if constexpr (requires { peers.source_context; }) {
        peers.source_context = std::strstr(api, "Peer") != nullptr ? g_memory.context : nullptr;
        peers.destination_context = peers.source_context;
    }
    using Address = decltype(Copy::source_device);
    for (const Host& host : g_memory.hosts) {
        Copy up = peers;
        up.source_type = abi::kHost;
        up.source_host = host.memory;
        up.destination_type = abi::kDevice;
        up.destination_device = static_cast<Address>(g_memory.device);
        once(api, "copy", "host-to-device", host.kind, "device", kWidth * kRows, call(up));
        Copy down = peers;
        down.source_type = abi::kDevice;
        down.source_device = static_cast<Address>(g_memory.device);
        down.destination_type = abi::kHost;
        down.destination_host = host.memory;
        once(api, "copy", "device-to-host", "device", host.kind, kWidth * kRows, call(down));
        Copy unified = up;
        unified.source_type = abi::kUnified;
        unified.source_device = static_cast<Address>(address(host.memory));
        if (unified.source_device == address(host.memory)) {
            once(api, "copy", direction_between(host.kind, "device"), host.kind, "device", kWidth * kRows,
                 call(unified));
        }
        if (std::strstr(api, "Peer") == nullptr) {
            Copy to_array = up;
            to_array.destination_type = abi::kArray;
            to_array.destination_array = g_memory.array;
            once(api, "copy", "host-to-device", host.kind, "array", kWidth * kRows, call(to_array));
        }
    }
    Copy device = peers;
    device.source_type = abi::kDevice;
    device.source_device = static_cast<Address>(g_memory.device);
    device.destination_type = abi::kDevice;
    device.destination_device = static_cast<Address>(g_memory.device2);
    once(api, "copy", "device-to-device", "device", "device", kWidth * kRows, call(device));
}
BODY(driver_2d) {
    strided<abi::Copy2DV2>(api, [&](const abi::Copy2DV2& copy) { return f(&copy); });
}
BODY(driver_2d_v1) {
    strided<abi::Copy2DV1>(api, [&](const abi::Copy2DV1& copy) { return f(&copy); });
}
BODY(driver_2d_async) {
    strided<abi::Copy2DV2>(api, [&](const abi::Copy2DV2& copy) { return f(&copy, g_memory.stream); });
}
BODY(driver_2d_async_v1) {
    strided<abi::Copy2DV1>(api, [&](const abi::Copy2DV1& copy) { return f(&copy, g_memory.stream); });
}
BODY(driver_3d) {
    strided<abi::Copy3DV2>(api, [&](const abi::Copy3DV2& copy) { return f(&copy); });
}
BODY(driver_3d_v1) {
    strided<abi::Copy3DV1>(api, [&](const abi::Copy3DV1& copy) { return f(&copy); });
}
BODY(driver_3d_async) {
    strided<abi::Copy3DV2>(api, [&](const abi::Copy3DV2& copy) { return f(&copy, g_memory.stream); });
}
BODY(driver_3d_async_v1) {
    strided<abi::Copy3DV1>(api, [&](const abi::Copy3DV1& copy) { return f(&copy, g_memory.stream); });
}

// ---- Batches: three copies a call, each counted

std::size_t g_batch = 3;

template <class Call>
void batches(Name api, Call&& call) {
    any_ends(api, [&](std::uint64_t dst, std::uint64_t src) {
        const std::uint64_t dsts[] = {dst, dst + kBytes, dst + 2 * kBytes};
        const std::uint64_t srcs[] = {src, src + kBytes, src + 2 * kBytes};
        const std::size_t sizes[] = {g_batch == 1 ? kBytes : kBytes / 2, kBytes / 4, kBytes / 4};
        const abi::CopyAttributes attributes[] = {{1, {}, {}, 0}};
        const std::size_t first[] = {0};
        return call(dsts, srcs, sizes, g_batch, attributes, first, 1);
    });
    // More than any_ends() counted.
    for (auto& [key, counts] : g_expected) {
        if (std::get<0>(key) == api) {
            counts.calls *= g_batch;
        }
    }
}
BODY(driver_batch) {
    batches(api, [&](auto... a) { return f(a..., g_memory.stream); });
}
BODY(driver_batch_v1) {
    std::size_t failed = 0;
    batches(api, [&](auto... a) { return f(a..., &failed, g_memory.stream); });
}
template <class Call>
void boxes(Name api, Call&& call) {
    any_ends(
        api,
        [&](std::uint64_t dst, std::uint64_t src) {
            abi::BatchCopy3D copy{};
            copy.source.type = abi::kOperandPointer;
            copy.source.pointer.address = src;
            copy.source.pointer.row_length = kPitch;
            copy.destination = copy.source;
            copy.destination.pointer.address = dst;
            copy.extent = {kWidth, kRows, 1};
            copy.source_access_order = 1;
            return call(1, &copy);
        },
        kWidth * kRows);
    for (const Host& host : g_memory.hosts) {
        abi::BatchCopy3D copy{};
        copy.source.type = abi::kOperandPointer;
        copy.source.pointer.address = address(host.memory);
        copy.destination.type = abi::kOperandArray;
        copy.destination.array.array = g_memory.array;
        copy.extent = {16, 4, 1};  // elements of 4 bytes
        copy.source_access_order = 1;
        once(api, "copy", direction_between(host.kind, "array"), host.kind, "array", 16 * 4 * 4, call(1, &copy));
    }
}
BODY(driver_3d_batch) {
    boxes(api, [&](std::size_t count, const abi::BatchCopy3D* copies) { return f(count, copies, 0, g_memory.stream); });
}
BODY(driver_3d_batch_v1) {
    std::size_t failed = 0;
    boxes(api, [&](std::size_t count, const abi::BatchCopy3D* copies) {
        return f(count, copies, &failed, 0, g_memory.stream);
    });
}

// ---- Memset: of the device's memory and of page-locked memory

template <class Value, class Call>
void fills(Name api, std::uint64_t bytes, Call&& call) {
    once(api, "fill", "none", "none", "device", bytes, call(g_memory.device));
    for (const Host& host : g_memory.hosts) {
        if (std::strcmp(host.kind, "pinned") == 0 || std::strcmp(host.kind, "managed") == 0) {
            once(api, "fill", "none", "none", host.kind, bytes, call(address(host.memory)));
        }
    }
}
#define SETS(bits, Value)                                                                                       \
    BODY(driver_set##bits) {                                                                                    \
        fills<Value>(api, kBytes, [&](std::uint64_t p) { return f(p, Value{1}, kBytes / sizeof(Value)); });     \
    }                                                                                                           \
    BODY(driver_set##bits##_async) {                                                                            \
        fills<Value>(api, kBytes,                                                                               \
                     [&](std::uint64_t p) { return f(p, Value{1}, kBytes / sizeof(Value), g_memory.stream); }); \
    }                                                                                                           \
    BODY(driver_set##bits##_v1) {                                                                               \
        once(api, "fill", "none", "none", "device", kBytes,                                                     \
             f(low(g_memory.device), Value{1}, kLowBytes / sizeof(Value)));                                     \
    }                                                                                                           \
    BODY(driver_set##bits##_2d) {                                                                               \
        fills<Value>(api, kWidth * kRows,                                                                       \
                     [&](std::uint64_t p) { return f(p, kPitch, Value{1}, kWidth / sizeof(Value), kRows); });   \
    }                                                                                                           \
    BODY(driver_set##bits##_2d_async) {                                                                         \
        fills<Value>(api, kWidth * kRows, [&](std::uint64_t p) {                                                \
            return f(p, kPitch, Value{1}, kWidth / sizeof(Value), kRows, g_memory.stream);                      \
        });                                                                                                     \
    }                                                                                                           \
    BODY(driver_set##bits##_2d_v1) {                                                                            \
        once(api, "fill", "none", "none", "device", kWidth* kRows,                                              \
             f(low(g_memory.device), kPitch, Value{1}, kWidth / sizeof(Value), kRows));                         \
    }
SETS(8, std::uint8_t)
SETS(16, std::uint16_t)
SETS(32, std::uint32_t)

// ---- Prefetch: there and back

BODY(prefetch_v1) {
    once(api, "prefetch", "host-to-device", "none", "managed", kBytes, f(g_memory.managed, kBytes, 0, g_memory.stream));
    once(api, "prefetch", "device-to-host", "none", "managed", kBytes,
         f(g_memory.managed, kBytes, -1, g_memory.stream));
}
BODY(prefetch) {
    once(api, "prefetch", "host-to-device", "none", "managed", kBytes,
         f(g_memory.managed, kBytes, {1, 0}, 0, g_memory.stream));
    once(api, "prefetch", "device-to-host", "none", "managed", kBytes,
         f(g_memory.managed, kBytes, {2, 0}, 0, g_memory.stream));
}
BODY(prefetch_batch) {
    const std::uint64_t pointers[] = {g_memory.managed, g_memory.managed + 65536};
    const std::size_t sizes[] = {kBytes, kBytes};
    const abi::Location locations[] = {{1, 0}, {2, 0}};
    const std::size_t first[] = {0, 1};
    if (worked(f(pointers, sizes, 2, locations, first, 2, 0, g_memory.stream), api, "two locations")) {
        expect(api, "prefetch", "host-to-device", "none", "managed", kBytes);
        expect(api, "prefetch", "device-to-host", "none", "managed", kBytes);
    }
    wait();
}

// ---- Rows that move nothing, or whose copies other programs make (graphs)

NO_COPY(host_alloc)
NO_COPY(malloc_host)
NO_COPY(malloc_host_v1)
NO_COPY(free_host)
NO_COPY(host_register)
NO_COPY(host_unregister)
NO_COPY(managed_alloc)
NO_COPY(device_free)
NO_COPY(device_free_v1)
NO_COPY(stream_sync)
NO_COPY(event_sync)
NO_COPY(device_sync)
NO_COPY(context_sync)
NO_COPY(capture_begin_v1)
NO_COPY(capture_begin)
NO_COPY(capture_to_graph)
NO_COPY(capture_end)
NO_COPY(launch)
NO_COPY(launch_ex)
NO_COPY(graph_launch)
NO_COPY(event_record)
NO_COPY(event_record_flags)
NO_COPY(wait_event)
NO_COPY(lookup_v1)
NO_COPY(lookup_v2)
NO_COPY(graph_add_copy)
NO_COPY(graph_set_copy)
NO_COPY(graph_exec_set_copy)
NO_COPY(graph_add_fill)
NO_COPY(graph_set_fill)
NO_COPY(graph_exec_set_fill)
NO_COPY(graph_add_node)
NO_COPY(graph_add_node_v2)
NO_COPY(graph_set_node)
NO_COPY(graph_exec_set_node)
NO_COPY(graph_exec_set_child)
NO_COPY(graph_enable_node)
NO_COPY(graph_instantiate_v1)
NO_COPY(graph_instantiate_flags)
NO_COPY(graph_instantiate_params)
NO_COPY(graph_update_v1)
NO_COPY(graph_update)
NO_COPY(graph_destroy)

void prepare() {
    int device = 0;
    worked(cuInit(0), "cuInit", "");
    worked(cuDeviceGet(&device, 0), "cuDeviceGet", "");
    worked(cuDevicePrimaryCtxRetain(&g_memory.context, device), "cuDevicePrimaryCtxRetain", "");
    worked(cuCtxSetCurrent(g_memory.context), "cuCtxSetCurrent", "");
    worked(cuStreamCreate(&g_memory.stream, 1), "cuStreamCreate", "");
    constexpr std::size_t kRoom = 256 * 1024;
    worked(cuMemAlloc_v2(&g_memory.device, kRoom), "cuMemAlloc", "");
    worked(cuMemAlloc_v2(&g_memory.device2, kRoom), "cuMemAlloc", "");
    struct {
        std::size_t width = 64, height = 64;
        int format = 0x20;  // float
        unsigned channels = 1;
    } descriptor;
    worked(cuArrayCreate_v2(&g_memory.array, &descriptor), "cuArrayCreate", "");
    descriptor.width = kBytes / 4;
    descriptor.height = 0;
    worked(cuArrayCreate_v2(&g_memory.line, &descriptor), "cuArrayCreate", "");
    worked(cuArrayCreate_v2(&g_memory.line2, &descriptor), "cuArrayCreate", "");
    void* pinned = nullptr;
    worked(cuMemHostAlloc(&pinned, kRoom, 0), "cuMemHostAlloc", "");
    worked(cuMemAllocManaged(&g_memory.managed, kRoom, 1), "cuMemAllocManaged", "");
    void* registered = std::aligned_alloc(4096, kRoom);
    worked(cuMemHostRegister_v2(registered, kRoom, 0), "cuMemHostRegister", "");
    g_memory.hosts = {{"pageable", static_cast<char*>(std::calloc(kRoom, 1))},
                      {"pinned", static_cast<char*>(pinned)},
                      {"registered", static_cast<char*>(registered)},
                      {"managed", static_cast<char*>(pointer(g_memory.managed))}};
}

template <class F>
void call(F* function, void (*body)(F*, Name), Name api, const char* shape) {
    const bool is_low = std::strlen(shape) > 3 && std::strcmp(shape + std::strlen(shape) - 3, "_v1") == 0 &&
                        std::strncmp(shape, "driver_", 7) == 0 && std::strstr(shape, "batch") == nullptr;
    if (function == nullptr) {
        std::fprintf(stderr, "%s is not in this driver\n", api);
    } else if (is_low && g_memory.device2 > 0xf0000000u) {
        std::fprintf(stderr, "%s takes 32-bit addresses: left out\n", api);
    } else {
        body(function, api);
    }
}

#define CALL_runtime(symbol, shape)
#define CALL_driver(symbol, shape) call(&::symbol, &body_##shape, #symbol, #shape);

void call_all() {
#define PINCHECK_API(symbol, side, shape, lookup, since, variant) CALL_##side(symbol, shape)
#include "report/cuda_api.def"
#undef PINCHECK_API
}

}  // namespace
}  // namespace every_copy

int main(int count, char** arguments) {
    using namespace every_copy;
    if (count > 1 && std::strcmp(arguments[1], "one") == 0) {
        g_batch = 1;
    }
    prepare();
    if (g_failures == 0) {
        call_all();
    }
    print_expected();
    return g_failures == 0 ? 0 : 1;
}
