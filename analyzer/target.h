// What kind of program `pincheck run` is about to start, from its file alone: whether the loader can preload a library
// into it at all, and what must come before the library.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pincheck {

enum class TargetKind {
    not_found,     // the search of PATH found nothing, or the file cannot be read
    other,         // neither ELF nor a script with an interpreter
    dynamic,       // a dynamic program for this machine and glibc: the library goes in
    fully_static,  // static or static-PIE: there is no loader that could preload
    foreign,       // 32-bit, or for another machine
    musl,          // another libc's loader: it cannot load a library made for glibc
};

struct Target {
    TargetKind kind = TargetKind::not_found;
    std::string path;         // of the ELF file; for a script its interpreter's
    std::string script;       // the script, when it is one
    std::string interpreter;  // PT_INTERP; of a script without one, what it names
    std::vector<std::string> needed;
    bool is_64_bit = false;
    bool privileged = false;  // set-id for this user, or has file capabilities: the loader ignores LD_PRELOAD

    // The address sanitizer's shared runtime that the program needs: it insists on coming first in LD_PRELOAD. "" when
    // there is none.
    std::string address_sanitizer() const;
    bool can_be_preloaded() const { return kind == TargetKind::dynamic && !privileged; }
};

// The file that a shell would start for this word: with a slash itself, else the first executable one in PATH. "" when
// there is none.
std::string find_program(const std::string& word);

// Follows `#!` lines and `env [NAME=VALUE…] program`.
Target inspect_target(const std::vector<std::string>& command);

// One ELF file; kind `other` when it is none.
Target inspect_elf(const std::string& path);

}  // namespace pincheck
