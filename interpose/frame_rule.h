// How to get from a frame of the stack to the one that called it, for code at one return address (x86-64).
//
// Most code is unwound by two numbers: where the frame ends (its canonical frame address, CFA: the caller's stack
// pointer after the call, with the return address right below), counted from the stack pointer or the frame pointer,
// and where the caller's frame pointer was saved. With the address that fits into one word (AddressCache). Functions
// that align their stack (AVX) keep the CFA in a slot below the frame pointer. All else is complex, and libunwind's.
//
// Sources: System V ABI, AMD64 supplement, 3.6 and 3.7; DWARF 5, 6.4.
#pragma once

#include <cstdint>

#include "elf_objects.h"

namespace pincheck {

class FrameRule {
  public:
    static constexpr unsigned kBits = 17;

    // Bits above the lowest kBits are ignored.
    constexpr explicit FrameRule(std::uint64_t bits) noexcept : bits_(bits) {}

    // Not to be unwound by such a rule.
    static constexpr FrameRule complex() noexcept { return FrameRule(kSpecial | kComplex << 3); }
    // The outermost frame: nobody called it.
    static constexpr FrameRule end() noexcept { return FrameRule(kSpecial | kEnd << 3); }
    // CFA = register + offset; the caller's frame pointer is at CFA - saved_below, or still in its register (0).
    static constexpr FrameRule plain(bool from_frame_pointer, std::int64_t offset, std::int64_t saved_below) noexcept {
        if (offset <= 0 || offset > kMaxOffset || offset % 8 != 0 || saved_below % 8 != 0 ||
            (saved_below != 0 && (saved_below < 16 || saved_below > kMaxSavedBelow))) {
            return complex();
        }
        const std::uint64_t saved = saved_below == 0 ? 0 : static_cast<std::uint64_t>(saved_below) / 8 - 1;
        return FrameRule(static_cast<std::uint64_t>(offset) << 1 | (from_frame_pointer ? kFromFramePointer : 0u) |
                         saved);
    }
    // CFA is in the word at frame pointer - below, the caller's frame pointer in the one at the frame pointer.
    static constexpr FrameRule aligned(std::int64_t below) noexcept {
        if (below < 0 || below > kMaxAlignedBelow || below % 8 != 0) {
            return complex();
        }
        return FrameRule(kSpecial | (kAligned + static_cast<std::uint64_t>(below) / 8) << 3);
    }

    constexpr bool is_plain() const noexcept { return (bits_ & 7) != kSpecial; }
    constexpr bool is_end() const noexcept { return !is_plain() && rest() == kEnd; }
    constexpr bool is_aligned() const noexcept { return !is_plain() && rest() >= kAligned; }
    constexpr bool is_complex() const noexcept { return !is_plain() && rest() == kComplex; }
    // Of plain rules.
    constexpr bool from_frame_pointer() const noexcept { return (bits_ & kFromFramePointer) != 0; }
    constexpr std::uintptr_t offset() const noexcept { return bits_ >> 1 & 0xfff8; }
    constexpr bool is_saved() const noexcept { return (bits_ & 7) != 0; }
    constexpr std::uintptr_t saved_below() const noexcept { return 8 * ((bits_ & 7) + 1); }
    // Of aligned ones.
    constexpr std::uintptr_t aligned_below() const noexcept { return 8 * (rest() - kAligned); }

    constexpr std::uint64_t bits() const noexcept { return bits_ & ((1u << kBits) - 1); }
    constexpr bool operator==(const FrameRule& other) const noexcept { return bits() == other.bits(); }

  private:
    // Bits 0-2: 0, or where the frame pointer was saved, in words below the CFA and less 1; bit 3: the register; bits
    // 4-16: the offset in words. Special: bits 3-16 say what.
    static constexpr std::uint64_t kSpecial = 7;
    static constexpr std::uint64_t kComplex = 0;
    static constexpr std::uint64_t kEnd = 1;
    static constexpr std::uint64_t kAligned = 2;
    static constexpr std::uint64_t kFromFramePointer = 8;
    static constexpr std::int64_t kMaxOffset = 0xfff8;
    static constexpr std::int64_t kMaxSavedBelow = 7 * 8;  // a prologue pushes six registers at most
    static constexpr std::int64_t kMaxAlignedBelow = 0x1000;
    constexpr std::uint64_t rest() const noexcept { return bits() >> 3; }

    std::uint64_t bits_;
};

// The rule for code that is about to return to `return_address`, from the object's unwind tables. The object must stay
// mapped meanwhile (for_each_object sees to that); tables that are wrong or unknown give a complex rule. Makes no call.
FrameRule find_frame_rule(const ElfObject& object, std::uintptr_t return_address) noexcept;

}  // namespace pincheck
