#include "modules.h"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "elf_objects.h"
#include "hash_table.h"
#include "memory.h"

namespace pincheck {
namespace {

struct BuildId {
    const std::uint8_t* bytes = nullptr;
    std::size_t size = 0;
};

BuildId build_id_of(const ElfObject& object) noexcept {
    for (std::size_t i = 0; i < object.header_count; ++i) {
        const ElfW(Phdr)& header = object.headers[i];
        if (header.p_type != PT_NOTE || header.p_memsz < sizeof(ElfW(Nhdr))) {
            continue;
        }
        const auto* note = reinterpret_cast<const std::uint8_t*>(object.base + header.p_vaddr);
        const std::uint8_t* end = note + header.p_memsz;
        const std::size_t align = header.p_align == 8 ? 8 : 4;
        const auto padded = [align](std::size_t size) { return (size + align - 1) & ~(align - 1); };
        while (note + sizeof(ElfW(Nhdr)) <= end) {
            const auto* entry = reinterpret_cast<const ElfW(Nhdr)*>(note);
            const std::uint8_t* name = note + sizeof(ElfW(Nhdr));
            const std::uint8_t* description = name + padded(entry->n_namesz);
            if (description + entry->n_descsz > end) {
                break;
            }
            if (entry->n_type == NT_GNU_BUILD_ID && entry->n_namesz == 4 && name[0] == 'G' && name[1] == 'N' &&
                name[2] == 'U') {
                return {description, entry->n_descsz};
            }
            note = description + padded(entry->n_descsz);
        }
    }
    return {};
}

std::uint64_t identity_of(const ElfObject& object) noexcept {
    Hasher hasher;
    for (const char* p = object.path; *p != '\0'; ++p) {
        hasher.add(static_cast<unsigned char>(*p));
    }
    const BuildId id = build_id_of(object);
    for (std::size_t i = 0; i < id.size; ++i) {
        hasher.add(id.bytes[i]);
    }
    hasher.add(object.begin);
    hasher.add(object.end);
    return hasher.result().low;
}

}  // namespace

ModuleTable::~ModuleTable() {
    unmap_memory(modules_, kCapacity * sizeof(Module));
}

void ModuleTable::refresh() noexcept {
    if (modules_ == nullptr) {
        modules_ = map_array<Module>(kCapacity);
        if (modules_ == nullptr) {
            return;
        }
    }
    auto* fresh = map_array<Module>(kCapacity);
    if (fresh == nullptr) {
        return;
    }
    std::size_t count = 0;
    for_each_object([&](const ElfObject& object) {
        if (object.end > object.begin) {
            fresh[count++] = {object.begin, object.end, object.base, identity_of(object), 0};
        }
        return count == kCapacity;
    });
    std::sort(fresh, fresh + count, [](const Module& a, const Module& b) { return a.begin < b.begin; });
    for (std::size_t i = 0; i < count; ++i) {
        const Module* old = find(fresh[i].begin);
        if (old != nullptr && old->identity == fresh[i].identity) {
            fresh[i].id = old->id;
        }
    }
    unmap_memory(modules_, kCapacity * sizeof(Module));
    modules_ = fresh;
    count_ = count;
}

ModuleTable::Module* ModuleTable::find(std::uintptr_t address) noexcept {
    Module* after = std::upper_bound(modules_, modules_ + count_, address,
                                     [](std::uintptr_t value, const Module& module) { return value < module.begin; });
    if (after == modules_) {
        return nullptr;
    }
    Module* module = after - 1;
    return address < module->end ? module : nullptr;
}

void ModuleTable::describe(Module& module) noexcept {
    for_each_object([&](const ElfObject& object) {
        if (object.begin != module.begin) {
            return false;
        }
        char executable[PATH_MAX];
        const char* path = object.path;
        if (path[0] == '\0') {
            const ssize_t length = readlink("/proc/self/exe", executable, sizeof(executable) - 1);
            executable[length > 0 ? length : 0] = '\0';
            path = executable;
        }
        const BuildId build_id = build_id_of(object);
        module.id = image_.add_module(image_.add_string({path, std::strlen(path)}), object.base, object.begin,
                                      object.end, {build_id.bytes, build_id.size});
        return true;
    });
}

void ModuleTable::resolve(const std::uintptr_t* addresses, std::size_t count, report::Frame* frames) noexcept {
    const std::uint64_t changes = object_changes();
    const std::lock_guard lock(mutex_);
    if (changes != seen_ || modules_ == nullptr) {
        refresh();
        seen_ = changes;
    }
    for (std::size_t i = 0; i < count; ++i) {
        frames[i] = {0, 0, addresses[i]};
        // A return address may be one past the end of its function; the call lies before it.
        Module* module = modules_ != nullptr ? find(addresses[i] - 1) : nullptr;
        if (module == nullptr) {
            continue;
        }
        if (module->id == 0) {
            describe(*module);
        }
        if (module->id != 0) {
            frames[i] = {module->id, 0, addresses[i] - module->base};
        }
    }
}

}  // namespace pincheck
