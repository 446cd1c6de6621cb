#include "frame_rule.h"

#include <cstddef>

namespace pincheck {
namespace {

// DWARF's numbers of the registers that rules are about (System V ABI, AMD64 supplement, figure 3.36).
constexpr std::uint64_t kFramePointer = 6;
constexpr std::uint64_t kStackPointer = 7;
constexpr std::uint64_t kReturnAddress = 16;

// DW_EH_PE: how pointers in .eh_frame and .eh_frame_hdr are written.
constexpr std::uint8_t kPointerAbsolute = 0x00;
constexpr std::uint8_t kPointerUdata4 = 0x03;
constexpr std::uint8_t kPointerRelativeSdata4 = 0x1b;
constexpr std::uint8_t kPointerRelativeSdata8 = 0x1c;
constexpr std::uint8_t kTableRelativeSdata4 = 0x3b;

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

// Reads forwards through bytes that are known to be mapped. Past the end it gives zeros and is not ok() any more.
class Bytes {
  public:
    Bytes(std::uintptr_t begin, std::uintptr_t end) noexcept : at_(begin), end_(end < begin ? begin : end) {}

    bool ok() const noexcept { return ok_; }
    bool more() const noexcept { return ok_ && at_ < end_; }
    std::uintptr_t at() const noexcept { return at_; }
    std::uintptr_t end() const noexcept { return end_; }

