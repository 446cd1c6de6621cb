// Text that means nothing in Markdown. To be neutralised (printable.h) before.
#pragma once

#include <string>
#include <string_view>

namespace pincheck {

// For inside HTML elements, where Markdown means nothing.
std::string html(std::string_view text);
// As it is, in a line of Markdown or a cell of a table.
std::string markdown(std::string_view text);

}  // namespace pincheck
