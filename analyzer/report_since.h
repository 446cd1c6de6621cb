// What a process's report has beyond an earlier copy of it (`pincheck mark`): the calls, waits, races and losses since.
//
// Sums are exact. What is no sum is what is known of it: the longest call is of the time since where it grew, else at
// most what the histogram of the calls since allows; sizes (bytes_min, bytes_max) are of the whole run. The first call
// is not before the mark. Sites with nothing left are taken out, unless something that is left names them.
#pragma once

#include <string>

#include "report/reader.h"

namespace pincheck {

// Whether both are of one process, and `mark` is not the later one: "" or what is wrong, in words that follow a name.
std::string problem_of_mark(const report::Report& report, const report::Report& mark);

// Takes what `mark` has away from `report`. Its start becomes the moment of the mark.
void take_away(report::Report& report, const report::Report& mark);

}  // namespace pincheck
