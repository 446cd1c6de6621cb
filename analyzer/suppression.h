// Rows of a suppression file: findings that a team has looked at and lets pass, each with the reason.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "findings.h"

namespace pincheck {

// Patterns are as in a shell (* ? [a-z], a backslash before one of these takes it as it is; * matches a slash too).
// "" stands for everything; at least one of the four is given.
struct Suppression {
    std::string file;  // where the row stands
    std::uint32_t line = 0;
    std::vector<Rule> rules;  // empty: every rule
    // A module's or source file's base name; with a slash in the pattern its whole path, or the end of it from a
    // component on ("src/train.cu").
    std::string module;
    std::string source;
    // A function as it is shown ("Meter::update(float*)") or without parameters and template arguments
    // ("Meter::update").
    std::string function;
    std::string fingerprint;
    // Which frames the first three must match, all of them the same one: the one that the finding is headed by, or any
    // outside CUDA (everything below that function, or everything that a library calls).
    bool any_frame = false;
    std::string reason;
    std::optional<std::chrono::sys_days> expires;  // the last day on which it holds, UTC
};

// A finding's sites are its own, those that are shown with it (hidden waits), and a race's other party: one will do.
bool matches(const Suppression& row, const Capture& capture, const Finding& finding, const Origins& origins);

bool is_expired(const Suppression& row, std::chrono::sys_days today);

// "gate.toml:12"
std::string place_of(const Suppression& row);
// "2027-01-31"
std::string date_text(std::chrono::sys_days day);

// A row that suppresses this finding and little else, to be pasted into a file; its reason is left empty, which is not
// accepted.
std::string row_for(const Capture& capture, const Finding& finding, const Origins& origins);

}  // namespace pincheck
