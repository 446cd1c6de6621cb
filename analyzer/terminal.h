// How wide a screen may be and whether it may have colours.
#pragma once

#include <string>

namespace pincheck {

inline constexpr unsigned kDefaultWidth = 92;
inline constexpr unsigned kMinimumWidth = 60;
inline constexpr unsigned kMaximumWidth = 200;

// Columns for text that goes to this descriptor: those of the terminal, within the limits above; kDefaultWidth where it
// is none.
unsigned terminal_width(int descriptor);

// `when` is auto, always or never. auto: a terminal, NO_COLOR unset or empty (no-color.org), TERM not "dumb".
bool wants_color(const std::string& when, int descriptor);

}  // namespace pincheck
