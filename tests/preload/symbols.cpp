#include "symbols.h"

#include <cxxabi.h>
#include <elf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>

namespace pincheck::test {
namespace {

std::string demangled(const char* name) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                           &std::free);
    return status == 0 && text ? std::string(text.get()) : std::string(name);
}

template <class T>
T at(const std::string& bytes, std::uint64_t offset) {
    T value{};
    if (offset <= bytes.size() && bytes.size() - offset >= sizeof value) {
        std::memcpy(&value, bytes.data() + offset, sizeof value);
    }
    return value;
}

}  // namespace

std::string bare_function_name(const std::string& text) {
    // Up to the parameter list: the first "(" outside of <...> that is not "(anonymous".
    int depth = 0;
    std::size_t end = text.size();
    std::size_t begin = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '<') {
            ++depth;
        } else if (c == '>') {
            --depth;
        } else if (c == ' ' && depth == 0) {
            begin = i + 1;  // behind the return type
        } else if (c == '(' && depth == 0) {
            if (text.compare(i, 22, "(anonymous namespace)::") == 0 ||
                text.compare(i, 23, "(anonymous namespace)::") == 0) {
                i += 22;
                begin = i + 1;
                continue;
            }
            end = i;
            break;
        }
    }
    std::string bare = text.substr(begin, end - begin);
    std::erase(bare, ' ');
    return bare;
}

Symbols::Symbols(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const auto header = at<Elf64_Ehdr>(bytes, 0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
        return;
    }
    for (int i = 0; i < header.e_shnum; ++i) {
        const auto section = at<Elf64_Shdr>(bytes, header.e_shoff + static_cast<std::uint64_t>(i) * sizeof(Elf64_Shdr));
        if (section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM) {
            continue;
        }
        const auto names = at<Elf64_Shdr>(bytes, header.e_shoff + section.sh_link * sizeof(Elf64_Shdr));
        for (std::uint64_t offset = 0; offset + sizeof(Elf64_Sym) <= section.sh_size; offset += sizeof(Elf64_Sym)) {
            const auto symbol = at<Elf64_Sym>(bytes, section.sh_offset + offset);
            if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF &&
                names.sh_offset + symbol.st_name < bytes.size()) {
                functions_.push_back({symbol.st_value, symbol.st_value + symbol.st_size,
                                      demangled(bytes.data() + names.sh_offset + symbol.st_name)});
            }
        }
    }
    std::stable_sort(functions_.begin(), functions_.end(),
                     [](const Function& a, const Function& b) { return a.begin < b.begin; });
}

const Symbols& Symbols::of(const std::string& path) {
    static std::map<std::string, std::unique_ptr<Symbols>> known;
    std::unique_ptr<Symbols>& entry = known[path];
    if (!entry) {
        entry.reset(new Symbols(path));
    }
    return *entry;
}

std::string Symbols::function_before(std::uint64_t return_address) const {
    const std::uint64_t address = return_address - 1;
    auto next = std::upper_bound(functions_.begin(), functions_.end(), address,
                                 [](std::uint64_t value, const Function& function) { return value < function.begin; });
    while (next != functions_.begin()) {
        --next;
        if (address < next->end) {
            return bare_function_name(next->name);
        }
        if (next->end > next->begin) {
            break;
        }
    }
    return "";
}

}  // namespace pincheck::test
