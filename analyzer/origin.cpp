#include "origin.h"

#include <fnmatch.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>

namespace pincheck {
namespace {

constexpr const char* kBuiltIn =
#include "origins_json.inc"
    ;
// Patterns of functions and of source files that a static runtime, or one of the toolkit's headers (C++ overloads of
// the C functions), puts into the user's own module.
constexpr std::string_view kStaticRuntime = "static_runtime";
constexpr std::string_view kStaticRuntimeFiles = "static_runtime_files";
// How many frames a static runtime may have between the driver and its public function (three; measured: cudart
// 13.0.96), with room for a stand-in built without optimisation.
constexpr std::size_t kRuntimeDepth = 8;

std::optional<Origin> origin_by_name(const std::string& name) {
    static constexpr std::pair<const char*, Origin> kNames[] = {
        {"user", Origin::user},     {"framework", Origin::framework}, {"vendor", Origin::vendor},
        {"system", Origin::system}, {"cuda", Origin::cuda},           {"tool", Origin::tool}};
    for (const auto& [text, origin] : kNames) {
        if (name == text) {
            return origin;
        }
    }
    return std::nullopt;
}

bool matches(const std::string& glob, const std::string& path) {
    const bool whole = glob.find('/') != glob.npos;
    return fnmatch(glob.c_str(), whole ? path.c_str() : path.c_str() + path.rfind('/') + 1, 0) == 0;
}

// A C function named as the runtime's public ones are: cudaMemcpyAsync, cudaMemcpy2DAsync_ptsz. A program's own C++
// function shows its parameters; its own C function of such a name would clash with the runtime's.
bool is_runtime_function(std::string_view function) {
    static constexpr std::string_view kGroups[] = {"Mem",    "Malloc", "Free",    "Host",  "Stream", "Event", "Graph",
                                                   "Launch", "Device", "Pointer", "Array", "Thread", "Func",  "Ctx"};
    function = function.substr(0, function.find('+'));
    if (!function.starts_with("cuda") || function.find_first_of("(<: ") != function.npos) {
        return false;
    }
    const std::string_view rest = function.substr(4);
    return std::ranges::any_of(kGroups, [&](std::string_view group) { return rest.starts_with(group); });
}

bool matches_any(const std::vector<std::string>& globs, const std::string& text) {
    return std::ranges::any_of(globs,
                               [&](const std::string& glob) { return fnmatch(glob.c_str(), text.c_str(), 0) == 0; });
}

}  // namespace

std::string bare_name(std::string_view function) {
    static constexpr std::string_view kAnonymous = "(anonymous namespace)";
    std::string name;
    int depth = 0;
    while (!function.empty()) {
        const char c = function[0];
        if (function.starts_with(kAnonymous)) {
            name += depth == 0 ? "{anonymous}" : "";
            function.remove_prefix(kAnonymous.size());
            continue;
        }
        if (depth == 0 && (c == '(' || c == '+')) {
            break;
        }
        if (depth == 0 && c == ' ') {
            name.clear();  // a return type came before it
        } else if (c == '<') {
            ++depth;
        } else if (c == '>') {
            depth -= depth > 0;
        } else if (depth == 0) {
            name += c;
        }
        function.remove_prefix(1);
    }
    return name;
}

Origins::Origins() {
    add_text(kBuiltIn);
}

std::string Origins::add_text(const std::string& text) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_object()) {
        return R"(it is not a JSON object like {"vendor": ["libmine*.so*"]})";
    }
    std::vector<Pattern> patterns;
    std::vector<std::string> functions;
    std::vector<std::string> files;
    for (const auto& [name, globs] : json.items()) {
        const std::optional<Origin> origin = origin_by_name(name);
        if (!origin && name != kStaticRuntime && name != kStaticRuntimeFiles) {
            return "'" + name + "' is no origin; there are user, framework, vendor, system, cuda, tool";
        }
        if (!globs.is_array()) {
            return "'" + name + R"(' is not a list of patterns like ["libmine*.so*"])";
        }
        for (const auto& glob : globs) {
            if (!glob.is_string() || glob.get_ref<const std::string&>().empty()) {
                return "'" + name + R"(' holds something that is not a pattern like "libmine*.so*")";
            }
            if (origin) {
                patterns.push_back({*origin, glob.get<std::string>()});
            } else {
                (name == kStaticRuntime ? functions : files).push_back(glob.get<std::string>());
            }
        }
    }
    // The order of JSON's keys means nothing: the more specific claim wins.
    std::ranges::stable_sort(patterns, std::ranges::greater(),
                             [](const Pattern& pattern) { return static_cast<int>(pattern.origin); });
    patterns_.insert(patterns_.begin(), patterns.begin(), patterns.end());
    runtime_functions_.insert(runtime_functions_.end(), functions.begin(), functions.end());
    runtime_files_.insert(runtime_files_.end(), files.begin(), files.end());
    known_.clear();
    return "";
}

