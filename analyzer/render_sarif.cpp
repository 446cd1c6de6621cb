#include "render_sarif.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "names.h"
#include "printable.h"
#include "render_text_coverage.h"
#include "source_paths.h"

namespace pincheck {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
constexpr const char* kBase = "SRCROOT";
constexpr const char* kNoConclusion = "no-conclusion";
constexpr const char* kNotSeen = "not-seen";
constexpr const char* kNoPlace = "no-place";

// In SARIF's messages braces enclose placeholders, and "[text](target)" is a link.
Json message(const std::string& text) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        result += c;
        if (c == '{' || c == '}') {
            result += c;
        } else if (c == ']' && i + 1 < text.size() && text[i + 1] == '(') {
            result += ' ';
        }
    }
    return {{"text", result}};
}

// The files of the run, each once.
class Artifacts {
  public:
    Json reference(const std::string& file) {
        const Json location = location_of(file);
        const auto found = std::ranges::find(files_, file);
        Json result = location;
        result["index"] = found - files_.begin();
        if (found == files_.end()) {
            files_.push_back(file);
            list_.push_back({{"location", location}});
        }
        return result;
    }
    Json take() { return std::move(list_); }

  private:
    static Json location_of(const std::string& file) {
        Json location = {{"uri", uri_of(file)}};
        if (!file.starts_with('/')) {
            location["uriBaseId"] = kBase;
        }
        return location;
    }

    std::vector<std::string> files_;
    Json list_ = Json::array();
};

Json logical_location(const ExportPlace& place) {
    if (place.function.empty()) {
        return {{"name", place.module}, {"fullyQualifiedName", place.module}, {"kind", "module"}};
    }
    const std::string module = place.module.empty() ? "" : place.module + '!';
    return {{"name", place.function}, {"fullyQualifiedName", module + place.function}, {"kind", "function"}};
}

Json location(const ExportPlace& place, Artifacts& artifacts) {
    Json result = Json::object();
    if (!place.file.empty()) {
        result["physicalLocation"] = {{"artifactLocation", artifacts.reference(place.file)},
                                      {"region", {{"startLine", place.line}}}};
    }
    if (!place.function.empty() || !place.module.empty()) {
        result["logicalLocations"] = Json::array({logical_location(place)});
    }
    return result;
}

Json stack(const ExportStack& stack, Artifacts& artifacts) {
    Json frames = Json::array();
    for (const ExportPlace& place : stack.frames) {
        Json where = location(place, artifacts);
        where["message"] = message(export_place_text(place));
        Json frame = {{"location", std::move(where)}};
        if (!place.module.empty()) {
            frame["module"] = place.module;
        }
        frames.push_back(std::move(frame));
    }
    return {{"message", message(stack.role)}, {"frames", std::move(frames)}};
}

// Other calls that the finding is about, where they have a file; the message links the second party of a race.
void add_related(Json& result, const ExportFinding& finding, Artifacts& artifacts) {
    Json related = Json::array();
    for (std::size_t i = 1; i < finding.stacks.size(); ++i) {
        const ExportStack& other = finding.stacks[i];
        const ExportPlace& place = other.frames[other.heading];
        if (!place.in_tree()) {
            continue;
        }
        Json where = location(place, artifacts);
        where["id"] = related.size() + 1;
        where["message"] = message(other.role);
        related.push_back(std::move(where));
    }
    if (!related.empty()) {
        auto& text = result["message"]["text"].get_ref<std::string&>();
        text += " See [" + related[0]["message"]["text"].get<std::string>() + "](1).";
        result["relatedLocations"] = std::move(related);
    }
}

Json properties(const ExportFinding& exported) {
    const Finding& finding = *exported.finding;
    Json result = {{"gated", exported.gated},
                   {"call", exported.call},
                   {"heldNs", finding.held_ns},
                   {"once", finding.once},
                   {"count", finding.count},
                   {"corrupting", finding.corrupting},
                   {"latent", finding.latent},
                   {"presumed", finding.presumed},
                   {"cause", nullptr},
                   {"decision", name_of(finding.ruling.decision)},
                   {"decisionWhy", printable(finding.ruling.why)}};
    if (finding.cause) {
        result["cause"] = name(*finding.cause);
    }
    if (exported.site != nullptr) {
        const CaptureSite& site = *exported.site;
        result["calls"] = site.calls;
        result["bytes"] = site.bytes;
        result["direction"] = name(site.direction);
        result["source"] = name(site.source.kind);
        result["destination"] = name(site.destination.kind);
    }
    return result;
}

std::size_t rule_index(Rule rule) {
    return static_cast<std::size_t>(std::ranges::find(rules(), rule, &RuleInfo::rule) - rules().begin());
}

std::string whole_text(const ExportFinding& finding) {
    return finding.message + (finding.fix.empty() ? "" : " Fix: " + finding.fix);
}

