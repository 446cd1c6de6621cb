// The objects mapped into this process and the symbols they define.
//
// Needed at moments when libc's own look-up functions must not be called: inside a symbol resolver (a lock of the
// loader may be held), and before a sanitizer's runtime is initialised (it intercepts them, and strcmp too, and was
// measured to crash). So: no allocation, no libc call but dl_iterate_phdr, and that one only after the process has
// started.
#pragma once

#include <elf.h>
#include <link.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace pincheck {

// Own comparisons: sanitizers intercept libc's.
bool same_text(const char* a, const char* b) noexcept;
bool starts_with(const char* text, const char* prefix) noexcept;
const char* base_name(const char* path) noexcept;

struct ElfObject {
    std::uintptr_t base = 0;   // load bias
    std::uintptr_t begin = 0;  // lowest and one past the highest mapped address; 0 while the process starts
    std::uintptr_t end = 0;
    const char* path = "";  // "" for the program itself; owned by the loader
    const char* soname = nullptr;
    const ElfW(Dyn) * dynamic = nullptr;
    const ElfW(Sym) * symbols = nullptr;
    const char* strings = nullptr;
    const std::uint32_t* gnu_hash = nullptr;
    const std::uint32_t* sysv_hash = nullptr;
    const ElfW(Phdr) * headers = nullptr;
    std::size_t header_count = 0;

    bool contains(std::uintptr_t address) const noexcept { return address >= begin && address < end; }
    // Soname, or the file's base name where it has none.
    const char* name() const noexcept { return soname != nullptr ? soname : base_name(path); }
    // Python wheels that carry a library of others' rename it: libcudart-d0da41ae.so.11.0 (auditwheel).
    bool is_runtime() const noexcept {
        return starts_with(name(), "libcudart.so") || starts_with(name(), "libcudart-");
    }
    bool is_driver() const noexcept { return starts_with(name(), "libcuda.so"); }
    bool is_cupti() const noexcept { return starts_with(name(), "libcupti.so") || starts_with(name(), "libcupti-"); }
    // Address of a defined function or object, or null. The first definition of that name, whatever its version.
    void* find(const char* symbol) const noexcept;
};

// Fills in what the dynamic section says.
ElfObject read_object(std::uintptr_t base, const char* path, const ElfW(Dyn) * dynamic) noexcept;

// Calls `visit(const ElfObject&)` for each object in load order until it returns true. Before process_started() the
// loader's list is walked directly (it holds its lock then, in the only thread), afterwards by dl_iterate_phdr. In a
// child of the process named by objects_belong_to() directly again: another of the parent's threads may have held
// dl_iterate_phdr's lock when the child came to be, and nobody would release it there (measured, glibc 2.36: the child
// hangs; fork() resets other locks of the loader's, not this one).
using Visitor = bool (*)(const ElfObject& object, void* context);
void visit_objects(Visitor visit, void* context) noexcept;

template <class F>
void for_each_object(F&& f) noexcept {
    visit_objects([](const ElfObject& object, void* context) { return (*static_cast<F*>(context))(object); }, &f);
}

// This process uses CUDA; its children, which cannot, are recognised by it. `find_object` is glibc's _dl_find_object,
// which takes no lock; null where there is none (before 2.35): then children go by dl_iterate_phdr too.
void objects_belong_to(pid_t process, void* find_object) noexcept;

// Called by the library's constructor.
void process_started() noexcept;
bool has_process_started() noexcept;

// Changes whenever an object was unmapped; 0 when unknown.
std::uint64_t objects_unmapped() noexcept;
// Changes whenever an object was mapped or unmapped.
std::uint64_t object_changes() noexcept;

// This library's own object.
const ElfObject& own_object() noexcept;

}  // namespace pincheck
