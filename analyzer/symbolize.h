// Frames to functions and source lines, by libdw from the modules' files and their build-ids.
#pragma once

#include <string>
#include <vector>

#include "capture.h"

namespace pincheck {

class SymbolCache;

struct SymbolizeOptions {
    std::vector<std::string> debug_directories;  // searched before the usual /usr/lib/debug
    bool debuginfod = false;                     // ask $DEBUGINFOD_URLS; never unless the user said so
};

// Fills in the lines of every frame that has none. A module whose file is gone, or has another build-id than recorded,
// is left alone and named in the result (one line each, with the next step).
std::vector<std::string> symbolize(Capture& capture, const SymbolizeOptions& options);
// The same, without looking up again what the cache knows.
std::vector<std::string> symbolize(Capture& capture, SymbolCache& cache);

// "func (file.cpp:12)", or "libx.so+0x12 (build-id …)" where nothing is known. Not neutralised: see printable.h.
std::string frame_text(const Capture& capture, const CaptureFrame& frame);
// The same for one of the frame's lines, null where none is known.
std::string frame_text(const Capture& capture, const CaptureFrame& frame, const SourceLine* line);

}  // namespace pincheck
