#include "render_json_gate.h"

#include <nlohmann/json.hpp>

namespace pincheck {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json or_null(const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
}

Json suppression_json(const Suppression& row, std::size_t matched, std::chrono::sys_days today) {
    Json rules = Json::array();
    for (const Rule rule : row.rules) {
        rules.push_back(slug_of(rule));
    }
    return {{"file", row.file},
            {"line", row.line},
            {"rules", std::move(rules)},
            {"module", or_null(row.module)},
            {"function", or_null(row.function)},
            {"source", or_null(row.source)},
            {"fingerprint", or_null(row.fingerprint)},
            {"frames", row.any_frame ? "any" : "heading"},
            {"reason", row.reason},
            {"expires", row.expires ? Json(date_text(*row.expires)) : Json(nullptr)},
            {"expired", is_expired(row, today)},
            {"matched", matched}};
}

}  // namespace

Json policy_json(const Judgement& judgement) {
    const PolicyOptions& policy = judgement.policy;
    Json thresholds = Json::array();
    for (const Threshold& threshold : policy.thresholds) {
        thresholds.push_back({{"rule", slug_of(threshold.rule)},
                              {"count", or_null(threshold.count)},
                              {"bytes", or_null(threshold.bytes)},
                              {"held_ns", or_null(threshold.held_ns)}});
    }
    Json suppressions = Json::array();
    for (std::size_t i = 0; i < policy.suppressions.size() && i < judgement.matched.size(); ++i) {
        suppressions.push_back(suppression_json(policy.suppressions[i], judgement.matched[i], policy.today));
    }
    Json baseline = nullptr;
    if (policy.baseline) {
        baseline = {
            {"file", policy.baseline->file}, {"findings", policy.baseline->findings}, {"fixed", judgement.fixed}};
    }
    return {{"config", or_null(policy.config)},
            {"strict", policy.strict},
            {"allow_staged", policy.allow_staged},
            {"allow_no_cuda", policy.allow_no_cuda},
            {"fail_on", policy.fail_on},
            {"thresholds", std::move(thresholds)},
            {"suppressions", std::move(suppressions)},
            {"baseline", std::move(baseline)},
            {"worse",
             {{"count", or_null(policy.worse.count)},
              {"bytes", or_null(policy.worse.bytes)},
              {"held", or_null(policy.worse.held)}}}};
}

void add_ruling(Json& json, const Finding& finding) {
    json["fingerprint"] = finding.identity.fingerprint;
    json["place"] = finding.identity.place;
    json["amounts"] = {
        {"count", finding.amounts.count}, {"bytes", finding.amounts.bytes}, {"held_ns", finding.amounts.held_ns}};
    json["decision"] = name_of(finding.ruling.decision);
    json["decision_why"] = finding.ruling.why;
    json["suppression"] = or_null(finding.ruling.suppression);
    json["since"] = name_of(finding.ruling.since);
}

}  // namespace pincheck
