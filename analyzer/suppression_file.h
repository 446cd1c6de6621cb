// Reads suppression files. The format, for people: `pincheck explain gate`.
#pragma once

#include <string>
#include <vector>

#include "suppression.h"

namespace pincheck {

// Adds the rows of a file, in their order. Returns "" or what is wrong, with file and line.
std::string read_suppressions(const std::string& path, std::vector<Suppression>& rows);

}  // namespace pincheck
