#include "render_text_parts.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "names.h"
#include "printable.h"

namespace pincheck {
namespace {

const std::string& working_directory(const Capture& capture) {
    static const std::string none;
    return capture.processes.empty() ? none : capture.processes.front().working_directory;
}

std::filesystem::path absolute_path(const Capture& capture, const std::string& file) {
    const std::filesystem::path path(file);
    return (path.is_absolute() ? path : std::filesystem::path(working_directory(capture)) / path).lexically_normal();
}

bool is_source_name(const std::filesystem::path& path) {
    constexpr std::array<std::string_view, 20> kEndings = {".c",   ".cc", ".cpp", ".cxx", ".c++", ".cu",  ".cuh",
                                                           ".h",   ".hh", ".hpp", ".hxx", ".inl", ".ipp", ".inc",
                                                           ".tpp", ".py", ".pyx", ".jl",  ".rs",  ".f90"};
    return std::ranges::find(kEndings, path.extension().string()) != kEndings.end();
}

}  // namespace

const char* severity_text(Severity severity) {
    return severity == Severity::error ? "error" : severity == Severity::warning ? "warning" : "note";
}

Paint severity_paint(Severity severity) {
    return severity == Severity::error ? Paint::bad : severity == Severity::warning ? Paint::doubt : Paint::none;
}

std::string direction_text(report::Direction direction) {
    switch (direction) {
        case report::Direction::host_to_host:
            return "H2H";
        case report::Direction::host_to_device:
            return "H2D";
        case report::Direction::device_to_host:
            return "D2H";
        case report::Direction::device_to_device:
            return "D2D";
        case report::Direction::none:
            return "";
        case report::Direction::unknown:
            break;
    }
    return "direction unknown";
}

std::string memory_text(const report::Memory& memory) {
    std::string kind;
    switch (memory.kind) {
        case report::MemoryClass::none:
            return "";
        case report::MemoryClass::unknown:
            return "memory of unknown kind";
        case report::MemoryClass::partly_registered:
            kind = "partly registered";
            break;
        case report::MemoryClass::device_symbol:
            kind = "device symbol";
            break;
        case report::MemoryClass::host_pool:
            kind = "host memory of a pool";
            break;
        case report::MemoryClass::array:
        case report::MemoryClass::managed:
        case report::MemoryClass::device:
        case report::MemoryClass::pageable:
        case report::MemoryClass::pinned:
        case report::MemoryClass::registered:
            kind = name(memory.kind);
            break;
    }
    if (kind.empty()) {
        kind = "memory class " + name(memory.kind);
    }
    std::string flags;
    const auto add = [&](std::uint16_t flag, const char* text) {
        if ((memory.flags & flag) != 0 && (memory.flags & report::kMemoryFlagsKnown) != 0) {
            flags += (flags.empty() ? "" : ", ") + std::string(text);
        }
    };
    add(report::kMemoryPortable, "portable");
    add(report::kMemoryMapped, "mapped");
    add(report::kMemoryWriteCombined, "write-combined");
    add(report::kMemoryReadOnly, "read-only");
    add(report::kMemoryIoMemory, "I/O memory");
    return flags.empty() ? kind : kind + " (" + flags + ')';
}

std::string host_memory_text(const CaptureSite& site) {
    std::string text = memory_text(site.host_memory());
    if (!site.memory_file.empty()) {
        text += " (file mapping of " + printable(site.memory_file) + ')';
    } else if (site.memory_on_stack) {
        text += " (stack)";
    }
    return text;
}

std::string sizes_text(const CaptureSite& site) {
    if (site.bytes_min >= site.bytes_max) {  // all alike, or none succeeded
        return bytes_text(site.bytes_max) + " x " + count_text(site.calls);
    }
    return fmt::format("{} to {} x {} ({})", bytes_text(site.bytes_min), bytes_text(site.bytes_max),
                       count_text(site.calls), bytes_text(site.bytes));
}

std::string spread_text(const CaptureSite& site) {
    if (site.threads <= 1 && site.processes <= 1) {
        return "";
    }
    const std::string threads = "in " + counted(site.threads, "thread");
    return site.processes <= 1 ? threads : fmt::format("{} of {} processes", threads, count_text(site.processes));
}

std::string source_text(const Capture& capture, const CaptureFrame& frame, const Origins& origins) {
    constexpr std::size_t kLongest = 4'096;
    constexpr std::uint32_t kLastLine = 1'000'000;
    constexpr off_t kLargest = 64 << 20;
    const SourceLine* line = shown_line(frame, origins);
    if (line == nullptr || line->file.empty() || line->line == 0 || line->line > kLastLine) {
        return "";
    }
    const std::filesystem::path path = absolute_path(capture, line->file);
    struct stat status {};
    // The path is the report's word: no other files than source is shown, and no pipe is waited for.
    if (!is_source_name(path) || stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) ||
        status.st_size > kLargest) {
        return "";
    }
    const auto changed = static_cast<std::uint64_t>(status.st_mtim.tv_sec);
    for (const CaptureProcess& process : capture.processes) {
        if (process.start_realtime_ns != 0 && changed > process.start_realtime_ns / 1'000'000'000) {
            return "";
        }
    }
    std::ifstream file(path);
    std::string text;
    for (std::uint32_t i = 0; i < line->line; ++i) {
        if (!std::getline(file, text)) {
            return "";
        }
    }
    text.resize(std::min(text.size(), kLongest));
    std::ranges::replace(text, '\t', ' ');
    const std::size_t begin = text.find_first_not_of(" \r");
    if (begin == text.npos) {
        return "";
    }
    const std::size_t end = text.find_last_not_of(" \r");
    return printable(text.substr(begin, end + 1 - begin));
}