std::string Origins::add_file(const std::string& path) {
    errno = 0;
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    // A folder can be opened; reading it is what fails.
    if (!file || (!text && errno != 0)) {
        return "cannot read " + path + (errno != 0 ? std::string(": ") + std::strerror(errno) : "") +
               "; give a file of patterns like {\"vendor\": [\"libmine*.so*\"]}";
    }
    const std::string wrong = add_text(text.str());
    return wrong.empty() ? "" : path + ": " + wrong;
}

Origin Origins::of_path(const std::string& module_path) const {
    const auto [known, is_new] = known_.try_emplace(module_path, Origin::user);
    if (is_new) {
        std::string path = module_path;
        constexpr std::string_view kDeleted = " (deleted)";
        if (path.ends_with(kDeleted)) {
            path.resize(path.size() - kDeleted.size());
        }
        for (const Pattern& pattern : patterns_) {
            if (matches(pattern.glob, path)) {
                known->second = pattern.origin;
                break;
            }
        }
    }
    return known->second;
}

Origin Origins::of(const Capture& capture, const CaptureFrame& frame) const {
    return frame.module < capture.modules.size() ? of_path(capture.modules[frame.module].path) : Origin::user;
}

bool Origins::is_runtime_line(const SourceLine& line) const {
    return line.launch_stub || is_runtime_function(line.function) ||
           matches_any(runtime_functions_, bare_name(line.function)) || matches_any(runtime_files_, line.file);
}

const SourceLine* heading_line(const CaptureFrame& frame, const Origins& origins) {
    for (const SourceLine& line : frame.lines) {
        if (!origins.is_runtime_line(line)) {
            return &line;
        }
    }
    return nullptr;
}

const SourceLine* shown_line(const CaptureFrame& frame, const Origins& origins) {
    const SourceLine* line = heading_line(frame, origins);
    return line != nullptr || frame.lines.empty() ? line : &frame.lines.front();
}

namespace {

struct Runtime {
    std::size_t end = 0;  // the first frame outside CUDA
    std::string api;      // the public function called; "" when the symbols do not show it
};

Runtime runtime_frames(const Capture& capture, const CaptureSite& site, const Origins& origins) {
    const std::vector<CaptureFrame>& stack = site.stack;
    Runtime result;
    const auto take = [&](std::size_t i) {
        result.end = i + 1;
        for (const SourceLine& line : stack[i].lines) {
            if (is_runtime_function(line.function)) {
                result.api = line.function.substr(0, line.function.find('+'));
            } else if (line.function.starts_with("__cudaLaunchKernel")) {
                result.api = "cudaLaunchKernel";  // what nvcc makes of <<<>>>
            }
        }
    };
    const auto is_cuda = [&](const CaptureFrame& frame) {
        const Origin origin = origins.of(capture, frame);
        return origin == Origin::cuda || origin == Origin::tool;
    };
    while (result.end < stack.size() && is_cuda(stack[result.end])) {
        take(result.end);
    }
    // A static runtime lies in its caller's module. Frames in between may have no name (a stripped local function), or
    // the name of a neighbour; debug information that names somebody else's function ends the search.
    const std::size_t first = result.end;
    for (std::size_t i = first; i < stack.size() && i < first + kRuntimeDepth; ++i) {
        const CaptureFrame& frame = stack[i];
        if (frame.module == CaptureFrame::kNoModule || frame.module != stack[first].module) {
            break;
        }
        if (frame.lines.empty()) {
            continue;
        }
        if (heading_line(frame, origins) == nullptr) {
            take(i);
            continue;
        }
        // Inlined into the caller's function, the public overload says which API it is; the frame is the caller's.
        if (frame.lines.front().exact) {
            break;
        }
    }
    return result;
}

}  // namespace

int issuing_frame(const Capture& capture, const CaptureSite& site, const Origins& origins) {
    const std::size_t end = runtime_frames(capture, site, origins).end;
    return end < site.stack.size() ? static_cast<int>(end) : -1;
}

int heading_frame(const Capture& capture, const CaptureSite& site, const Origins& origins) {
    const int first = issuing_frame(capture, site, origins);
    for (auto i = static_cast<std::size_t>(std::max(first, 0)); i < site.stack.size(); ++i) {
        if (origins.of(capture, site.stack[i]) == Origin::user) {
            return static_cast<int>(i);
        }
    }
    return first;
}

Origin issuer_of(const Capture& capture, const CaptureSite& site, const Origins& origins) {
    const int first = issuing_frame(capture, site, origins);
    for (auto i = static_cast<std::size_t>(std::max(first, 0)); first >= 0 && i < site.stack.size(); ++i) {
        const Origin origin = origins.of(capture, site.stack[i]);
        if (origin == Origin::user || origin == Origin::framework || origin == Origin::vendor) {
            return origin;
        }
    }
    return Origin::user;
}

std::string called_api(const Capture& capture, const CaptureSite& site, const Origins& origins) {
    if (site.api.starts_with("cuda")) {
        return site.api;
    }
    const std::string api = runtime_frames(capture, site, origins).api;
    return api.empty() ? site.api : api;
}

}  // namespace pincheck
