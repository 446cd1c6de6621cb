#include "elf_objects.h"

#include <unistd.h>

#include <atomic>

extern "C" const char __ehdr_start[] __attribute__((visibility("hidden")));

namespace pincheck {
namespace {

bool g_started = false;

// glibc's struct dl_find_object, with room for what is reserved in it.
struct FoundObject {
    std::uint64_t flags;
    void* begin;
    void* end;
    link_map* map;
    void* eh_frame;
    std::uint64_t reserved[8];
};
using FindObject = int (*)(void*, FoundObject*);
std::atomic<pid_t> g_process{0};
std::atomic<FindObject> g_find_object{nullptr};

// How to look without a lock; null when the lock may be taken.
FindObject lock_free_finder() noexcept {
    const pid_t process = g_process.load(std::memory_order_relaxed);
    return process == 0 || process == getpid() ? nullptr : g_find_object.load(std::memory_order_relaxed);
}

std::uint32_t gnu_hash_of(const char* name) noexcept {
    std::uint32_t hash = 5381;
    for (; *name != '\0'; ++name) {
        hash = hash * 33 + static_cast<unsigned char>(*name);
    }
    return hash;
}

std::uint32_t sysv_hash_of(const char* name) noexcept {
    std::uint32_t hash = 0;
    for (; *name != '\0'; ++name) {
        hash = (hash << 4) + static_cast<unsigned char>(*name);
        const std::uint32_t high = hash & 0xf0000000u;
        hash ^= high >> 24;
        hash &= ~high;
    }
    return hash;
}

bool is_definition(const ElfW(Sym) & symbol) noexcept {
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    return symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0 &&
           (type == STT_FUNC || type == STT_OBJECT || type == STT_NOTYPE || type == STT_GNU_IFUNC);
}

void* address_of(const ElfObject& object, const ElfW(Sym) & symbol) noexcept {
    void* address = reinterpret_cast<void*>(object.base + symbol.st_value);
    if (ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC) {
        return reinterpret_cast<void* (*)()>(address)();
    }
    return address;
}

void* find_by_gnu_hash(const ElfObject& object, const char* name) noexcept {
    const std::uint32_t* table = object.gnu_hash;
    const std::uint32_t buckets = table[0];
    const std::uint32_t first = table[1];
    const std::uint32_t bloom_words = table[2];
    const std::uint32_t bloom_shift = table[3];
    if (buckets == 0 || bloom_words == 0) {
        return nullptr;
    }
    const auto* bloom = reinterpret_cast<const std::uint64_t*>(table + 4);
    const auto* bucket = reinterpret_cast<const std::uint32_t*>(bloom + bloom_words);
    const std::uint32_t* chain = bucket + buckets;
    const std::uint32_t hash = gnu_hash_of(name);
    const std::uint64_t word = bloom[(hash / 64) % bloom_words];
    const std::uint64_t mask = (std::uint64_t{1} << (hash % 64)) | (std::uint64_t{1} << ((hash >> bloom_shift) % 64));
    if ((word & mask) != mask) {
        return nullptr;
    }
    std::uint32_t index = bucket[hash % buckets];
    if (index < first) {
        return nullptr;
    }
    for (;; ++index) {
        const std::uint32_t entry = chain[index - first];
        const ElfW(Sym)& symbol = object.symbols[index];
        if ((entry | 1) == (hash | 1) && same_text(object.strings + symbol.st_name, name) && is_definition(symbol)) {
            return address_of(object, symbol);
        }
        if ((entry & 1) != 0) {
            return nullptr;
        }
    }
}

void* find_by_sysv_hash(const ElfObject& object, const char* name) noexcept {
    const std::uint32_t buckets = object.sysv_hash[0];
    if (buckets == 0) {
        return nullptr;
    }
    const std::uint32_t* bucket = object.sysv_hash + 2;
    const std::uint32_t* chain = bucket + buckets;
    for (std::uint32_t i = bucket[sysv_hash_of(name) % buckets]; i != STN_UNDEF; i = chain[i]) {
        const ElfW(Sym)& symbol = object.symbols[i];
        if (same_text(object.strings + symbol.st_name, name) && is_definition(symbol)) {
            return address_of(object, symbol);
        }
    }
    return nullptr;
}

struct Walk {
    Visitor visit;
    void* context;
};

int on_object(dl_phdr_info* entry, std::size_t, void* data) {
    const auto* walk = static_cast<const Walk*>(data);
    const ElfW(Dyn)* dynamic = nullptr;
    std::uintptr_t begin = UINTPTR_MAX;
    std::uintptr_t end = 0;
    for (unsigned i = 0; i < entry->dlpi_phnum; ++i) {
        const ElfW(Phdr)& header = entry->dlpi_phdr[i];
        if (header.p_type == PT_DYNAMIC) {
            dynamic = reinterpret_cast<const ElfW(Dyn)*>(entry->dlpi_addr + header.p_vaddr);
        } else if (header.p_type == PT_LOAD) {
            const std::uintptr_t low = entry->dlpi_addr + header.p_vaddr;
            begin = low < begin ? low : begin;
            end = low + header.p_memsz > end ? low + header.p_memsz : end;
        }
    }
    ElfObject object = read_object(entry->dlpi_addr, entry->dlpi_name, dynamic);
    object.begin = begin == UINTPTR_MAX ? 0 : begin;
    object.end = end;
    object.headers = entry->dlpi_phdr;
    object.header_count = entry->dlpi_phnum;
    return walk->visit(object, walk->context) ? 1 : 0;
}

void add_headers(ElfObject& object, const FoundObject& found) noexcept {
    object.begin = reinterpret_cast<std::uintptr_t>(found.begin);
    object.end = reinterpret_cast<std::uintptr_t>(found.end);
    const auto* header = static_cast<const ElfW(Ehdr)*>(found.begin);
    if (header->e_ident[EI_MAG0] == ELFMAG0 && header->e_ident[EI_MAG1] == ELFMAG1 &&
        header->e_ident[EI_MAG2] == ELFMAG2 && header->e_ident[EI_MAG3] == ELFMAG3) {
        object.headers = reinterpret_cast<const ElfW(Phdr)*>(object.begin + header->e_phoff);
        object.header_count = header->e_phnum;
    }
}

// The loader's own list, with nobody else to change it.
void walk_list(FindObject find, Visitor visit, void* context) noexcept {
    for (const link_map* map = _r_debug.r_map; map != nullptr; map = map->l_next) {
        ElfObject object = read_object(map->l_addr, map->l_name, map->l_ld);
        FoundObject found{};
        if (find != nullptr && map->l_ld != nullptr && find(map->l_ld, &found) == 0) {
            add_headers(object, found);
        }
        if (visit(object, context)) {
            return;
        }
    }
}

// In place of the loader's counts, which only dl_iterate_phdr tells.
std::uint64_t fingerprint_of_list() noexcept {
    std::uint64_t sum = 1;
    for (const link_map* map = _r_debug.r_map; map != nullptr; map = map->l_next) {
        sum = sum * 0x100000001b3ull + reinterpret_cast<std::uintptr_t>(map->l_ld);
    }
    return sum;
}

}  // namespace

bool same_text(const char* a, const char* b) noexcept {
    while (*a != '\0' && *a == *b) {
        ++a;
        ++b;
    }
    return *a == *b;
}

bool starts_with(const char* text, const char* prefix) noexcept {
    while (*prefix != '\0') {
        if (*text++ != *prefix++) {
            return false;
        }
    }
    return true;
}

const char* base_name(const char* path) noexcept {
    const char* name = path;
    for (const char* p = path; *p != '\0'; ++p) {
        if (*p == '/') {
            name = p + 1;
        }
    }
    return name;
}

void* ElfObject::find(const char* symbol) const noexcept {
    if (symbols == nullptr || strings == nullptr) {
        return nullptr;
    }
    if (gnu_hash != nullptr) {
        return find_by_gnu_hash(*this, symbol);
    }
    return sysv_hash != nullptr ? find_by_sysv_hash(*this, symbol) : nullptr;
}

ElfObject read_object(std::uintptr_t base, const char* path, const ElfW(Dyn) * dynamic) noexcept {
    ElfObject object;
    object.base = base;
    object.path = path != nullptr ? path : "";
    object.dynamic = dynamic;
    if (dynamic == nullptr) {
        return object;
    }
    // glibc relocates these pointers in place, except in the vDSO, whose dynamic section is read-only.
    const auto absolute = [base](std::uintptr_t value) { return value < base ? value + base : value; };
    std::uintptr_t soname = 0;
    bool has_soname = false;
    for (const ElfW(Dyn)* entry = dynamic; entry->d_tag != DT_NULL; ++entry) {
        switch (entry->d_tag) {
            case DT_SYMTAB:
                object.symbols = reinterpret_cast<const ElfW(Sym)*>(absolute(entry->d_un.d_ptr));
                break;
            case DT_STRTAB:
                object.strings = reinterpret_cast<const char*>(absolute(entry->d_un.d_ptr));
                break;
            case DT_GNU_HASH:
                object.gnu_hash = reinterpret_cast<const std::uint32_t*>(absolute(entry->d_un.d_ptr));
                break;
            case DT_HASH:
                object.sysv_hash = reinterpret_cast<const std::uint32_t*>(absolute(entry->d_un.d_ptr));
                break;
            case DT_SONAME:
                soname = entry->d_un.d_val;
                has_soname = true;
                break;
            default:
                break;
        }
    }
    if (has_soname && object.strings != nullptr) {
        object.soname = object.strings + soname;
    }
    return object;
}

void visit_objects(Visitor visit, void* context) noexcept {
    FindObject find = nullptr;
    if (g_started && (find = lock_free_finder()) == nullptr) {
        Walk walk{visit, context};
        dl_iterate_phdr(&on_object, &walk);
        return;
    }
    walk_list(find, visit, context);
}

void objects_belong_to(pid_t process, void* find_object) noexcept {
    g_find_object.store(reinterpret_cast<FindObject>(find_object), std::memory_order_relaxed);
    g_process.store(process, std::memory_order_relaxed);
}

void process_started() noexcept {
    g_started = true;
}
bool has_process_started() noexcept {
    return g_started;
}

std::uint64_t objects_unmapped() noexcept {
    if (lock_free_finder() != nullptr) {
        return fingerprint_of_list();
    }
    std::uint64_t count = 0;
    dl_iterate_phdr(
        [](dl_phdr_info* entry, std::size_t size, void* data) {
            if (size >= offsetof(dl_phdr_info, dlpi_subs) + sizeof(entry->dlpi_subs)) {
                *static_cast<std::uint64_t*>(data) = entry->dlpi_subs;
            }
            return 1;
        },
        &count);
    return count;
}

std::uint64_t object_changes() noexcept {
    if (lock_free_finder() != nullptr) {
        return fingerprint_of_list();
    }
    std::uint64_t changes = 0;
    dl_iterate_phdr(
        [](dl_phdr_info* entry, std::size_t, void* data) {
            *static_cast<std::uint64_t*>(data) = (entry->dlpi_adds << 32) + entry->dlpi_subs;
            return 1;
        },
        &changes);
    return changes;
}

const ElfObject& own_object() noexcept {
    static constinit ElfObject object;
    if (object.symbols == nullptr) {
        object = read_object(reinterpret_cast<std::uintptr_t>(__ehdr_start), "", _DYNAMIC);
    }
    return object;
}

}  // namespace pincheck
