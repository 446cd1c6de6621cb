// SARIF 2.1.0: findings for code scanning, https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "export_findings.h"

namespace pincheck {

struct SarifOptions {
    std::string version;      // of pincheck
    std::string source_root;  // absolute; "": not told
    // Results without a file in the source tree become notifications: GitHub's code scanning refuses a whole file for
    // one of them.
    bool located = false;
};

// Plain ASCII. Places in the source tree are relative to the base SRCROOT, others have file:// URIs. A finding without
// a file has its module and function only.
std::string render_sarif(const LoadResult& loaded, const Judgement& judgement, const Origins& origins,
                         const SarifOptions& options);

// The rules, in the order of rules(), with what `pincheck explain` says of them.
nlohmann::ordered_json sarif_rules();

}  // namespace pincheck
