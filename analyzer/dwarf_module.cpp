#include "dwarf_module.h"

#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>

namespace pincheck {
namespace {

struct EndDwfl {
    void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
};
struct Free {
    void operator()(void* memory) const { std::free(memory); }
};

// libdwfl asks the debuginfod servers of the environment by itself whenever it misses a file. Pincheck sends nothing
// anywhere unless it was told to. (The program has one thread.)
class Servers {
  public:
    explicit Servers(bool may_ask) {
        const char* urls = std::getenv(kVariable);
        if (!may_ask && urls != nullptr) {
            kept_ = urls;
            unsetenv(kVariable);
        }
    }
    ~Servers() {
        if (kept_) {
            setenv(kVariable, kept_->c_str(), 1);
        }
    }
    Servers(const Servers&) = delete;
    Servers& operator=(const Servers&) = delete;

  private:
    static constexpr const char* kVariable = "DEBUGINFOD_URLS";
    std::optional<std::string> kept_;
};

std::string hexadecimal(const unsigned char* bytes, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) {
        text += fmt::format("{:02x}", bytes[i]);
    }
    return text;
}

const char* linkage_name(Dwarf_Die* die) {
    Dwarf_Attribute attribute;
    for (const unsigned name : {unsigned{DW_AT_linkage_name}, unsigned{DW_AT_MIPS_linkage_name}}) {
        if (dwarf_attr_integrate(die, name, &attribute) != nullptr) {
            return dwarf_formstring(&attribute);
        }
    }
    return nullptr;
}

std::string function_name(Dwarf_Die* die) {
    if (const char* linkage = linkage_name(die)) {
        return demangled(linkage);
    }
    Dwarf_Attribute attribute;
    const char* name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attribute));
    return name == nullptr ? "" : name;
}

std::uint64_t number(Dwarf_Die* die, unsigned name) {
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    return dwarf_formudata(dwarf_attr(die, name, &attribute), &value) == 0 ? value : 0;
}

}  // namespace

struct DwarfModule::Impl {
    // libdwfl keeps pointers to both for as long as it lives.
    std::string debug_path;
    char* debug_path_pointer = nullptr;
    Dwfl_Callbacks callbacks{};
    Servers servers;
    std::unique_ptr<Dwfl, EndDwfl> dwfl;
    Dwfl_Module* module = nullptr;
    Dwarf_Addr bias = 0;  // dwfl's addresses are the file's plus this

    struct Range {
        Dwarf_Addr low, high;
        Dwarf_Off die;
    };
    std::optional<std::vector<Range>> units;            // made when .debug_aranges does not lead to one
    std::map<Dwarf_Off, std::vector<Range>> functions;  // of units, by the unit's DIE

    explicit Impl(bool may_ask) : servers(may_ask) {}

    // Compilers other than GCC write no .debug_aranges, so the units' own ranges are the fallback.
    bool unit_at(Dwarf_Addr address, Dwarf_Die* unit, Dwarf_Addr* unit_bias) {
        if (Dwarf_Die* found = dwfl_module_addrdie(module, address, unit_bias)) {
            *unit = *found;
            return true;
        }
        Dwarf* dwarf = dwfl_module_getdwarf(module, unit_bias);
        if (dwarf == nullptr) {
            return false;
        }
        if (!units) {
            list_units(dwarf);
        }
        const Dwarf_Addr wanted = address - *unit_bias;
        const auto holds = [&](const Range& range) { return range.low <= wanted && wanted < range.high; };
        const auto range = std::ranges::find_if(*units, holds);
        return range != units->end() && dwarf_offdie(dwarf, range->die, unit) != nullptr;
    }

    void list_units(Dwarf* dwarf) {
        units.emplace();
        Dwarf_Off next = 0;
        std::size_t header = 0;
        for (Dwarf_Off offset = 0; dwarf_nextcu(dwarf, offset, &next, &header, nullptr, nullptr, nullptr) == 0;
             offset = next) {
            Dwarf_Die die;
            if (dwarf_offdie(dwarf, offset + header, &die) != nullptr) {
                add_ranges(&die, *units);
            }
        }
    }

