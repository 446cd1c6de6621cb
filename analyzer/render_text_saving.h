// What an estimate of pinning's gain says. Pure.
#pragma once

#include <string>

#include "saving.h"

namespace pincheck {

// "Saves up to 5.3 s (median page-locked call here: under 33 us)."; "" where nothing is promised.
std::string saving_text(const Saving& saving);
// The same with its assumption, or why nothing is promised; "" where there is nothing to save.
std::string full_saving_text(const Saving& saving);

}  // namespace pincheck
