#include "gate_settings.h"

#include "findings.h"
#include "nearest.h"

namespace pincheck {

std::string check_fail_on(const std::string& name) {
    if (name == "error" || name == "warning" || rule_by_slug(name) != nullptr) {
        return "";
    }
    std::vector<std::string> known = rule_slugs();
    known.insert(known.begin(), {"error", "warning"});
    const std::string meant = did_you_mean(name, known);
    return "there is no rule '" + name + "'" + meant + (meant.empty() ? "; " : " ") +
           "'pincheck explain' lists them, and error and warning stand for all of that severity";
}

}  // namespace pincheck