    static void add_ranges(Dwarf_Die* die, std::vector<Range>& out) {
        Dwarf_Addr base = 0;
        Dwarf_Addr low = 0;
        Dwarf_Addr high = 0;
        for (std::ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &low, &high)) > 0;) {
            out.push_back({low, high, dwarf_dieoffset(die)});
        }
    }

    // Not dwfl_module_getsrc(): that needs .debug_aranges too.
    static SourceLine position(Dwarf_Die* unit, Dwarf_Addr address) {
        SourceLine result;
        result.exact = true;
        Dwarf_Line* line = dwarf_getsrc_die(unit, address);
        const char* file = line == nullptr ? nullptr : dwarf_linesrc(line, nullptr, nullptr);
        int number = 0;
        if (file != nullptr) {
            result.file = file;
            result.line = dwarf_lineno(line, &number) == 0 ? static_cast<std::uint32_t>(number) : 0;
        }
        return result;
    }

    // The function at an address and the inlined calls in it, outermost first.
    std::vector<Dwarf_Die> functions_at(Dwarf_Die* unit, Dwarf_Addr wanted) {
        std::vector<Dwarf_Die> chain;
        const auto [known, is_new] = functions.try_emplace(dwarf_dieoffset(unit));
        if (is_new) {
            list_functions(unit, known->second, 0);
        }
        const auto holds = [&](const Range& range) { return range.low <= wanted && wanted < range.high; };
        const auto found = std::ranges::find_if(known->second, holds);
        Dwarf_Die die;
        if (found == known->second.end() || dwarf_offdie(dwarf_cu_getdwarf(unit->cu), found->die, &die) == nullptr) {
            return chain;
        }
        chain.push_back(die);
        Dwarf_Die child;
        for (int more = dwarf_child(&die, &child); more == 0;) {
            const int tag = dwarf_tag(&child);
            if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) && dwarf_haspc(&child, wanted) == 1) {
                if (tag == DW_TAG_inlined_subroutine) {
                    chain.push_back(child);
                }
                die = child;
                more = dwarf_child(&die, &child);
            } else {
                Dwarf_Die next;
                more = dwarf_siblingof(&child, &next);
                child = next;
            }
        }
        return chain;
    }

    // Every function with code below a DIE. dwarf_getscopes() walks the whole unit for each address instead: 4 ms each
    // in a program of 2,000 lines.
    void list_functions(Dwarf_Die* parent, std::vector<Range>& out, int depth) {
        constexpr int kDeepest = 64;  // a damaged file may nest without end
        Dwarf_Die child;
        for (int more = depth < kDeepest ? dwarf_child(parent, &child) : 1; more == 0;) {
            if (dwarf_tag(&child) == DW_TAG_subprogram) {
                add_ranges(&child, out);
            }
            if (dwarf_haschildren(&child) == 1) {
                list_functions(&child, out, depth + 1);
            }
            Dwarf_Die next;
            more = dwarf_siblingof(&child, &next);
            child = next;
        }
    }

    // The functions at an address as debug information nests them: innermost first.
    std::vector<SourceLine> from_debug_information(Dwarf_Addr address) {
        std::vector<SourceLine> lines;
        Dwarf_Die unit;
        Dwarf_Addr unit_bias = 0;
        if (!unit_at(address, &unit, &unit_bias)) {
            return lines;
        }
        SourceLine line = position(&unit, address - unit_bias);
        std::vector<Dwarf_Die> chain = functions_at(&unit, address - unit_bias);
        Dwarf_Files* files = nullptr;
        std::size_t file_count = 0;
        dwarf_getsrcfiles(&unit, &files, &file_count);
        for (; !chain.empty(); chain.pop_back()) {
            Dwarf_Die* die = &chain.back();
            line.function = function_name(die);
            if (dwarf_tag(die) != DW_TAG_inlined_subroutine) {
                // A local function has no linkage name there; its symbol still says which namespace it is in.
                if (linkage_name(die) == nullptr) {
                    const std::string by_symbol = symbol(address, nullptr);
                    line.function = by_symbol.find(line.function) == by_symbol.npos ? line.function : by_symbol;
                }
                lines.push_back(line);
                break;
            }
            lines.push_back(line);
            const char* file =
                files == nullptr ? nullptr : dwarf_filesrc(files, number(die, DW_AT_call_file), nullptr, nullptr);
            line = SourceLine{"", file == nullptr ? "" : file, static_cast<std::uint32_t>(number(die, DW_AT_call_line)),
                              true};
        }
        if (lines.empty() && !line.file.empty()) {
            line.function = symbol(address, nullptr);
            lines.push_back(line);
        }
        return lines;
    }

    std::string symbol(Dwarf_Addr address, std::uint64_t* distance) {
        GElf_Off offset = 0;
        GElf_Sym entry;
        const char* name = dwfl_module_addrinfo(module, address, &offset, &entry, nullptr, nullptr, nullptr);
        if (name == nullptr || *name == '\0') {
            return "";
        }
        if (distance != nullptr) {
            *distance = offset;
        }
        return demangled(name);
    }
};

