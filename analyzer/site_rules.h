// Rules that need nothing but a site's own facts: downloads into write-combined memory and reads from it, releases that
// always fail.
#pragma once

#include <string>
#include <vector>

#include "findings.h"

namespace pincheck {

// For the table behind rules().
std::vector<RuleInfo> site_rules();

// "byte 17 of 64 KiB", "bytes 64 to 127 of 4 KiB", "all 4 KiB"
std::string read_bytes_text(const CaptureRead& read);

// Not sorted.
std::vector<Finding> find_by_site(const Capture& capture, const Origins& origins);

}  // namespace pincheck
