// What the verbs that show a report have in common: their options, and the way from files to findings.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "capture.h"
#include "command_line.h"
#include "findings.h"
#include "gate_options.h"
#include "origin.h"
#include "policy.h"
#include "render_text.h"

namespace pincheck {

struct LookOptions {
    std::vector<std::string> paths;
    std::vector<std::string> debug_directories;
    bool debuginfod = false;
    std::string origins_file;
    unsigned width = 0;  // 0: the terminal's
    std::string color = "auto";
    std::string since;  // a mark; "": all of the run
    GateOptions gate;
};

// Adds --since.
void add_since_option(Verb verb, LookOptions& options);
// Adds --width, --color, --debug-dir, --debuginfod and --origins.
void add_look_options(Verb verb, LookOptions& options);

struct Look {
    LoadResult loaded;
    Origins origins;
    std::vector<Finding> findings;
    Judgement judgement;
    ScreenOptions screen;
};

// Loads, resolves and judges. Nothing when not one of the files could be read: why is then on standard error, and the
// exit status is 2. Files and modules that could not be used are named on standard error.
std::optional<Look> look_at(const LookOptions& options);

}  // namespace pincheck