    void skip(std::uint64_t count) noexcept {
        ok_ = ok_ && count <= end_ - at_;
        at_ = ok_ ? at_ + count : end_;
    }
    Bytes take(std::uint64_t count) noexcept {
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

// One past the last byte that can be read from `address` on without leaving its segment of the object; `address` itself
// when it is in none.
std::uintptr_t readable_end(const ElfObject& object, std::uintptr_t address) noexcept {
    for (std::size_t i = 0; i < object.header_count; ++i) {
        const ElfW(Phdr)& header = object.headers[i];
        const std::uintptr_t begin = object.base + header.p_vaddr;
        if (header.p_type == PT_LOAD && (header.p_flags & PF_R) != 0 && address >= begin &&
            address - begin < header.p_filesz) {
            return begin + header.p_filesz;
        }
    }
    return address;
}

// A pointer as tables write it; false for a way of writing that compilers do not use for code addresses.
bool get_pointer(Bytes& bytes, std::uint8_t encoding, std::uintptr_t& pointer) noexcept {
    const std::uintptr_t here = bytes.at();
    switch (encoding) {
        case kPointerAbsolute:
            pointer = bytes.get<std::uint64_t>();
            break;
        case kPointerRelativeSdata4:
            pointer = here + static_cast<std::uintptr_t>(std::intptr_t{bytes.get<std::int32_t>()});
            break;
        case kPointerRelativeSdata8:
            pointer = here + bytes.get<std::uint64_t>();
            break;
        default:
            return false;
    }
    return bytes.ok();
}
bool get_length(Bytes& bytes, std::uint8_t encoding, std::uint64_t& length) noexcept {
    const bool short_form = encoding == kPointerRelativeSdata4;
    length = short_form ? bytes.get<std::uint32_t>() : bytes.get<std::uint64_t>();
    return bytes.ok();
}

// Of a pointer that is skipped; 0 where the length varies.
unsigned pointer_bytes(std::uint8_t encoding) noexcept {
    constexpr std::uint8_t kApplication = 0x70;
    constexpr std::uint8_t kAligned = 0x50;
    const unsigned format = encoding & 0x07;
    return (encoding & kApplication) == kAligned ? 0 : format == 0 || format == 4 ? 8 : format == 3 ? 4 : 0;
}

// Address of the entry (FDE) that may hold `address`, by binary search; 0: none.
std::uintptr_t find_entry(const ElfObject& object, std::uintptr_t address) noexcept {
    struct Row {
        std::int32_t code;
        std::int32_t entry;
    };
    std::uintptr_t table = 0;
    for (std::size_t i = 0; i < object.header_count; ++i) {
        if (object.headers[i].p_type == PT_GNU_EH_FRAME) {
            table = object.base + object.headers[i].p_vaddr;
        }
    }
    Bytes bytes(table, table != 0 ? readable_end(object, table) : 0);
    const auto version = bytes.get<std::uint8_t>();
    const auto frame_encoding = bytes.get<std::uint8_t>();
    const auto count_encoding = bytes.get<std::uint8_t>();
    const auto table_encoding = bytes.get<std::uint8_t>();
    std::uintptr_t frames = 0;
    if (version != 1 || count_encoding != kPointerUdata4 || table_encoding != kTableRelativeSdata4 ||
        !get_pointer(bytes, frame_encoding, frames)) {
        return 0;
    }
    const std::uint64_t count = bytes.get<std::uint32_t>();
    const auto row_at = [first = bytes.at()](std::uint64_t index) {
        Row row;
        __builtin_memcpy(&row, reinterpret_cast<const void*>(first + index * sizeof(Row)), sizeof(Row));
        return row;
    };
    if (!bytes.ok() || count > (bytes.end() - bytes.at()) / sizeof(Row)) {
        return 0;
    }
    const auto offset = static_cast<std::int64_t>(address - table);
    std::uint64_t low = 0;
    std::uint64_t high = count;  // rows before `low` begin at the address or before it, rows from `high` on after it
    while (low < high) {
        const std::uint64_t middle = low + (high - low) / 2;
        if (row_at(middle).code <= offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low == 0 ? 0 : table + static_cast<std::uintptr_t>(std::intptr_t{row_at(low - 1).entry});
}

// A record of .eh_frame without its length.
bool get_record(const ElfObject& object, std::uintptr_t at, Bytes& record) noexcept {
    constexpr std::uint32_t kLongForm = 0xffffffff;
    Bytes bytes(at, readable_end(object, at));
    const auto length = bytes.get<std::uint32_t>();
    if (length == 0 || length == kLongForm) {
        return false;
    }
    record = bytes.take(length);
    return bytes.ok();
}

// What the entries of one kind share (CIE).
struct Common {
    std::uint64_t code_factor = 1;
    std::int64_t data_factor = 1;
    std::uint8_t code_encoding = kPointerAbsolute;
    bool has_augmentation = false;
    Bytes program{0, 0};
};

bool get_common(const ElfObject& object, std::uintptr_t at, Common& common) noexcept {
    Bytes bytes(0, 0);
    if (!get_record(object, at, bytes) || bytes.get<std::uint32_t>() != 0) {
        return false;
    }
    const auto version = bytes.get<std::uint8_t>();
    char augmentation[8] = "";
    for (char& letter : augmentation) {
        letter = bytes.get<char>();
        if (letter == '\0') {
            break;
        }
    }
    if ((version != 1 && version != 3) || augmentation[sizeof(augmentation) - 1] != '\0') {
        return false;
    }
    common.code_factor = bytes.uleb();
    common.data_factor = bytes.sleb();
    const std::uint64_t return_register = version == 1 ? bytes.get<std::uint8_t>() : bytes.uleb();
    if (return_register != kReturnAddress) {
        return false;
    }
    common.has_augmentation = augmentation[0] == 'z';
    if (common.has_augmentation) {
        Bytes data = bytes.take(bytes.uleb());
        for (const char* letter = augmentation + 1; *letter != '\0'; ++letter) {
            if (*letter == 'R') {
                common.code_encoding = data.get<std::uint8_t>();
            } else if (*letter == 'L') {
                data.skip(1);
            } else if (*letter == 'P') {
                const unsigned bytes_of_pointer = pointer_bytes(data.get<std::uint8_t>());
                if (bytes_of_pointer == 0) {
                    return false;
                }
                data.skip(bytes_of_pointer);
            } else {
                return false;  // 'S': a signal's frame
            }
        }
        if (!data.ok()) {
            return false;
        }
    } else if (augmentation[0] != '\0') {
        return false;
    }
    common.program = bytes;
    return bytes.ok();
}

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
        return number == kFramePointer    ? &frame_pointer
               : number == kStackPointer  ? &stack_pointer
               : number == kReturnAddress ? &return_address
                                          : nullptr;
    }
};

// The only expressions that compilers write here, for functions that align their stack: `rbp + 0` for where the frame
// pointer was saved, and the word at `rbp + offset` for the CFA.
bool is_register_plus(Bytes& expression, std::int64_t& offset) noexcept {
    constexpr std::uint8_t kRegister6 = 0x76;  // DW_OP_breg6
    const bool is = expression.get<std::uint8_t>() == kRegister6;
    offset = expression.sleb();
    return is && expression.ok();
}
void set_cfa_expression(Row& row, Bytes expression) noexcept {
    constexpr std::uint8_t kDereference = 0x06;  // DW_OP_deref
    std::int64_t offset = 0;
    const bool known = is_register_plus(expression, offset) && expression.get<std::uint8_t>() == kDereference &&
                       expression.ok() && !expression.more();
    row.cfa = known ? Row::Cfa::in_slot : Row::Cfa::other;
    row.cfa_offset = offset;
}
void set_saved_expression(Saved& saved, Bytes expression) noexcept {
    std::int64_t offset = 0;
    const bool known = is_register_plus(expression, offset) && !expression.more() && offset == 0;
    saved = {known ? Saved::How::at_frame_pointer : Saved::How::other, 0};
}

// Runs a program of call frame instructions (DWARF 5, 6.4.2) up to the row that holds for one address.
class Machine {
  public:
    Machine(const Common& common, std::uintptr_t address) noexcept : common_(common), address_(address) {}

    const Row& row() const noexcept { return row_; }
    void start_entry(std::uintptr_t code) noexcept {
        initial_ = row_;
        location_ = code;
    }
    // False for an instruction that is not known, and where the program is cut off.
    bool run(Bytes program) noexcept {
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
        location_ += steps * common_.code_factor;
        return location_ <= address_;
    }
    void save(std::uint64_t number, std::int64_t factored) noexcept {
        if (Saved* saved = row_.of(number)) {
            *saved = {Saved::How::at_offset, factored * common_.data_factor};
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

    bool run_extended(std::uint8_t instruction, Bytes& program, bool& goes_on) noexcept;

    const Common& common_;
    std::uintptr_t address_;
    std::uintptr_t location_ = 0;
    Row row_;
    Row initial_;
    Row remembered_[kMaxRemembered];
    unsigned remembered_count_ = 0;
};

bool Machine::run_extended(std::uint8_t instruction, Bytes& program, bool& goes_on) noexcept {
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
            row_.cfa_offset = program.sleb() * common_.data_factor;
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
            set_cfa(number, program.sleb() * common_.data_factor);
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
    const std::uintptr_t at = find_entry(object, address);
    Bytes entry(0, 0);
    if (at == 0 || !get_record(object, at, entry)) {
        return FrameRule::complex();
    }
    const std::uintptr_t field = entry.at();
    const std::uintptr_t distance = entry.get<std::uint32_t>();  // back to the common part, from this field
    Common common;
    if (distance == 0 || !entry.ok() || !get_common(object, field - distance, common)) {
        return FrameRule::complex();
    }
    std::uintptr_t begin = 0;
    std::uint64_t length = 0;
    if (!get_pointer(entry, common.code_encoding, begin) || !get_length(entry, common.code_encoding, length) ||
        address - begin >= length) {
        return FrameRule::complex();
    }
    if (common.has_augmentation) {
        entry.skip(entry.uleb());
    }
    Machine machine(common, address);
    if (!machine.run(common.program)) {
        return FrameRule::complex();
    }
    machine.start_entry(begin);
    return machine.run(entry) ? rule_of(machine.row()) : FrameRule::complex();
}

}  // namespace pincheck
