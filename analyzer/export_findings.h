// Findings as other programs show them: where, how bad, and in which words. Shared by the exports for CI systems. All
// texts are neutralised (printable.h) but for the paths.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "capture.h"
#include "origin.h"
#include "policy.h"

namespace pincheck {

// What gates has its rule's severity. What does not gate is no error, whatever the rule.
const char* export_level(const Finding& finding, bool gated);  // "error", "warning", "note"

struct ExportPlace {
    std::string file;        // as SourcePaths::place(); "": not known, or its folder is hidden
    std::uint32_t line = 0;  // not 0 where there is a file
    std::string function;    // "": not known
    std::string module;      // last component; "": none
    std::string position;    // "src/x.cu:41", "…/vector.h:12", "libx.so+0x12": never ""

    bool in_tree() const { return !file.empty() && !file.starts_with('/'); }
};
// "src/x.cu:41  step(float*)"
std::string export_place_text(const ExportPlace& place);

struct ExportStack {
    std::string role;                 // "the copy", "page-locked by"
    std::vector<ExportPlace> frames;  // innermost first, inlined functions too; never empty
    std::size_t heading = 0;          // of `frames`
};

struct ExportFinding {
    const Finding* finding = nullptr;
    const CaptureSite* site = nullptr;
    bool gated = false;
    std::string level;
    // The frame that heads it; where its file is not in the source tree, the nearest caller whose file is.
    std::optional<ExportPlace> place;  // none without a stack
    std::string rule;                  // slug
    std::string call;                  // "cudaMemcpyAsync, D2H 4 B x 6,240, pageable"
    std::string cost;                  // "19.8 s held", "corrupting, 60 times"
    std::string message;               // call, cost, why, and where the call is when `place` is a caller
    std::string fix;                   // "" or a sentence
    std::vector<ExportStack> stacks;   // its own first, then those of a race's other parties
    std::string fingerprint;           // different for each finding
};

// What gates first, each worst first.
std::vector<ExportFinding> export_findings(const LoadResult& loaded, const Judgement& judgement,
                                           const Origins& origins);

}  // namespace pincheck
