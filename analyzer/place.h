// Where a frame is, in a few words. All results are neutralised (printable.h).
#pragma once

#include <string>

#include "capture.h"
#include "origin.h"

namespace pincheck {

struct Place {
    std::string
        position;  // "src/train.cu:41", relative to the working directory where it lies below it; or "libx.so+0x12"
    std::string function;  // "" when not known
};
Place place_of(const Capture& capture, const CaptureFrame& frame, const Origins& origins);
Place place_of(const Capture& capture, const CaptureSite& site, int frame, const Origins& origins);
// "src/train.cu:41  step"
std::string place_text(const Place& place);

// The end of a path that fits, cut between two components where there are more.
std::string clip_path(const std::string& path, std::size_t width);

// The last component.
std::string base_name(const std::string& path);

}  // namespace pincheck
