#include "unwind_table.h"

#include <cstddef>

namespace pincheck {
namespace {

// DW_EH_PE: how pointers in .eh_frame and .eh_frame_hdr are written.
constexpr std::uint8_t kPointerAbsolute = 0x00;
constexpr std::uint8_t kPointerUdata4 = 0x03;
constexpr std::uint8_t kPointerRelativeSdata4 = 0x1b;
constexpr std::uint8_t kPointerRelativeSdata8 = 0x1c;
constexpr std::uint8_t kTableRelativeSdata4 = 0x3b;

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
bool get_pointer(TableBytes& bytes, std::uint8_t encoding, std::uintptr_t& pointer) noexcept {
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
bool get_length(TableBytes& bytes, std::uint8_t encoding, std::uint64_t& length) noexcept {
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
    TableBytes bytes(table, table != 0 ? readable_end(object, table) : 0);
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
bool get_record(const ElfObject& object, std::uintptr_t at, TableBytes& record) noexcept {
    constexpr std::uint32_t kLongForm = 0xffffffff;
    TableBytes bytes(at, readable_end(object, at));
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
    TableBytes program{0, 0};
};

bool get_common(const ElfObject& object, std::uintptr_t at, Common& common) noexcept {
    TableBytes bytes(0, 0);
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
    if (return_register != kReturnAddressRegister) {
        return false;
    }
    common.has_augmentation = augmentation[0] == 'z';
    if (common.has_augmentation) {
        TableBytes data = bytes.take(bytes.uleb());
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

}  // namespace

bool find_unwind_entry(const ElfObject& object, std::uintptr_t address, UnwindEntry& entry) noexcept {
    const std::uintptr_t at = find_entry(object, address);
    TableBytes record(0, 0);
    if (at == 0 || !get_record(object, at, record)) {
        return false;
    }
    const std::uintptr_t field = record.at();
    const std::uintptr_t distance = record.get<std::uint32_t>();  // back to the common part, from this field
    Common common;
    if (distance == 0 || !record.ok() || !get_common(object, field - distance, common)) {
        return false;
    }
    std::uint64_t length = 0;
    if (!get_pointer(record, common.code_encoding, entry.begin) || !get_length(record, common.code_encoding, length) ||
        address - entry.begin >= length) {
        return false;
    }
    if (common.has_augmentation) {
        record.skip(record.uleb());
    }
    entry.code_factor = common.code_factor;
    entry.data_factor = common.data_factor;
    entry.common_program = common.program;
    entry.program = record;
    return true;
}

}  // namespace pincheck
