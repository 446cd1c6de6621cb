#include "symbolize.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "dwarf_module.h"

namespace pincheck {

std::vector<std::string> symbolize(Capture& capture, const SymbolizeOptions& options) {
    // Each module is opened once, and each of its addresses looked up once.
    std::map<std::uint32_t, std::map<std::uint64_t, std::vector<CaptureFrame*>>> wanted;
    for (CaptureSite& site : capture.sites) {
        for (CaptureFrame& frame : site.stack) {
            if (frame.lines.empty() && frame.module < capture.modules.size()) {
                wanted[frame.module][frame.offset].push_back(&frame);
            }
        }
    }
    std::vector<std::string> problems;
    for (auto& [index, by_offset] : wanted) {
        const CaptureModule& module = capture.modules[index];
        if (!module.path.starts_with('/')) {
            continue;  // [vdso] and the nameless have no file
        }
        DwarfModule file(module.path, module.build_id, options);
        if (!file.problem().empty()) {
            problems.push_back(file.problem());
            continue;
        }
        for (auto& [offset, frames] : by_offset) {
            const std::vector<SourceLine> lines = file.lines(offset);
            for (CaptureFrame* frame : frames) {
                frame->lines = lines;
            }
        }
    }
    return problems;
}

std::string frame_text(const Capture& capture, const CaptureFrame& frame) {
    if (!frame.lines.empty()) {
        const SourceLine& line = frame.lines.front();
        if (!line.file.empty()) {
            const std::string file = line.file.substr(line.file.rfind('/') + 1);
            const std::string place = line.line == 0 ? file : fmt::format("{}:{}", file, line.line);
            return line.function.empty() ? place : fmt::format("{} ({})", line.function, place);
        }
        if (!line.function.empty() && line.exact) {
            return line.function;
        }
    }
    if (frame.module >= capture.modules.size()) {
        return fmt::format("{:#x}", frame.offset);
    }
    const CaptureModule& module = capture.modules[frame.module];
    const std::string name = module.path.empty() ? "?" : module.path.substr(module.path.rfind('/') + 1);
    if (!frame.lines.empty() && !frame.lines.front().function.empty()) {
        return fmt::format("{} ({}; rebuild with -g for file and line)", frame.lines.front().function, name);
    }
    return fmt::format("{}+{:#x}{}", name, frame.offset,
                       module.build_id.empty() ? "" : fmt::format(" (build-id {})", module.build_id));
}

}  // namespace pincheck
