#include "target.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace pincheck {
namespace {

// Bounds of what a sane program has; a file beyond them is looked at no further.
constexpr std::size_t kMaxSegments = 256;
constexpr std::size_t kMaxDynamic = 4096;
constexpr std::size_t kMaxName = 4096;

class File {
  public:
    explicit File(const std::string& path) : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
    ~File() {
        if (descriptor_ >= 0) {
            close(descriptor_);
        }
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    // Never waits for a writer: a FIFO named as a program is "other".
    bool is_regular() const {
        struct stat status {};
        return descriptor_ >= 0 && fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode);
    }
    bool privileged() const {
        struct stat status {};
        if (fstat(descriptor_, &status) != 0) {
            return false;
        }
        return ((status.st_mode & S_ISUID) != 0 && status.st_uid != geteuid()) ||
               ((status.st_mode & S_ISGID) != 0 && (status.st_mode & S_IXGRP) != 0 && status.st_gid != getegid()) ||
               (geteuid() != 0 && fgetxattr(descriptor_, "security.capability", nullptr, 0) > 0);
    }
    bool read(std::uint64_t offset, void* into, std::size_t size) const {
        return offset < (1ull << 62) &&
               pread(descriptor_, into, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
    }
    std::string text(std::uint64_t offset, std::size_t most) const {
        std::string bytes(most, '\0');
        const ssize_t length =
            offset < (1ull << 62) ? pread(descriptor_, bytes.data(), most, static_cast<off_t>(offset)) : 0;
        bytes.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
        return bytes.substr(0, bytes.find('\0'));
    }

  private:
    int descriptor_;
};

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
#else
#error "unknown machine"
#endif

std::string_view base_name(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

struct Segments {
    std::vector<Elf64_Phdr> all;
    // File offset of an address; all ones when no segment holds it.
    std::uint64_t offset_of(std::uint64_t address) const {
        for (const Elf64_Phdr& segment : all) {
            if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
                address - segment.p_vaddr < segment.p_filesz) {
                return segment.p_offset + (address - segment.p_vaddr);
            }
        }
        return ~0ull;
    }
};

void read_needed(const File& file, const Segments& segments, const Elf64_Phdr& dynamic, Target& target) {
    std::uint64_t strings = 0;
    std::vector<std::uint64_t> names;
    for (std::size_t i = 0; i < kMaxDynamic && (i + 1) * sizeof(Elf64_Dyn) <= dynamic.p_filesz; ++i) {
        Elf64_Dyn entry{};
        if (!file.read(dynamic.p_offset + i * sizeof entry, &entry, sizeof entry) || entry.d_tag == DT_NULL) {
            break;
        }
        if (entry.d_tag == DT_NEEDED) {
            names.push_back(entry.d_un.d_val);
        } else if (entry.d_tag == DT_STRTAB) {
            strings = entry.d_un.d_ptr;
        }
    }
    const std::uint64_t table = segments.offset_of(strings);
    for (const std::uint64_t name : names) {
        if (table != ~0ull && name < (1ull << 32)) {
            target.needed.push_back(file.text(table + name, kMaxName));
        }
    }
}

// The interpreter of a `#!` line and its argument, as the kernel splits them. Empty when the file has none.
std::vector<std::string> script_interpreter(const File& file) {
    std::string line = file.text(0, 256);
    line = line.substr(0, line.find('\n'));
    if (line.rfind("#!", 0) != 0) {
        return {};
    }
    const auto trimmed = [](const std::string& text) {
        const std::size_t first = text.find_first_not_of(" \t");
        return first == std::string::npos ? std::string()
                                          : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
    };
    line = trimmed(line.substr(2));
    const std::size_t gap = line.find_first_of(" \t");
    std::vector<std::string> words = {line.substr(0, gap)};
    if (gap != std::string::npos) {
        words.push_back(trimmed(line.substr(gap)));
    }
    return words.front().empty() ? std::vector<std::string>{} : words;
}

// What `env` would start: the first word that is neither an assignment nor an option. Options with a value of their own
// are not told apart: then the answer is env itself, which is dynamic as well.
std::vector<std::string> behind_env(const std::vector<std::string>& command) {
    for (std::size_t i = 1; i < command.size(); ++i) {
        if (command[i].rfind('-', 0) == 0) {
            return {};
        }
        if (command[i].find('=') == std::string::npos) {
            return {command.begin() + static_cast<std::ptrdiff_t>(i), command.end()};
        }
    }
    return {};
}

Target inspect(const std::vector<std::string>& command, int depth) {
    if (command.empty()) {
        return {};
    }
    const std::string path = find_program(command.front());
    if (path.empty()) {
        return {};
    }
    if (depth > 0 && base_name(path) == "env") {
        const std::vector<std::string> inner = behind_env(command);
        if (!inner.empty()) {
            const Target target = inspect(inner, depth - 1);
            if (target.kind != TargetKind::not_found) {
                return target;
            }
        }
    }
    if (depth > 0) {
        const File file(path);
        const std::vector<std::string> interpreter =
            file.is_regular() ? script_interpreter(file) : std::vector<std::string>{};
        if (!interpreter.empty()) {
            Target target = inspect(interpreter, depth - 1);
            target.script = path;
            if (target.kind == TargetKind::not_found) {
                target.interpreter = interpreter.front();
            }
            return target;
        }
    }
    return inspect_elf(path);
}

}  // namespace

std::string Target::address_sanitizer() const {
    for (const std::string& name : needed) {
        if (name.rfind("libasan.so", 0) == 0 || name.rfind("libclang_rt.asan", 0) == 0) {
            return name;
        }
    }
    return "";
}

std::string find_program(const std::string& word) {
    if (word.find('/') != std::string::npos) {
        return access(word.c_str(), F_OK) == 0 ? word : "";
    }
    const char* variable = std::getenv("PATH");
    // What execvp() searches without one.
    const std::string folders = variable != nullptr ? variable : "/bin:/usr/bin";
    for (std::size_t begin = 0; !word.empty() && begin <= folders.size();) {
        const std::size_t end = std::min(folders.find(':', begin), folders.size());
        const std::string folder = folders.substr(begin, end - begin);
        const std::string path = (folder.empty() ? std::string(".") : folder) + "/" + word;
        struct stat status {};
        if (stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0) {
            return path;
        }
        begin = end + 1;
    }
    return "";
}

Target inspect_elf(const std::string& path) {
    Target target;
    target.path = path;
    const File file(path);
    if (!file.is_regular()) {
        return target;
    }
    target.privileged = file.privileged();
    target.kind = TargetKind::other;
    Elf64_Ehdr header{};
    if (!file.read(0, &header, EI_NIDENT) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
        return target;
    }
    target.is_64_bit = header.e_ident[EI_CLASS] == ELFCLASS64;
    target.kind = TargetKind::foreign;
    if (!target.is_64_bit || !file.read(0, &header, sizeof header) || header.e_machine != kMachine ||
        header.e_phentsize != sizeof(Elf64_Phdr)) {
        return target;
    }
    Segments segments;
    for (std::size_t i = 0; i < header.e_phnum && i < kMaxSegments; ++i) {
        Elf64_Phdr segment{};
        if (!file.read(header.e_phoff + i * sizeof segment, &segment, sizeof segment)) {
            break;
        }
        segments.all.push_back(segment);
    }
    for (const Elf64_Phdr& segment : segments.all) {
        if (segment.p_type == PT_INTERP) {
            target.interpreter = file.text(segment.p_offset, std::min<std::uint64_t>(segment.p_filesz, kMaxName));
        } else if (segment.p_type == PT_DYNAMIC) {
            read_needed(file, segments, segment, target);
        }
    }
    // A static-PIE has a dynamic segment, but nobody to read it but itself. (The loader started as a program has
    // neither interpreter nor needs; it does preload into what it loads.)
    if (target.interpreter.empty()) {
        const bool is_loader = base_name(path).rfind("ld-linux", 0) == 0;
        target.kind = is_loader ? TargetKind::dynamic : TargetKind::fully_static;
    } else {
        target.kind = base_name(target.interpreter).rfind("ld-musl", 0) == 0 ? TargetKind::musl : TargetKind::dynamic;
    }
    return target;
}

Target inspect_target(const std::vector<std::string>& command) {
    // As many interpreters of interpreters as the kernel follows, and env between them.
    return inspect(command, 8);
}

}  // namespace pincheck
