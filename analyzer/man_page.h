// pincheck(1): made from the verbs and options that the parser knows, so that none can be missing.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace pincheck {

// In roff, with the macros of man(7).
std::string man_page(const CLI::App& app, const std::string& version);

}  // namespace pincheck
