#include "place.h"

#include <fmt/format.h>

#include <filesystem>

#include "printable.h"
#include "render_text_layout.h"

namespace pincheck {
namespace {

std::string shown_path(const Capture& capture, const std::string& file) {
    const std::string path = std::filesystem::path(file).lexically_normal().string();
    const std::string folder =
        (capture.processes.empty() ? std::string() : capture.processes.front().working_directory) + '/';
    return folder.size() > 2 && path.starts_with(folder) ? path.substr(folder.size()) : path;
}

}  // namespace

Place place_of(const Capture& capture, const CaptureFrame& frame, const Origins& origins) {
    Place place;
    const SourceLine* line = shown_line(frame, origins);
    if (line != nullptr) {
        place.function = printable(line->function);
    }
    if (line != nullptr && !line->file.empty()) {
        place.position = printable(shown_path(capture, line->file));
        place.position += line->line != 0 ? fmt::format(":{}", line->line) : "";
        return place;
    }
    if (frame.module < capture.modules.size()) {
        const std::string module = base_name(capture.modules[frame.module].path);
        place.position = fmt::format("{}+{:#x}", printable(module.empty() ? "?" : module), frame.offset);
    } else {
        place.position = fmt::format("{:#x}", frame.offset);
    }
    return place;
}

Place place_of(const Capture& capture, const CaptureSite& site, int frame, const Origins& origins) {
    if (frame >= 0 && static_cast<std::size_t>(frame) < site.stack.size()) {
        return place_of(capture, site.stack[static_cast<std::size_t>(frame)], origins);
    }
    return {site.stack.empty() ? "(no stack)" : "(outside every known module)", ""};
}

std::string clip_path(const std::string& path, std::size_t width) {
    const std::string clipped = clip_left(path, width);
    const std::size_t slash = clipped == path ? clipped.npos : clipped.find('/');
    return slash == clipped.npos ? clipped : "…" + clipped.substr(slash);
}

std::string place_text(const Place& place) {
    return place.function.empty() ? place.position : place.position + "  " + place.function;
}

std::string base_name(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == path.npos ? path : path.substr(slash + 1);
}

}  // namespace pincheck
