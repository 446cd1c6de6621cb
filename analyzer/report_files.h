// From what a user names to report files.
#pragma once

#include <string>
#include <vector>

namespace pincheck {

// The files that these paths stand for, sorted, each once. `errors` gets a line for each folder that has none, and for
// each process id that none was found for.
std::vector<std::string> report_files(const std::vector<std::string>& paths, std::vector<std::string>& errors);

}  // namespace pincheck
