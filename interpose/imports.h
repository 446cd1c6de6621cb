// What an object refers to in others: the slots that the loader fills in with addresses.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>

#include "elf_objects.h"

namespace pincheck {

// Calls `visit(const char* symbol, std::uintptr_t* slot)` for each slot of the object that is relocated by a symbol of
// which `wanted(const char*)` is true. Objects without such a reference cost a look at their undefined symbols, which
// lie before the hashed ones. No libc call; the object must stay mapped meanwhile (for_each_object sees to that).
template <class Wanted, class Visit>
void for_each_import(const ElfObject& object, Wanted&& wanted, Visit&& visit) noexcept {
    if (object.dynamic == nullptr || object.symbols == nullptr || object.strings == nullptr ||
        object.gnu_hash == nullptr) {
        return;
    }
    bool refers = false;
    for (std::uint32_t i = 1; i < object.gnu_hash[1] && !refers; ++i) {
        refers = wanted(object.strings + object.symbols[i].st_name);
    }
    if (!refers) {
        return;
    }
    struct Part {
        const ElfW(Rela) * entries = nullptr;
        std::size_t count = 0;
        std::size_t first = 0;  // before it: relocations without a symbol, hundreds of thousands in a large library
    };
    Part parts[2];
    for (const ElfW(Dyn)* entry = object.dynamic; entry->d_tag != DT_NULL; ++entry) {
        switch (entry->d_tag) {
            case DT_RELA:
                parts[0].entries = reinterpret_cast<const ElfW(Rela)*>(entry->d_un.d_ptr);
                break;
            case DT_RELASZ:
                parts[0].count = entry->d_un.d_val / sizeof(ElfW(Rela));
                break;
            case DT_RELACOUNT:
                parts[0].first = entry->d_un.d_val;
                break;
            case DT_JMPREL:
                parts[1].entries = reinterpret_cast<const ElfW(Rela)*>(entry->d_un.d_ptr);
                break;
            case DT_PLTRELSZ:
                parts[1].count = entry->d_un.d_val / sizeof(ElfW(Rela));
                break;
            default:
                break;
        }
    }
    for (const Part& part : parts) {
        for (std::size_t i = part.first; part.entries != nullptr && i < part.count; ++i) {
            const ElfW(Rela)& relocation = part.entries[i];
            const auto type = ELF64_R_TYPE(relocation.r_info);
            if (type != R_X86_64_GLOB_DAT && type != R_X86_64_JUMP_SLOT && type != R_X86_64_64) {
                continue;
            }
            const char* symbol = object.strings + object.symbols[ELF64_R_SYM(relocation.r_info)].st_name;
            if (wanted(symbol)) {
                visit(symbol, reinterpret_cast<std::uintptr_t*>(object.base + relocation.r_offset));
            }
        }
    }
}

}  // namespace pincheck
