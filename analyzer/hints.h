// Why a run saw nothing, and what to write instead. Pure: from the command and what kind of program it starts.
#pragma once

#include <string>
#include <vector>

#include "target.h"

namespace pincheck {

struct Hint {
    // The library cannot have been in the process that matters: not even "no CUDA call" is known.
    bool blind = false;
    std::string text;  // one line, with what to write instead; "" when nothing is known
};

// Why the library cannot be loaded into this program; text "" when it can.
Hint hint_about_target(const Target& target, const std::vector<std::string>& command);

// For programs that start others where the library does not follow them: docker, sudo, ssh, srun, mpirun, kubectl,
// `env -i`, …
Hint hint_about_launcher(const std::vector<std::string>& command);

}  // namespace pincheck
