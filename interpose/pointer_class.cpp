#include "pointer_class.h"

#include "real.h"
#include "thread_state.h"

namespace pincheck {
namespace {

using report::MemoryClass;

// From cuda.h; the numbers are part of the driver's ABI (checked by tests/unit/abi_test.cpp).
constexpr int kAttributeDevicePointer = 3;
constexpr int kAttributeIsManaged = 8;
constexpr unsigned kMemoryTypeDevice = 2;
constexpr unsigned kMemoryTypeArray = 3;
constexpr unsigned kMemoryTypeUnified = 4;
constexpr int kNotInitialized = 3;

PointerAnswer ask(const Driver& driver, std::uintptr_t pointer) noexcept {
    PointerAnswer answer;
    void* values[] = {&answer.type, &answer.start, &answer.bytes};
    answer.status = driver.pointer_get_attributes(3, kRangeAttributes, values, pointer);
    return answer;
}

// Managed memory answers "device" too (measured); asked apart, since page-locked memory need not be.
bool is_managed(const Driver& driver, std::uintptr_t pointer) noexcept {
    static constexpr int kAttributes[] = {kAttributeIsManaged};
    unsigned managed = 0;
    void* values[] = {&managed};
    return driver.pointer_get_attributes(1, kAttributes, values, pointer) == 0 && managed != 0;
}

bool device_reaches(const Driver& driver, std::uintptr_t pointer) noexcept {
    static constexpr int kAttributes[] = {kAttributeDevicePointer};
    std::uintptr_t device = 0;
    void* values[] = {&device};
    return driver.pointer_get_attributes(1, kAttributes, values, pointer) == 0 && device != 0;
}

void take_range(const PinnedRange& range, PointerClass& result) noexcept {
    result.memory.kind = range.kind == report::RangeKind::registered ? MemoryClass::registered
                         : range.kind == report::RangeKind::managed  ? MemoryClass::managed
                                                                     : MemoryClass::pinned;
    result.memory.flags = range.memory_flags;
    result.allocation_site = range.site;
}

__attribute__((noinline)) void search_range(const State& state, std::uintptr_t start, PointerClass& result) noexcept {
    PinnedRange range;
    if (state.pinned.find(start, range)) {
        take_range(range, result);
    } else {
        result.memory.kind = MemoryClass::pinned;
    }
}

// What the program asked for when it made the range that starts there.
void look_up_range(const State& state, std::uintptr_t start, PointerClass& result) noexcept {
    const std::uint32_t version = state.pinned.version();
    search_range(state, start, result);
    if ((version & 1) == 0) {
        t_thread.last_range = {start, version, result.allocation_site, result.memory};
    }
}

PointerClass classify_by_map(const State& state, std::uintptr_t pointer, std::uint64_t bytes) noexcept {
    PointerClass result;
    PinnedRange range;
    if (state.pinned.find_containing(pointer, range)) {
        take_range(range, result);
        if (bytes > range.bytes - (pointer - range.address)) {
            result.memory.kind = MemoryClass::unknown;
        }
    }
    return result;
}

}  // namespace

PointerClass classify_unasked(const State& state, std::uintptr_t pointer, std::uint64_t bytes, bool may_ask) noexcept {
    PointerClass result = classify_by_map(state, pointer, bytes);
    // A runtime loads the driver in the process's first call, which may be a copy.
    result.ask_again = may_ask && driver() == nullptr && result.memory.kind == MemoryClass::unknown;
    return result;
}

PointerClass classify_answer(const State& state, const Driver& known, std::uintptr_t pointer, std::uint64_t bytes,
                             const PointerAnswer& answer) noexcept {
    PointerClass result;
    if (answer.status != 0) {
        result.ask_again = answer.status == kNotInitialized;
        return result;
    }
    switch (answer.type) {
        case kMemoryTypeHost: {
            // Host memory of a pool has no range of its own. Where the device was given access to it, it is copied like
            // page-locked memory, otherwise like pageable memory (measured: H200, driver 580.159.04).
            if (answer.start == 0) {
                result.memory.kind = device_reaches(known, pointer) ? MemoryClass::pinned : MemoryClass::host_pool;
                return result;
            }
            look_up_range(state, answer.start, result);
            const bool ends_inside = bytes <= answer.bytes - (pointer - answer.start);
            if (!ends_inside && ask(known, pointer + bytes - 1).type != kMemoryTypeHost) {
                result.memory.kind = MemoryClass::partly_registered;
            }
            return result;
        }
        case kMemoryTypeDevice:
        case kMemoryTypeArray:
        case kMemoryTypeUnified:
            result.memory.kind = is_managed(known, pointer) ? MemoryClass::managed : MemoryClass::device;
            return result;
        default:
            break;
    }
    const bool end_locked = bytes > 1 && ask(known, pointer + bytes - 1).type == kMemoryTypeHost;
    result.memory.kind = end_locked ? MemoryClass::partly_registered : MemoryClass::pageable;
    return result;
}

PointerClass classify(const State& state, std::uintptr_t pointer, std::uint64_t bytes, bool may_ask) noexcept {
    return classify_quickly(state, pointer, bytes, may_ask);
}

std::uint64_t registration_boundary(std::uintptr_t pointer, std::uint64_t bytes) noexcept {
    const Driver* known = driver();
    if (known == nullptr || known->pointer_get_attributes == nullptr || bytes == 0) {
        return 0;
    }
    const PointerAnswer first = ask(*known, pointer);
    if (first.type == kMemoryTypeHost) {
        return first.start + first.bytes - pointer;
    }
    const PointerAnswer last = ask(*known, pointer + bytes - 1);
    return last.type == kMemoryTypeHost && last.start > pointer ? last.start - pointer : 0;
}

std::uint16_t allocation_flags(unsigned requested) noexcept {
    using namespace report;
    return static_cast<std::uint16_t>(kMemoryFlagsKnown | ((requested & 1) != 0 ? kMemoryPortable : 0) |
                                      ((requested & 2) != 0 ? kMemoryMapped : 0) |
                                      ((requested & 4) != 0 ? kMemoryWriteCombined : 0));
}

std::uint16_t registration_flags(unsigned requested) noexcept {
    using namespace report;
    return static_cast<std::uint16_t>(
        kMemoryFlagsKnown | ((requested & 1) != 0 ? kMemoryPortable : 0) | ((requested & 2) != 0 ? kMemoryMapped : 0) |
        ((requested & 4) != 0 ? kMemoryIoMemory : 0) | ((requested & 8) != 0 ? kMemoryReadOnly : 0));
}

}  // namespace pincheck
