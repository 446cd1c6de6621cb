// CRC-32C (Castagnoli), the checksum of every record, slot and header in a report. Tables only: the preload library
// must run the same on every processor, and the few kilobytes a snapshot sums do not need the instruction.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pincheck::report {

// Of `bytes` bytes at `data`; `before` is the CRC of what precedes them, so that pieces can be chained.
std::uint32_t crc32c(const void* data, std::size_t bytes, std::uint32_t before = 0) noexcept;

}  // namespace pincheck::report
