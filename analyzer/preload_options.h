// PINCHECK_OPTIONS as `pincheck run` hands it on: the user's own, and what flags say instead. The library ignores a
// mistake and says so once; here it is wrong usage, said before anything starts.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pincheck {

struct PreloadOption {
    const char* key;
    const char* values;  // for --help and messages
    const char* help;
};
// Those of interpose/options.h but `output`, which belongs to the job (see job.h). Each is also a flag of `run`.
const std::vector<PreloadOption>& preload_options();

struct MergedOptions {
    std::string text;          // key=value:key=value, without output
    std::string users_output;  // of the user's variable: not used, worth a line
    std::string error;         // one line; "" when all is well
    int verbosity = 1;
    bool traps = false;  // races=trap, which takes a second library
};

// A flag comes after the user's variable and wins. Pure.
MergedOptions merge_options(std::string_view users, const std::vector<std::pair<std::string, std::string>>& flags);

}  // namespace pincheck