std::string shell_word(const std::string& text) {
    constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_^";
    const std::string shown = printable(text);
    if (!shown.empty() && shown == text && shown.find_first_not_of(kPlain) == shown.npos) {
        return shown;
    }
    if (shown != text) {  // bytes that cannot be shown: bash's own way of writing them
        std::string word;
        for (const char c : shown) {
            word += c == '\'' ? "\\'" : std::string(1, c);
        }
        return "$'" + word + '\'';
    }
    std::string word;
    for (const char c : shown) {
        word += c == '\'' ? R"('\'')" : std::string(1, c);
    }
    return '\'' + word + '\'';
}

std::string command_text(const CaptureProcess& process) {
    std::string text;
    for (const std::string& argument : process.command_line) {
        text += (text.empty() ? "" : " ") + shell_word(argument);
    }
    return text.empty() ? printable(base_name(process.executable)) : text;
}

std::string devices_text(const Capture& capture) {
    std::vector<std::pair<std::string, std::size_t>> names;
    std::vector<std::string> seen;  // one device of one host, however many processes used it
    std::uint32_t version = 0;
    for (const CaptureProcess& process : capture.processes) {
        for (const CaptureProcess::Device& device : process.devices) {
            const std::string key = fmt::format("{} {} {}", process.host, device.ordinal, device.name);
            version = std::max(version, device.driver_version);
            if (std::ranges::find(seen, key) != seen.end()) {
                continue;
            }
            seen.push_back(key);
            const auto same = [&](const auto& name) { return name.first == device.name; };
            const auto found = std::ranges::find_if(names, same);
            if (found == names.end()) {
                names.emplace_back(device.name, 1);
            } else {
                ++found->second;
            }
        }
    }
    std::string text;
    for (const auto& [name, count] : names) {
        text += text.empty() ? "" : ", ";
        text += (count > 1 ? fmt::format("{} x ", count) : "") + printable(name);
    }
    if (version != 0) {
        text += fmt::format("{}CUDA {}.{}", text.empty() ? "" : ", ", version / 1000, version % 1000 / 10);
    }
    return text;
}

std::string place_argument(const std::string& report_place) {
    return report_place.empty() ? "FILES" : shell_word(report_place);
}

const CaptureSite* site_by_id(const Capture& capture, std::uint32_t id) {
    return id >= 1 && id <= capture.sites.size() ? &capture.sites[id - 1] : nullptr;
}

}  // namespace pincheck
