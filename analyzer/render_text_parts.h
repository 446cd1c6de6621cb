// What the first screen and the view of one site say in the same words. All results are neutralised (printable.h).
#pragma once

#include <string>

#include "capture.h"
#include "origin.h"
#include "place.h"
#include "policy.h"
#include "render_text_layout.h"

namespace pincheck {

const char* severity_text(Severity severity);
Paint severity_paint(Severity severity);

std::string direction_text(report::Direction direction);  // "H2D"
std::string memory_text(const report::Memory& memory);    // "pinned (mapped, write-combined)"
std::string host_memory_text(const CaptureSite& site);    // "pageable (file mapping of /data/x)", "pageable (stack)"
// "4 B x 6,240", "4 B to 1 MiB x 6,240 (3 GiB)"
std::string sizes_text(const CaptureSite& site);
// "in 4 threads of 2 processes"; "" when it is one thread.
std::string spread_text(const CaptureSite& site);

// The line of source at a frame, trimmed; "" where it cannot be read or would not be the one that was compiled: no
// regular file with a source file's name at that path (of this machine), or changed after the process started.
std::string source_text(const Capture& capture, const CaptureFrame& frame, const Origins& origins);

// What was run, as a shell would take it.
std::string command_text(const CaptureProcess& process);
// "2 x NVIDIA H200, CUDA 13.0"
std::string devices_text(const Capture& capture);

// One word of a shell command line, quoted where needed.
std::string shell_word(const std::string& text);

// The report as an argument of the next command; "FILES" when it is not known.
std::string place_argument(const std::string& report_place);

const CaptureSite* site_by_id(const Capture& capture, std::uint32_t id);

}  // namespace pincheck
