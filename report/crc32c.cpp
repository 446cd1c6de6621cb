#include "crc32c.h"

#include <array>
#include <bit>
#include <cstring>

namespace pincheck::report {
namespace {

static_assert(std::endian::native == std::endian::little, "the file is the memory of a little-endian machine");

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // reflected

// Slicing by 8: table k advances a byte's contribution by k more bytes, so that eight bytes take eight look-ups that do
// not wait for each other.
constexpr std::array<std::array<std::uint32_t, 256>, 8> make_tables() {
    std::array<std::array<std::uint32_t, 256>, 8> tables{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t crc = byte;
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
        }
        tables[0][byte] = crc;
    }
    for (std::size_t slice = 1; slice < 8; ++slice) {
        for (std::size_t byte = 0; byte < 256; ++byte) {
            const std::uint32_t previous = tables[slice - 1][byte];
            tables[slice][byte] = (previous >> 8) ^ tables[0][previous & 0xff];
        }
    }
    return tables;
}

constexpr auto kTables = make_tables();

}  // namespace

std::uint32_t crc32c(const void* data, std::size_t bytes, std::uint32_t before) noexcept {
    const auto* at = static_cast<const unsigned char*>(data);
    std::uint32_t crc = ~before;
    for (; bytes >= 8; bytes -= 8, at += 8) {
        std::uint64_t word;
        std::memcpy(&word, at, 8);
        word ^= crc;
        crc = kTables[7][word & 0xff] ^ kTables[6][(word >> 8) & 0xff] ^ kTables[5][(word >> 16) & 0xff] ^
              kTables[4][(word >> 24) & 0xff] ^ kTables[3][(word >> 32) & 0xff] ^ kTables[2][(word >> 40) & 0xff] ^
              kTables[1][(word >> 48) & 0xff] ^ kTables[0][word >> 56];
    }
    for (; bytes > 0; --bytes, ++at) {
        crc = (crc >> 8) ^ kTables[0][(crc ^ *at) & 0xff];
    }
    return ~crc;
}

}  // namespace pincheck::report
