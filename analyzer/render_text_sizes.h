// `pincheck report --by-size`: pageable against page-locked copies, by size and direction.
#pragma once

#include <string>

#include "capture.h"
#include "render_text.h"

namespace pincheck {

std::string by_size_text(const Capture& capture, const ScreenOptions& options);

}  // namespace pincheck
