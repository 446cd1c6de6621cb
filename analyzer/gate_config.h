// pincheck.toml: a gate's settings, for everybody who runs it.
#pragma once

#include <string>

#include "gate_settings.h"

namespace pincheck {

// Found in the working directory.
inline constexpr const char* kConfigName = "pincheck.toml";

// Names of files in it are relative to its folder. Returns "" or what is wrong, with file and line.
std::string read_gate_config(const std::string& path, GateSettings& settings);

}  // namespace pincheck
