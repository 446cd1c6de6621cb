// Text from a report is other people's: paths, thread names, command lines. On a terminal it must not move the cursor,
// reorder what stands beside it, or look like another line.
#pragma once

#include <string>
#include <string_view>

namespace pincheck {

// The text with control characters, invalid UTF-8, line separators and invisible or bidirectional controls as \xNN (one
// for each byte), and a backslash as \\, so that the original can be told from it.
std::string printable(std::string_view text);

// printable() in double quotes, inner ones as \x22.
std::string quoted(std::string_view text);

// printable() with everything that delimits fields and lists (space , = [ ] ") as \xNN: needs no quotes.
std::string token(std::string_view text);

}  // namespace pincheck
