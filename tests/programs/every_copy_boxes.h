// Strided copies and batches of the driver (see every_copy_driver.cpp).
#pragma once

#include "every_copy_driver.h"

namespace every_copy {
namespace {

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

}  // namespace
}  // namespace every_copy
