#include "copy_shape.h"

namespace pincheck {
namespace {

using report::Direction;
using report::MemoryClass;

constexpr std::uint64_t kMost = UINT64_MAX;

std::uint64_t times(std::uint64_t a, std::uint64_t b) noexcept {
    std::uint64_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? kMost : product;
}
std::uint64_t plus(std::uint64_t a, std::uint64_t b) noexcept {
    std::uint64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? kMost : sum;
}

std::uint64_t pitch_of(const Box& box) noexcept {
    return box.pitch != 0 ? box.pitch : plus(box.x, box.width);
}
std::uint64_t slice_of(const Box& box) noexcept {
    return times(pitch_of(box), box.slice_height != 0 ? box.slice_height : plus(box.y, box.height));
}

struct Side {
    std::uintptr_t address;
    std::uint64_t span;
    MemoryClass known;  // none: ask
    bool host;
    bool unified = false;
};

Side side_of(unsigned type, const void* host, std::uint64_t device, const void* array, const Box& box) noexcept {
    const std::uint64_t span = span_of(box);
    switch (type) {
        case cuda_abi::kHost:
            return {reinterpret_cast<std::uintptr_t>(host) + offset_of(box), span, MemoryClass::none, true};
        case cuda_abi::kDevice:
            return {static_cast<std::uintptr_t>(device + offset_of(box)), span, MemoryClass::none, false};
        case cuda_abi::kArray:
            return {reinterpret_cast<std::uintptr_t>(array), span, MemoryClass::array, false};
        default:
            return {static_cast<std::uintptr_t>(device + offset_of(box)), span, MemoryClass::none, false, true};
    }
}

// Host memory given as such is the host's side where the other is given as the device's or as an array. Device
// addresses alone say nothing: page-locked memory has them too.
Direction direction_of(const Side& source, const Side& destination) noexcept {
    if (source.host) {
        return destination.host      ? Direction::host_to_host
               : destination.unified ? Direction::unknown
                                     : Direction::host_to_device;
    }
    if (destination.host) {
        return source.unified ? Direction::unknown : Direction::device_to_host;
    }
    return source.known == MemoryClass::array && destination.known == MemoryClass::array ? Direction::device_to_device
                                                                                         : Direction::unknown;
}

CopyArguments between(const Side& source, const Side& destination, std::uint64_t bytes) noexcept {
    CopyArguments copy;
    copy.destination = destination.address;
    copy.source = source.address;
    copy.bytes = bytes;
    copy.direction = direction_of(source, destination);
    copy.destination_is = destination.known;
    copy.source_is = source.known;
    copy.destination_span = destination.span;
    copy.source_span = source.span;
    return copy;
}

template <class Copy>
CopyArguments describe_2d(const Copy& copy) noexcept {
    const Box source{copy.source_x, copy.source_y, 0, copy.source_pitch, 0, copy.width, copy.height, 1};
    const Box destination{copy.destination_x, copy.destination_y, 0, copy.destination_pitch, 0,
                          copy.width,         copy.height,        1};
    return between(side_of(copy.source_type, copy.source_host, copy.source_device, copy.source_array, source),
                   side_of(copy.destination_type, copy.destination_host, copy.destination_device,
                           copy.destination_array, destination),
                   bytes_of(source));
}

template <class Copy>
CopyArguments describe_3d(const Copy& copy) noexcept {
    const Box source{copy.source_x,      copy.source_y, copy.source_z, copy.source_pitch,
                     copy.source_height, copy.width,    copy.height,   copy.depth};
    const Box destination{copy.destination_x,      copy.destination_y, copy.destination_z, copy.destination_pitch,
                          copy.destination_height, copy.width,         copy.height,        copy.depth};
    return between(side_of(copy.source_type, copy.source_host, copy.source_device, copy.source_array, source),
                   side_of(copy.destination_type, copy.destination_host, copy.destination_device,
                           copy.destination_array, destination),
                   bytes_of(source));
}

Side side_of(const cuda_abi::BatchOperand& operand, const cuda_abi::Extent& extent, std::uint64_t element) noexcept {
    if (operand.type == cuda_abi::kOperandArray) {
        return {reinterpret_cast<std::uintptr_t>(operand.array.array), 0, MemoryClass::array, false};
    }
    const Box box{0,
                  0,
                  0,
                  times(operand.pointer.row_length, element),
                  operand.pointer.layer_height,
                  times(extent.width, element),
                  extent.height,
                  extent.depth};
    return {static_cast<std::uintptr_t>(operand.pointer.address), span_of(box), MemoryClass::none, false, true};
}

}  // namespace

std::uint64_t offset_of(const Box& box) noexcept {
    return plus(plus(box.x, times(box.y, pitch_of(box))), box.z == 0 ? 0 : times(box.z, slice_of(box)));
}

std::uint64_t span_of(const Box& box) noexcept {
    if (box.width == 0 || box.height == 0 || box.depth == 0) {
        return 0;
    }
    const std::uint64_t rows = box.height == 1 ? 0 : times(box.height - 1, pitch_of(box));
    const std::uint64_t slices = box.depth == 1 ? 0 : times(box.depth - 1, slice_of(box));
    return plus(plus(slices, rows), box.width);
}

std::uint64_t bytes_of(const Box& box) noexcept {
    return times(times(box.width, box.height), box.depth);
}

CopyArguments describe(const cuda_abi::Copy2DV1& copy) noexcept {
    return describe_2d(copy);
}
CopyArguments describe(const cuda_abi::Copy2DV2& copy) noexcept {
    return describe_2d(copy);
}
CopyArguments describe(const cuda_abi::Copy3DV1& copy) noexcept {
    return describe_3d(copy);
}
CopyArguments describe(const cuda_abi::Copy3DV2& copy) noexcept {
    return describe_3d(copy);
}

CopyArguments describe(const cuda_abi::MemsetNode& node) noexcept {
    const Box box{0, 0, 0, node.pitch, 0, times(node.width, node.element_bytes), node.height, 1};
    CopyArguments fill;
    fill.kind = report::SiteKind::fill;
    fill.destination = static_cast<std::uintptr_t>(node.destination);
    fill.bytes = bytes_of(box);
    fill.destination_span = span_of(box);
    fill.direction = Direction::none;
    return fill;
}

CopyArguments describe(const cuda_abi::BatchCopy3D& copy, std::uint64_t element) noexcept {
    const Box box{0, 0, 0, 0, 0, times(copy.extent.width, element), copy.extent.height, copy.extent.depth};
    CopyArguments arguments = between(side_of(copy.source, copy.extent, element),
                                      side_of(copy.destination, copy.extent, element), bytes_of(box));
    arguments.async = true;
    arguments.source_order = report::source_order(copy.source_access_order);
    return arguments;
}

std::uint64_t element_bytes(const cuda_abi::ArrayDescriptor& array) noexcept {
    std::uint64_t component = 0;
    switch (array.format) {
        case 0x01:  // unsigned and signed 8 bit
        case 0x08:
            component = 1;
            break;
        case 0x02:  // 16 bit, half
        case 0x09:
        case 0x10:
            component = 2;
            break;
        case 0x03:  // 32 bit, float
        case 0x0a:
        case 0x20:
            component = 4;
            break;
        default:
            break;
    }
    return component * array.channels;
}

}  // namespace pincheck
