// Takes out of a capture what tells whose it is: for reports that are shown to others. Done before findings are made,
// so that no text of theirs can bring it back.
#pragma once

#include <string>

#include "capture.h"
#include "origin.h"
#include "policy.h"

namespace pincheck {

// Begins the name of a file whose folder is not told: "…/vector.h".
inline constexpr const char* kHiddenFolder = "…/";

// Source files have been placed before (SourcePaths::place): relative ones stay, absolute ones keep their last
// component, as modules and mapped files do. Gone: arguments, host, process and thread ids, thread names, times of day,
// working directory, options, addresses, names of report files, and folders in the texts of losses and problems. What
// whose code is stays as it was: `origins` learns the new names.
void redact(LoadResult& loaded, Origins& origins);

// The files that settings come from keep their last component, as paths in patterns and reasons do.
void redact(PolicyOptions& policy);

// A text without the folders of paths in it; names of report files, which tell host and time, are gone too.
std::string without_folders(const std::string& text);

}  // namespace pincheck
