// Checksums made right again after a mutation, so that it reaches what lies behind them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "report/crc32c.h"
#include "report/slots.h"

namespace pincheck::report::fuzz {

template <class T>
T get(std::span<const std::uint8_t> bytes, std::size_t offset) {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

inline void put_crc(std::span<std::uint8_t> bytes, std::size_t offset, std::uint32_t crc) {
    std::memcpy(bytes.data() + offset, &crc, sizeof crc);
}

inline void reseal_records(std::span<std::uint8_t> bytes, std::size_t begin, std::size_t end) {
    while (end - begin >= sizeof(RecordHeader)) {
        const auto header = get<RecordHeader>(bytes, begin);
        if (header.bytes < sizeof header || header.bytes > end - begin) {
            return;
        }
        const std::uint32_t head = crc32c(bytes.data() + begin, offsetof(RecordHeader, crc));
        put_crc(bytes, begin + offsetof(RecordHeader, crc),
                crc32c(bytes.data() + begin + sizeof header, header.bytes - sizeof header, head));
        begin += header.bytes;
    }
}

inline void reseal_slots(std::span<std::uint8_t> bytes, std::size_t begin, std::size_t end, std::size_t size) {
    for (; end - begin >= size; begin += size) {
        const auto slot = bytes.subspan(begin, size);
        if (std::ranges::any_of(slot, [](std::uint8_t byte) { return byte != 0; })) {
            put_crc(bytes, begin, crc32c(slot.data() + 4, size - 4));
        }
    }
}

// Every checksum of the file, as far as its lengths make sense.
inline void reseal(std::span<std::uint8_t> bytes) {
    if (bytes.size() < kHeaderBytes) {
        return;
    }
    put_crc(bytes, offsetof(FileHeader, crc), crc32c(bytes.data(), offsetof(FileHeader, crc)));
    for (std::size_t at = kHeaderBytes; at + kSegmentHeaderBytes <= bytes.size(); at += kSegmentBytes) {
        put_crc(bytes, at + offsetof(SegmentHeader, crc), crc32c(bytes.data() + at, offsetof(SegmentHeader, crc)));
        const auto header = get<SegmentHeader>(bytes, at);
        const std::size_t begin = at + kSegmentHeaderBytes;
        const std::size_t end = std::min({begin + header.committed, at + kSegmentBytes, bytes.size()});
        switch (header.kind) {
            case SegmentKind::records:
                reseal_records(bytes, begin, end);
                break;
            case SegmentKind::counters:
                reseal_slots(bytes, begin, end, sizeof(CounterSlot));
                break;
            case SegmentKind::ranges:
                reseal_slots(bytes, begin, end, sizeof(RangeSlot));
                break;
            case SegmentKind::threads:
                reseal_slots(bytes, begin, end, sizeof(ThreadSlot));
                break;
            case SegmentKind::races:
                reseal_slots(bytes, begin, end, sizeof(RaceSlot));
                break;
            case SegmentKind::waits:
                reseal_slots(bytes, begin, end, sizeof(WaitSlot));
                break;
            case SegmentKind::transfers:
                reseal_slots(bytes, begin, end, sizeof(TransferSlot));
                break;
            case SegmentKind::reads:
                reseal_slots(bytes, begin, end, sizeof(ReadSlot));
                break;
            case SegmentKind::losses:
                reseal_slots(bytes, begin, end, sizeof(LossSlot));
                break;
        }
    }
}

}  // namespace pincheck::report::fuzz
