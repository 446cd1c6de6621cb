// Settings of a gate as one source gives them: a configuration file, or the command line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "baseline.h"
#include "threshold.h"

namespace pincheck {

// A file, and where it is named: "pincheck.toml:3", "" on the command line.
struct NamedFile {
    std::string path;
    std::string named_at;
};

struct GateSettings {
    std::optional<bool> strict;
    std::optional<bool> allow_staged;
    std::optional<bool> allow_no_cuda;
    std::vector<std::string> fail_on;  // empty: not given
    std::vector<Threshold> thresholds;
    std::vector<NamedFile> suppressions;
    NamedFile baseline;  // its path is "" for none
    Worse worse;
};

// "" or what is wrong with one name for fail_on: a rule, error or warning.
std::string check_fail_on(const std::string& name);

}  // namespace pincheck
