// The table of all rules.
#include <algorithm>
#include <iterator>

#include "explain.h"
#include "findings.h"
#include "races.h"
#include "site_rules.h"

namespace pincheck {

const std::vector<RuleInfo>& rules() {
    static const std::vector<RuleInfo> table = [] {
        std::vector<RuleInfo> all = {
            {Rule::pageable_async_copy, "pageable-async-copy", Severity::error,
             "an asynchronous copy's host side is pageable: the call stages or waits",
             explain_text(Rule::pageable_async_copy)},
            {Rule::managed_async_copy, "managed-async-copy", Severity::warning,
             "an asynchronous copy of managed memory waits", explain_text(Rule::managed_async_copy)},
            {Rule::copy_then_sync, "copy-then-sync", Severity::warning,
             "a copy that the caller waits for at once: asynchrony is not used", explain_text(Rule::copy_then_sync)},
            {Rule::straddles_registration, "straddles-registration", Severity::error,
             "a copy whose range is partly registered fails", explain_text(Rule::straddles_registration)},
            {Rule::hidden_wait, "hidden-wait", Severity::warning,
             "a call that is asynchronous, or synchronises nothing by its purpose, held the host",
             explain_text(Rule::hidden_wait)},
        };
        std::ranges::move(race_rules(), std::back_inserter(all));
        std::ranges::move(site_rules(), std::back_inserter(all));
        return all;
    }();
    return table;
}

const RuleInfo* rule_by_slug(const std::string& slug) {
    const auto found = std::ranges::find_if(rules(), [&](const RuleInfo& rule) { return rule.slug == slug; });
    return found == rules().end() ? nullptr : &*found;
}

const char* slug_of(Rule rule) {
    const auto found = std::ranges::find(rules(), rule, &RuleInfo::rule);
    return found == rules().end() ? "?" : found->slug;
}

}  // namespace pincheck
