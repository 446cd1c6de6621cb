// What a person reads of two runs.
#pragma once

#include <string>

#include "diff.h"

namespace pincheck {

struct DiffScreen {
    unsigned width = 92;  // columns, 60 to 200
    bool color = false;
    bool all = false;  // list what is unchanged too
    // Where `pincheck show N` has findings under the numbers of this screen; "": nowhere.
    std::string show_then;
    std::string show_now;
};

// How many are new, worse, better, fixed and unchanged; what the runs are and whether their numbers can be compared;
// each finding with its amounts then and now; the next command. All text from the runs is neutralised (printable.h).
std::string diff_text(const ListedRun& then, const ListedRun& now, const Diff& diff, const DiffScreen& screen);

}  // namespace pincheck
