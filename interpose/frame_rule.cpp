#include "frame_rule.h"

#include "unwind_table.h"

namespace pincheck {
namespace {

// DWARF's numbers of the registers that rules are about (System V ABI, AMD64 supplement, figure 3.36).
constexpr std::uint64_t kFramePointer = 6;
constexpr std::uint64_t kStackPointer = 7;

// Call frame instructions (DWARF 5, 7.24; the last one is GNU's). The first three carry an operand in their lower bits.
enum Instruction : std::uint8_t {
    kAdvanceLoc = 0x40,
    kOffset = 0x80,
    kRestore = 0xc0,
    kNop = 0x00,
    kAdvanceLoc1 = 0x02,
    kAdvanceLoc2 = 0x03,
    kAdvanceLoc4 = 0x04,
    kOffsetExtended = 0x05,
    kRestoreExtended = 0x06,
    kUndefined = 0x07,
    kSameValue = 0x08,
    kRegister = 0x09,
    kRememberState = 0x0a,
    kRestoreState = 0x0b,
    kDefCfa = 0x0c,
    kDefCfaRegister = 0x0d,
    kDefCfaOffset = 0x0e,
    kDefCfaExpression = 0x0f,
    kExpression = 0x10,
    kOffsetExtendedSf = 0x11,
    kDefCfaSf = 0x12,
    kDefCfaOffsetSf = 0x13,
    kValOffset = 0x14,
    kValOffsetSf = 0x15,
    kValExpression = 0x16,
    kArgsSize = 0x2e,
};

// Where a register of the caller is.
struct Saved {
    enum class How : std::uint8_t { kept, at_offset, undefined, at_frame_pointer, other };
    How how = How::kept;
    std::int64_t offset = 0;  // from the CFA
};

// One row of the table that the program describes.
struct Row {
    enum class Cfa : std::uint8_t { none, at_register, in_slot, other };
    Cfa cfa = Cfa::none;
    std::uint64_t cfa_register = 0;
    std::int64_t cfa_offset = 0;
    Saved frame_pointer;
    Saved stack_pointer;
    Saved return_address;

    Saved* of(std::uint64_t number) noexcept {
        return number == kFramePointer            ? &frame_pointer
               : number == kStackPointer          ? &stack_pointer
               : number == kReturnAddressRegister ? &return_address
                                                  : nullptr;
    }
};

// The only expressions that compilers write here, for functions that align their stack: `rbp + 0` for where the frame
// pointer was saved, and the word at `rbp + offset` for the CFA.
bool is_register_plus(TableBytes& expression, std::int64_t& offset) noexcept {
    constexpr std::uint8_t kRegister6 = 0x76;  // DW_OP_breg6
    const bool is = expression.get<std::uint8_t>() == kRegister6;
    offset = expression.sleb();
    return is && expression.ok();
}
void set_cfa_expression(Row& row, TableBytes expression) noexcept {
    constexpr std::uint8_t kDereference = 0x06;  // DW_OP_deref
    std::int64_t offset = 0;
    const bool known = is_register_plus(expression, offset) && expression.get<std::uint8_t>() == kDereference &&
                       expression.ok() && !expression.more();
    row.cfa = known ? Row::Cfa::in_slot : Row::Cfa::other;
    row.cfa_offset = offset;
}
void set_saved_expression(Saved& saved, TableBytes expression) noexcept {
    std::int64_t offset = 0;
    const bool known = is_register_plus(expression, offset) && !expression.more() && offset == 0;
    saved = {known ? Saved::How::at_frame_pointer : Saved::How::other, 0};
}

// Runs a program of call frame instructions (DWARF 5, 6.4.2) up to the row that holds for one address.
class Machine {
  public:
    Machine(const UnwindEntry& entry, std::uintptr_t address) noexcept : entry_(entry), address_(address) {}

    const Row& row() const noexcept { return row_; }
    void start_entry(std::uintptr_t code) noexcept {
        initial_ = row_;
        location_ = code;
    }
    // False for an instruction that is not known, and where the program is cut off.
    bool run(TableBytes program) noexcept {
        bool goes_on = true;
        while (goes_on && program.more()) {
            const auto byte = program.get<std::uint8_t>();
            const std::uint8_t operand = byte & 0x3f;
            switch (byte & 0xc0) {
                case kAdvanceLoc:
                    goes_on = advance(operand);
                    break;
                case kOffset:
                    save(operand, static_cast<std::int64_t>(program.uleb()));
                    break;
                case kRestore:
                    restore(operand);
                    break;
                default:
                    if (!run_extended(byte, program, goes_on)) {
                        return false;
                    }
            }
        }
        return program.ok();
    }

  private:
    static constexpr unsigned kMaxRemembered = 8;

    // False when the row after the step begins behind the address.
    bool advance(std::uint64_t steps) noexcept {
        location_ += steps * entry_.code_factor;
        return location_ <= address_;
    }
    void save(std::uint64_t number, std::int64_t factored) noexcept {
        if (Saved* saved = row_.of(number)) {
            *saved = {Saved::How::at_offset, factored * entry_.data_factor};
        }
    }
    void restore(std::uint64_t number) noexcept {
        if (Saved* saved = row_.of(number)) {
            *saved = *initial_.of(number);
        }
    }
    void set(std::uint64_t number, Saved::How how) noexcept {
        if (Saved* saved = row_.of(number)) {
            *saved = {how, 0};
        }
    }
    void set_cfa(std::uint64_t number, std::int64_t offset) noexcept {
        row_.cfa = Row::Cfa::at_register;
        row_.cfa_register = number;
        row_.cfa_offset = offset;
    }

