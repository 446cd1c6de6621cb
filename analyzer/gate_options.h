// The options that say what gates, and the way from them and a configuration file to a policy.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "command_line.h"
#include "policy.h"

namespace pincheck {

// As typed.
struct GateOptions {
    std::string config;
    bool no_config = false;
    std::optional<bool> strict;
    std::optional<bool> allow_staged;
    std::optional<bool> allow_no_cuda;
    std::vector<std::string> fail_on;
    std::vector<std::string> thresholds;
    std::vector<std::string> suppressions;
    std::string baseline;
    std::vector<std::string> worse;
};

// --config and --no-config.
void add_config_options(Verb verb, GateOptions& options);
// These, and --strict, --allow-staged, --allow-no-cuda, --fail-on, --gate-threshold, --suppressions, --baseline,
// --worse.
void add_gate_options(Verb verb, GateOptions& options);

struct Gate {
    PolicyOptions policy;
    // Nothing was typed: `pincheck show` and `report` without options judge alike in this folder.
    bool plain = true;
    std::string error;  // "" or what is wrong: with the options or with a file
};

// Reads --config, or pincheck.toml where the working directory has one, and all files named there and by options. What
// was typed wins over the file; suppressions add up, and of thresholds and --worse what is not typed stays. Names of
// files are relative to the configuration file, or to the working directory.
Gate read_gate(const GateOptions& options);

}  // namespace pincheck
