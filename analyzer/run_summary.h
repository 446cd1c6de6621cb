// What `pincheck run` says when its program has ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "descendants.h"
#include "export.h"
#include "hints.h"
#include "origin.h"
#include "policy.h"
#include "symbolize.h"

namespace pincheck {

struct SummaryOptions {
    bool checking = false;
    bool quiet = false;
    std::string color = "auto";
    PolicyOptions policy;
    bool plain_policy = true;  // Gate::plain
    SymbolizeOptions symbols;
    Origins origins;
    bool more_origins = false;         // than the built-in ones
    std::vector<std::string> exports;  // FORMAT=FILE
    ExportOptions paths;
};

struct JobSeen {
    std::vector<std::string> reports;
    std::string place;  // their folder
    std::uint64_t wall_ns = 0;
    std::vector<SeenProcess> blind;
    std::vector<SeenProcess> hidden;
    std::vector<SeenProcess> still_running;  // with CUDA and the tool
    Hint target;
    Hint launcher;
    bool one_line = false;
    std::string ending;  // ScreenOptions::ending
};

struct Summary {
    Verdict verdict{};
    bool exported = true;  // all that was asked for was written
};

// Loads, resolves (and writes the symbols into the reports), judges, prints on standard error, exports. Without any
// report it says so, and why that may be; what is exported has nothing but the verdict then.
Summary print_summary(const SummaryOptions& options, const JobSeen& seen);

// What is said where that fails, and where there were too many reports to add symbols to all of them at once.
std::string not_judged_text(const std::string& place, const std::string& why);
std::string without_symbols_text(std::size_t reports, const std::string& place);

}  // namespace pincheck
