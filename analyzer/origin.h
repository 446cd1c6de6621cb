// Whose code a frame is, by the module's file name: patterns in analyzer/data/origins.json (built in, extensible by
// --origins FILE): {"cuda": ["libcudart.so*", …], "vendor": ["libnccl.so*", …], "framework": ["libtorch*.so*", …],
// "system": ["libc.so*", …]}. A pattern with a slash is matched with the whole path. Everything else is the user's.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "capture.h"

namespace pincheck {

enum class Origin { user, framework, vendor, system, cuda, tool };

class Origins {
  public:
    Origins();  // the built-in patterns
    // Adds patterns, which come before the built-in ones. Returns "" or what is wrong with the file.
    std::string add_file(const std::string& path);
    Origin of_path(const std::string& module_path) const;
    // Whose a module of exactly this name is, whatever the patterns say.
    void assume(const std::string& module_path, Origin origin) { known_[module_path] = origin; }
    Origin of(const Capture& capture, const CaptureFrame& frame) const;

    // Whether a function that lies in the user's own module is the static runtime's: by its name, public or internal,
    // or by its source file (the toolkit's headers have C++ overloads of the C functions).
    bool is_runtime_line(const SourceLine& line) const;

  private:
    struct Pattern {
        Origin origin;
        std::string glob;
    };
    std::string add_text(const std::string& text);

    std::vector<Pattern> patterns_;
    std::vector<std::string> runtime_functions_;
    std::vector<std::string> runtime_files_;
    mutable std::unordered_map<std::string, Origin> known_;  // by path: patterns are many and frames are more
};

// Of "cudart::f<int>(void (*)(int)) const" and "int cudart::f<int>()": "cudart::f".
std::string bare_name(std::string_view function);

// The line of a frame to show: its innermost function that is not the runtime's. Null: none, or nothing is known.
const SourceLine* heading_line(const CaptureFrame& frame, const Origins& origins);
// The same, and the innermost function where all are the runtime's. Null: nothing is known.
const SourceLine* shown_line(const CaptureFrame& frame, const Origins& origins);

// The frame that a finding is headed by: the first that is the user's; failing that the first outside CUDA. -1: none.
// Static runtimes lie in the user's own module: frames whose function is a CUDA API or runtime-internal are skipped.
int heading_frame(const Capture& capture, const CaptureSite& site, const Origins& origins);
// The frame that made the CUDA call: the first outside CUDA. -1: none.
int issuing_frame(const Capture& capture, const CaptureSite& site, const Origins& origins);
// Whose code asked for the call: the first frame that is neither CUDA's nor the system's (libffi, the interpreter's own
// library). A program of which only such frames are known is the user's.
Origin issuer_of(const Capture& capture, const CaptureSite& site, const Origins& origins);
// The runtime function that the user called, from the stack of a static runtime (cudaMemcpyAsync for
// cuMemcpyHtoDAsync_v2); the site's own API otherwise.
std::string called_api(const Capture& capture, const CaptureSite& site, const Origins& origins);

}  // namespace pincheck
