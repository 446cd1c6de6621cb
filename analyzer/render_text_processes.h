// Processes of a job in words: what one is called, and which ones differ from the others.
#pragma once

#include <cstdint>
#include <string>

#include "capture.h"
#include "render_text_layout.h"

namespace pincheck {

// "rank 3", or "pid 4127 on node7" where the process has no rank or shares it with another one.
std::string process_text(const Capture& capture, std::uint32_t process);

// "only in rank 3 of 64 processes": of a site that few of many processes have; else "".
std::string only_in_text(const Capture& capture, const CaptureSite& site);

// Of a job of many processes: those that deviate (deviation.h).
void add_deviating(Lines& lines, const Capture& capture);

}  // namespace pincheck
