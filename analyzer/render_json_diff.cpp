#include "render_json_diff.h"

#include <nlohmann/json.hpp>

#include "render_text_parts.h"

namespace pincheck {
namespace {

using Json = nlohmann::ordered_json;

Json or_null(const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
}

Json run_json(const ListedRun& run) {
    return {{"file", run.file},
            {"processes", run.processes},
            {"duration_ns", run.duration_ns},
            {"cuda_calls", run.cuda_calls},
            {"findings", run.findings.size()},
            {"reasons", run.reasons}};
}

Json side_json(const ListedRun& run, const std::optional<DiffSide>& side) {
    if (!side) {
        return nullptr;
    }
    const ListedFinding& finding = run.findings[side->finding];
    return {{"number", side->finding + 1},
            {"place", finding.place},
            {"places", side->places},
            {"heading", or_null(finding.heading)},
            {"severity", severity_text(side->severity)},
            {"gated", side->gated},
            {"decision", finding.decision},
            {"amounts",
             {{"count", side->amounts.count}, {"bytes", side->amounts.bytes}, {"held_ns", side->amounts.held_ns}}}};
}

}  // namespace

std::string diff_json(const ListedRun& then, const ListedRun& now, const Diff& diff, const DiffLimits& limits) {
    Json differs = Json::array();
    for (const auto& [name, differ] :
         {std::pair{"processes", diff.processes}, {"cuda_calls", diff.cuda_calls}, {"duration_ns", diff.duration}}) {
        if (differ) {
            differs.push_back(name);
        }
    }
    Json counts;
    for (const Change change : {Change::fresh, Change::worse, Change::better, Change::fixed, Change::unchanged}) {
        counts[name_of(change)] = diff.count(change);
    }
    Json changes = Json::array();
    for (const DiffEntry& entry : diff.entries) {
        const ListedFinding& finding =
            entry.now ? now.findings[entry.now->finding] : then.findings[entry.then->finding];
        changes.push_back({{"change", name_of(entry.change)},
                           {"rule", finding.rule},
                           {"cause", or_null(finding.cause)},
                           {"api", finding.api},
                           {"fingerprint", finding.fingerprint},
                           {"moved", entry.moved},
                           {"old", side_json(then, entry.then)},
                           {"new", side_json(now, entry.now)}});
    }
    const Json json = {
        {"diff_schema", 1},
        {"limits",
         {{"percent", limits.percent}, {"held_percent", limits.held_percent}, {"held_least_ns", kLeastHeldNs}}},
        {"old", run_json(then)},
        {"new", run_json(now)},
        {"differs", std::move(differs)},
        {"counts", std::move(counts)},
        {"changes", std::move(changes)}};
    // ASCII only, as the export is.
    constexpr int kIndent = 2;
    return json.dump(kIndent, ' ', true, Json::error_handler_t::replace) + '\n';
}

}  // namespace pincheck