DwarfModule::DwarfModule(const std::string& path, const std::string& build_id, const SymbolizeOptions& options)
    : impl_(std::make_unique<Impl>(options.debuginfod)) {
    Impl& impl = *impl_;
    // Paths come from a report: a FIFO must not hang us, a device must not be read.
    const int descriptor = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    struct stat status {};
    if (descriptor < 0 || fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        const int error = descriptor < 0 ? errno : EINVAL;
        if (descriptor >= 0) {
            close(descriptor);
        }
        problem_ = fmt::format(
            "no names for {}: {}; look where the program ran, or run 'pincheck resolve' there and copy the report",
            path, std::strerror(error));
        return;
    }
    for (const std::string& directory : options.debug_directories) {
        impl.debug_path += directory + ":";
    }
    impl.debug_path += ":.debug:/usr/lib/debug";
    impl.debug_path_pointer = impl.debug_path.data();
    impl.callbacks.find_debuginfo = dwfl_standard_find_debuginfo;
    impl.callbacks.section_address = dwfl_offline_section_address;
    impl.callbacks.debuginfo_path = &impl.debug_path_pointer;
    impl.dwfl.reset(dwfl_begin(&impl.callbacks));
    if (impl.dwfl != nullptr) {
        dwfl_report_begin(impl.dwfl.get());
        impl.module = dwfl_report_offline(impl.dwfl.get(), path.c_str(), path.c_str(), descriptor);
    }
    if (impl.module == nullptr) {
        close(descriptor);  // libdwfl takes it only when it succeeds
        problem_ = fmt::format("no names for {}: {}", path, dwfl_errmsg(-1));
        return;
    }
    dwfl_report_end(impl.dwfl.get(), nullptr, nullptr);
    dwfl_module_getelf(impl.module, &impl.bias);
    const unsigned char* bytes = nullptr;
    GElf_Addr address = 0;
    const int count = dwfl_module_build_id(impl.module, &bytes, &address);
    const std::string found = hexadecimal(bytes, std::max(count, 0));
    if (!build_id.empty() && found != build_id) {
        problem_ = fmt::format(
            "no names for {}: the file was replaced since the program ran (build-id {}, recorded {}); run the program "
            "again, or put the old file back",
            path, found.empty() ? "missing" : found, build_id);
    }
}

DwarfModule::~DwarfModule() = default;

std::vector<SourceLine> DwarfModule::lines(std::uint64_t return_offset) {
    if (impl_->module == nullptr || !problem_.empty() || return_offset == 0) {
        return {};
    }
    // The call is before the address it returns to; behind a call that never returns that is another function.
    const Dwarf_Addr address = return_offset - 1 + impl_->bias;
    std::vector<SourceLine> lines = impl_->from_debug_information(address);
    if (lines.empty()) {
        std::uint64_t distance = 0;
        const std::string function = impl_->symbol(address, &distance);
        if (!function.empty()) {
            lines.push_back({fmt::format("{}+{:#x}", function, distance + 1), "", 0, false});
        }
    }
    return lines;
}

std::string demangled(const char* symbol) {
    int status = 0;
    const std::unique_ptr<char, Free> name(abi::__cxa_demangle(symbol, nullptr, nullptr, &status));
    return status == 0 && name != nullptr ? name.get() : symbol;
}

}  // namespace pincheck
