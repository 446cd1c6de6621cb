// Unwind tables of an object (.eh_frame, found through .eh_frame_hdr): the entry for an address, and the bytes of its
// call frame instructions. What they mean is frame_rule.cpp's.
//
// Sources: LSB Core, 10.6 (.eh_frame, .eh_frame_hdr); DWARF 5, 6.4.1.
#pragma once

#include <cstdint>

#include "elf_objects.h"

namespace pincheck {

// DWARF's number of the register that holds the return address (System V ABI, AMD64 supplement, figure 3.36).
inline constexpr std::uint64_t kReturnAddressRegister = 16;

// Reads forwards through bytes that are known to be mapped. Past the end it gives zeros and is not ok() any more.
class TableBytes {
  public:
    TableBytes(std::uintptr_t begin, std::uintptr_t end) noexcept : at_(begin), end_(end < begin ? begin : end) {}

    bool ok() const noexcept { return ok_; }
    bool more() const noexcept { return ok_ && at_ < end_; }
    std::uintptr_t at() const noexcept { return at_; }
    std::uintptr_t end() const noexcept { return end_; }

    void skip(std::uint64_t count) noexcept {
        ok_ = ok_ && count <= end_ - at_;
        at_ = ok_ ? at_ + count : end_;
    }
    TableBytes take(std::uint64_t count) noexcept {
        const std::uintptr_t begin = at_;
        skip(count);
        return {begin, at_};
    }
    template <class T>
    T get() noexcept {
        T value = 0;
        if (!ok_ || end_ - at_ < sizeof(T)) {
            ok_ = false;
            return value;
        }
        __builtin_memcpy(&value, reinterpret_cast<const void*>(at_), sizeof(T));
        at_ += sizeof(T);
        return value;
    }
    std::uint64_t uleb() noexcept {
        std::uint8_t last;
        unsigned bits;
        return leb(last, bits);
    }
    std::int64_t sleb() noexcept {
        std::uint8_t last;
        unsigned bits;
        std::uint64_t value = leb(last, bits);
        if ((last & 0x40) != 0 && bits < 64) {
            value |= ~std::uint64_t{0} << bits;
        }
        return static_cast<std::int64_t>(value);
    }

  private:
    std::uint64_t leb(std::uint8_t& last, unsigned& bits) noexcept {
        std::uint64_t value = 0;
        bits = 0;
        do {
            last = get<std::uint8_t>();
            value |= bits < 64 ? static_cast<std::uint64_t>(last & 0x7f) << bits : 0;
            bits += 7;
        } while (ok_ && (last & 0x80) != 0);
        return value;
    }

    std::uintptr_t at_;
    std::uintptr_t end_;
    bool ok_ = true;
};

// The entry (FDE) for an address, and what it shares with others (CIE).
struct UnwindEntry {
    std::uint64_t code_factor = 1;
    std::int64_t data_factor = 1;
    std::uintptr_t begin = 0;         // of the code that it is about
    TableBytes common_program{0, 0};  // instructions that come first
    TableBytes program{0, 0};
};

// False: there is none for that address, or it is written in a way that compilers do not use. The object must stay
// mapped meanwhile; nothing outside its readable segments is read. Makes no call.
bool find_unwind_entry(const ElfObject& object, std::uintptr_t address, UnwindEntry& entry) noexcept;

}  // namespace pincheck
