// Waits, the device's times and sizes of one site, for `pincheck show`; and what waits a whole run had that are no
// findings.
#pragma once

#include "capture.h"
#include "origin.h"
#include "render_text_layout.h"

namespace pincheck {

// What this site's calls waited for, by cause and evidence. Nothing where no wait was recorded.
void add_waits(Lines& lines, const Capture& capture, const CaptureSite& site, const Origins& origins);
// Call share and rate by size, by the device's times. Nothing without them.
void add_device_times(Lines& lines, const CaptureSite& site);

// "Costs" and "Waits" of the first screen.
void add_plain_times(Lines& lines, const Capture& capture, const Origins& origins);

}  // namespace pincheck