    bool run_extended(std::uint8_t instruction, TableBytes& program, bool& goes_on) noexcept;

    const UnwindEntry& entry_;
    std::uintptr_t address_;
    std::uintptr_t location_ = 0;
    Row row_;
    Row initial_;
    Row remembered_[kMaxRemembered];
    unsigned remembered_count_ = 0;
};

bool Machine::run_extended(std::uint8_t instruction, TableBytes& program, bool& goes_on) noexcept {
    std::uint64_t number = 0;
    switch (instruction) {
        case kNop:
            return true;
        case kAdvanceLoc1:
            goes_on = advance(program.get<std::uint8_t>());
            return true;
        case kAdvanceLoc2:
            goes_on = advance(program.get<std::uint16_t>());
            return true;
        case kAdvanceLoc4:
            goes_on = advance(program.get<std::uint32_t>());
            return true;
        case kOffsetExtended:
            number = program.uleb();
            save(number, static_cast<std::int64_t>(program.uleb()));
            return true;
        case kRestoreExtended:
            restore(program.uleb());
            return true;
        case kUndefined:
            set(program.uleb(), Saved::How::undefined);
            return true;
        case kSameValue:
            set(program.uleb(), Saved::How::kept);
            return true;
        case kRegister:
            set(program.uleb(), Saved::How::other);
            program.uleb();
            return true;
        case kRememberState:
            if (remembered_count_ == kMaxRemembered) {
                return false;
            }
            remembered_[remembered_count_++] = row_;
            return true;
        case kRestoreState:
            if (remembered_count_ == 0) {
                return false;
            }
            row_ = remembered_[--remembered_count_];
            return true;
        case kDefCfa:
            number = program.uleb();
            set_cfa(number, static_cast<std::int64_t>(program.uleb()));
            return true;
        case kDefCfaRegister:
            if (row_.cfa != Row::Cfa::at_register) {
                return false;
            }
            row_.cfa_register = program.uleb();
            return true;
        case kDefCfaOffset:
            if (row_.cfa != Row::Cfa::at_register) {
                return false;
            }
            row_.cfa_offset = static_cast<std::int64_t>(program.uleb());
            return true;
        case kDefCfaOffsetSf:
            if (row_.cfa != Row::Cfa::at_register) {
                return false;
            }
            row_.cfa_offset = program.sleb() * entry_.data_factor;
            return true;
        case kDefCfaExpression:
            set_cfa_expression(row_, program.take(program.uleb()));
            return true;
        case kExpression:
            if (Saved* saved = row_.of(number = program.uleb())) {
                set_saved_expression(*saved, program.take(program.uleb()));
            } else {
                program.skip(program.uleb());
            }
            return true;
        case kOffsetExtendedSf:
            number = program.uleb();
            save(number, program.sleb());
            return true;
        case kDefCfaSf:
            number = program.uleb();
            set_cfa(number, program.sleb() * entry_.data_factor);
            return true;
        case kValOffset:
        case kValOffsetSf:
            set(program.uleb(), Saved::How::other);
            program.uleb();
            return true;
        case kValExpression:
            set(program.uleb(), Saved::How::other);
            program.skip(program.uleb());
            return true;
        case kArgsSize:  // what is pushed for a call is in the CFA's offset already
            program.uleb();
            return true;
        default:
            return false;
    }
}

FrameRule rule_of(const Row& row) noexcept {
    using How = Saved::How;
    if (row.stack_pointer.how != How::kept) {
        return FrameRule::complex();
    }
    if (row.return_address.how == How::undefined) {
        return FrameRule::end();
    }
    if (row.return_address.how != How::at_offset || row.return_address.offset != -8) {
        return FrameRule::complex();
    }
    const Saved& saved = row.frame_pointer;
    if (row.cfa == Row::Cfa::in_slot) {
        return saved.how == How::at_frame_pointer ? FrameRule::aligned(-row.cfa_offset) : FrameRule::complex();
    }
    if (row.cfa != Row::Cfa::at_register || (saved.how != How::kept && saved.how != How::at_offset) ||
        (row.cfa_register != kStackPointer && row.cfa_register != kFramePointer)) {
        return FrameRule::complex();
    }
    return FrameRule::plain(row.cfa_register == kFramePointer, row.cfa_offset, -saved.offset);
}

}  // namespace

FrameRule find_frame_rule(const ElfObject& object, std::uintptr_t return_address) noexcept {
    // The call may be the last instruction of its function: what counts is the byte before the address.
    const std::uintptr_t address = return_address - 1;
    UnwindEntry entry;
    if (!find_unwind_entry(object, address, entry)) {
        return FrameRule::complex();
    }
    Machine machine(entry, address);
    if (!machine.run(entry.common_program)) {
        return FrameRule::complex();
    }
    machine.start_entry(entry.begin);
    return machine.run(entry.program) ? rule_of(machine.row()) : FrameRule::complex();
}

}  // namespace pincheck
