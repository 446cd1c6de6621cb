// What the two sides of a copy are, and which way it goes, where the call does not say.
#include "hook_copy.h"

namespace pincheck {

using report::Direction;
using report::MemoryClass;
using report::SiteKind;

namespace {

bool is_host(MemoryClass kind) noexcept {
    return kind == MemoryClass::pageable || kind == MemoryClass::pinned || kind == MemoryClass::registered ||
           kind == MemoryClass::partly_registered || kind == MemoryClass::host_pool;
}

// Managed memory counts as the device's side where the other side is the host's, and the other way round.
Direction direction_between(MemoryClass source, MemoryClass destination) noexcept {
    if (source == MemoryClass::unknown || destination == MemoryClass::unknown) {
        return Direction::unknown;
    }
    if (is_host(source)) {
        return is_host(destination) ? Direction::host_to_host : Direction::host_to_device;
    }
    return is_host(destination) ? Direction::device_to_host : Direction::device_to_device;
}

constexpr unsigned bit(MemoryClass kind) noexcept {
    return 1u << static_cast<unsigned>(kind);
}

}  // namespace

Direction direction_of_kind(int kind) noexcept {
    switch (kind) {
        case 0:
            return Direction::host_to_host;
        case 1:
            return Direction::host_to_device;
        case 2:
            return Direction::device_to_host;
        case 3:  // says nothing: page-locked host memory has device addresses too, and frameworks copy it like that
            return Direction::unknown;
        default:
            return Direction::unknown;
    }
}

bool is_offender(const report::Memory& destination, const report::Memory& source) noexcept {
    constexpr unsigned kBad = bit(MemoryClass::pageable) | bit(MemoryClass::managed) |
                              bit(MemoryClass::partly_registered) | bit(MemoryClass::unknown) |
                              bit(MemoryClass::host_pool);
    return ((bit(source.kind) | bit(destination.kind)) & kBad) != 0;
}

std::uint64_t element_bytes_of(const cuda_abi::BatchCopy3D& copy) noexcept {
    const cuda_abi::BatchOperand& operand =
        copy.source.type == cuda_abi::kOperandArray ? copy.source : copy.destination;
    if (operand.type != cuda_abi::kOperandArray) {
        return 1;
    }
    const Driver* known = driver();
    cuda_abi::ArrayDescriptor array{};
    if (t_thread.driver_owned || known == nullptr || known->array_get_descriptor == nullptr ||
        known->array_get_descriptor(&array, operand.array.array) != 0) {
        return 1;
    }
    const std::uint64_t bytes = element_bytes(array);
    return bytes != 0 ? bytes : 1;
}

AskedSides ask_sides(const State& state, const CopyArguments& arguments, bool may_ask) noexcept {
    AskedSides sides;
    PointerClass source;
    source.memory.kind = arguments.source_is;
    PointerClass destination;
    destination.memory.kind = arguments.destination_is;
    if (arguments.source_is == MemoryClass::none && arguments.kind == SiteKind::copy) {
        source = classify(state, arguments.source, span_or(arguments.source_span, arguments.bytes), may_ask);
    }
    if (arguments.destination_is == MemoryClass::none) {
        destination =
            classify(state, arguments.destination, span_or(arguments.destination_span, arguments.bytes), may_ask);
    }
    sides.source = source.memory;
    sides.destination = destination.memory;
    sides.direction = arguments.direction;
    if (arguments.kind == SiteKind::copy && arguments.direction != Direction::host_to_host) {
        sides.direction = direction_between(source.memory.kind, destination.memory.kind);
    }
    sides.ask_again = source.ask_again || destination.ask_again;
    sides.allocation_site = source.allocation_site != 0 ? source.allocation_site : destination.allocation_site;
    return sides;
}

}  // namespace pincheck