// SARIF 2.1.0, 3.27.23 and 3.27.24.
void add_state(Json& json, const Ruling& ruling) {
    if (ruling.decision == Decision::suppressed) {
        json["suppressions"] = {
            {{"kind", "external"}, {"status", "accepted"}, {"justification", printable(ruling.why)}}};
    }
    if (ruling.since != Since::no_baseline) {
        json["baselineState"] = ruling.since == Since::fresh   ? "new"
                                : ruling.since == Since::worse ? "updated"
                                                               : "unchanged";
    }
}

Json result(const ExportFinding& finding, Artifacts& artifacts) {
    Json json = {
        {"ruleId", finding.rule},           {"ruleIndex", rule_index(finding.finding->rule)},
        {"level", finding.level},           {"message", message(whole_text(finding))},
        {"locations", Json::array()},       {"partialFingerprints", {{"pincheckFinding/v1", finding.fingerprint}}},
        {"properties", properties(finding)}};
    add_state(json, finding.finding->ruling);
    if (finding.place) {
        if (Json where = location(*finding.place, artifacts); !where.empty()) {
            json["locations"].push_back(std::move(where));
        }
    }
    add_related(json, finding, artifacts);
    if (!finding.stacks.empty()) {
        json["stacks"] = Json::array();
        for (const ExportStack& one : finding.stacks) {
            json["stacks"].push_back(stack(one, artifacts));
        }
    }
    return json;
}

Json notification(const char* id, std::size_t index, const char* level, const std::string& text) {
    return {{"descriptor", {{"id", id}, {"index", index}}}, {"level", level}, {"message", message(text)}};
}

Json notification_kinds() {
    const auto kind = [](const char* id, const char* text) {
        return Json{{"id", id}, {"shortDescription", {{"text", text}}}};
    };
    return Json::array({kind(kNoConclusion, "why there is no conclusion"),
                        kind(kNotSeen, "what was not looked at, or not kept"),
                        kind(kNoPlace, "a finding without a file in the source tree")});
}

Json invocation(const LoadResult& loaded, const Judgement& judgement, Json unplaced) {
    const Verdict verdict = judgement.verdict;
    Json notifications = Json::array();
    if (verdict == Verdict::no_conclusion) {
        for (const std::string& reason : judgement.reasons) {
            notifications.push_back(notification(kNoConclusion, 0, "error", printable(reason)));
        }
    }
    for (const std::string& text : not_seen(loaded, judgement)) {
        notifications.push_back(notification(kNotSeen, 1, "warning", text));
    }
    for (Json& one : unplaced) {
        notifications.push_back(std::move(one));
    }
    return {{"executionSuccessful", verdict != Verdict::no_conclusion},
            // As `pincheck check` ends.
            {"exitCode", verdict == Verdict::pass       ? 0
                         : verdict == Verdict::violated ? 1
                                                        : 3},
            {"exitCodeDescription", verdict == Verdict::pass       ? "pass"
                                    : verdict == Verdict::violated ? "violated"
                                                                   : "no conclusion"},
            {"toolExecutionNotifications", std::move(notifications)}};
}

Json source_root(const std::string& root) {
    Json base = {{"description", {{"text", "the root of the source tree"}}}};
    if (!root.empty()) {
        base["uri"] = uri_of(root) + (root.ends_with('/') ? "" : "/");
    }
    return base;
}

}  // namespace

std::string render_sarif(const LoadResult& loaded, const Judgement& judgement, const Origins& origins,
                         const SarifOptions& options) {
    Artifacts artifacts;
    Json results = Json::array();
    Json unplaced = Json::array();
    for (const ExportFinding& finding : export_findings(loaded, judgement, origins)) {
        if (options.located && !(finding.place && finding.place->in_tree())) {
            const std::string where = finding.place ? " at " + export_place_text(*finding.place) : "";
            unplaced.push_back(
                notification(kNoPlace, 2, finding.level.c_str(), finding.rule + where + ": " + whole_text(finding)));
        } else {
            results.push_back(result(finding, artifacts));
        }
    }
    const Json json = {
        {"$schema", kSchema},
        {"version", "2.1.0"},
        {"runs", Json::array({{{"tool",
                                {{"driver",
                                  {{"name", "pincheck"},
                                   {"version", options.version},
                                   {"semanticVersion", options.version},
                                   {"rules", sarif_rules()},
                                   {"notifications", notification_kinds()}}}}},
                               {"invocations", Json::array({invocation(loaded, judgement, std::move(unplaced))})},
                               {"originalUriBaseIds", {{kBase, source_root(options.source_root)}}},
                               {"artifacts", artifacts.take()},
                               {"results", std::move(results)}}})},
    };
    constexpr int kIndent = 2;
    return json.dump(kIndent, ' ', true, Json::error_handler_t::replace);
}

}  // namespace pincheck
