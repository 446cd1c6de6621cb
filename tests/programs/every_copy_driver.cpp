// Every listed driver function that moves or sets memory (see every_copy.h). Needs a device below 4 GiB for the 32-bit
// functions of CUDA 2 and 3.0; without one (a real GPU) those are left out and named on stderr. With the argument `one`
// batches have one copy: a driver may carry out several as one, and a profiler then counts one (measured: H200, driver
// 580.159.04).
#include "every_copy_driver.h"

#include "every_copy_boxes.h"

namespace every_copy {
namespace {

// ---- Copies of one range

BODY(driver_h2d) {
    each_host(api, "host-to-device", nullptr, "device", kBytes,
              [&](const Host& host) { return f(g_memory.device, host.memory, kBytes); });
}
BODY(driver_h2d_async) {
    each_host(api, "host-to-device", nullptr, "device", kBytes,
              [&](const Host& host) { return f(g_memory.device, host.memory, kBytes, g_memory.stream); });
}
BODY(driver_d2h) {
    each_host(api, "device-to-host", "device", nullptr, kBytes,
              [&](const Host& host) { return f(host.memory, g_memory.device, kBytes); });
}
BODY(driver_d2h_async) {
    each_host(api, "device-to-host", "device", nullptr, kBytes,
              [&](const Host& host) { return f(host.memory, g_memory.device, kBytes, g_memory.stream); });
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
NO_COPY(launch_cooperative)
NO_COPY(launch_ex)
NO_COPY(module_load)
NO_COPY(module_load_ex)
NO_COPY(library_load)
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
NO_COPY(stream_create)
NO_COPY(stream_create_priority)
NO_COPY(stream_create_green)
NO_COPY(stream_destroy)
NO_COPY(stream_query)
NO_COPY(event_create)
NO_COPY(event_destroy)
NO_COPY(event_query)
NO_COPY(event_elapsed)
NO_COPY(event_export)
NO_COPY(event_import)
NO_COPY(graph_add_record)
NO_COPY(graph_set_record)
NO_COPY(graph_exec_set_record)
NO_COPY(launch_host)
NO_COPY(add_callback)
NO_COPY(wait_value32)
NO_COPY(wait_value64)
NO_COPY(write_value32)
NO_COPY(write_value64)
NO_COPY(batch_values)
NO_COPY(external_signal)
NO_COPY(external_wait)
NO_COPY(context_destroy)
NO_COPY(device_reset)
NO_COPY(device_release)
NO_COPY(pool_alloc)
NO_COPY(pool_alloc_from)

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
