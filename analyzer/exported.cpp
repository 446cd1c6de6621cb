#include "exported.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "symbolize.h"
#include "text_file.h"

namespace pincheck {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostBytes = 512 << 20;
constexpr int kSchema = 1;
constexpr std::string_view kVersion = "v1:";

std::string write_it(const std::string& path) {
    return "; write it with 'pincheck export --no-config --format=json -o " + path + " REPORTS'";
}

std::string text_at(const Json& json, const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

std::uint64_t number_at(const Json& json, const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

// Of several hundred megabytes of sites and of what each process could see only what is compared is kept.
Json parse(const std::string& text) {
    static constexpr std::array<std::string_view, 4> kParts = {"schema", "findings", "processes", "reasons"};
    static constexpr std::array<std::string_view, 2> kOfProcesses = {"duration_ns", "cuda_calls"};
    const auto is_one_of = [](const auto& names, const Json& key) {
        return std::ranges::any_of(names, [&](std::string_view name) { return key == name; });
    };
    bool in_processes = false;
    return Json::parse(text, [&](int depth, Json::parse_event_t event, Json& parsed) {
        if (event != Json::parse_event_t::key) {
            return true;
        }
        if (depth == 1) {
            in_processes = parsed == "processes";
            return is_one_of(kParts, parsed);
        }
        return depth != 3 || !in_processes || is_one_of(kOfProcesses, parsed);
    });
}

// "" or what is wrong.
std::string add_finding(const Json& json, ListedRun& run) {
    if (!json.is_object()) {
        return "holds something that is no finding";
    }
    ListedFinding finding;
    finding.fingerprint = text_at(json, "fingerprint");
    if (finding.fingerprint.empty()) {
        return "has findings without fingerprints: an older pincheck wrote it";
    }
    if (!finding.fingerprint.starts_with(kVersion)) {
        return "has fingerprints of another version of pincheck (" +
               finding.fingerprint.substr(0, finding.fingerprint.find(':')) + ')';
    }
    finding.place = text_at(json, "place");
    finding.rule = text_at(json, "rule");
    finding.cause = text_at(json, "cause");
    finding.heading = text_at(json, "heading");
    finding.api = text_at(json, "api");
    const std::string severity = text_at(json, "severity");
    finding.severity = severity == "error"     ? Severity::error
                       : severity == "warning" ? Severity::warning
                                               : Severity::note;
    const auto gated = json.find("gated");
    finding.gated = gated != json.end() && gated->is_boolean() && gated->get<bool>();
    finding.decision = text_at(json, "decision");
    if (const auto amounts = json.find("amounts"); amounts != json.end() && amounts->is_object()) {
        finding.amounts = {number_at(*amounts, "count"), number_at(*amounts, "bytes"), number_at(*amounts, "held_ns")};
    }
    run.findings.push_back(std::move(finding));
    return "";
}

void add_processes(const Json& processes, ListedRun& run) {
    for (const Json& process : processes) {
        if (process.is_object()) {
            ++run.processes;
            run.duration_ns = std::max(run.duration_ns, number_at(process, "duration_ns"));
            run.cuda_calls += number_at(process, "cuda_calls");
        }
    }
}

std::string add_all(const Json& json, ListedRun& run) {
    const auto findings = json.is_object() ? json.find("findings") : json.end();
    const auto schema = json.is_object() ? json.find("schema") : json.end();
    if (schema == json.end() || findings == json.end() || !findings->is_array()) {
        return "is no export of pincheck";
    }
    if (!schema->is_number_integer() || *schema != kSchema) {
        return fmt::format("has schema {}, and this pincheck reads {}",
                           schema->dump(-1, ' ', true, Json::error_handler_t::replace), kSchema);
    }
    for (const Json& finding : *findings) {
        if (std::string wrong = add_finding(finding, run); !wrong.empty()) {
            return wrong;
        }
    }
    if (const auto processes = json.find("processes"); processes != json.end() && processes->is_array()) {
        add_processes(*processes, run);
    }
    if (const auto reasons = json.find("reasons"); reasons != json.end() && reasons->is_array()) {
        for (const Json& reason : *reasons) {
            if (reason.is_string()) {
                run.reasons.push_back(reason.get<std::string>());
            }
        }
    }
    return "";
}

}  // namespace

std::string heading_text(const Capture& capture, const Finding& finding, const Origins& origins) {
    if (finding.site == 0 || finding.site > capture.sites.size() || finding.heading < 0) {
        return "";
    }
    const std::vector<CaptureFrame>& stack = capture.sites[finding.site - 1].stack;
    const auto index = static_cast<std::size_t>(finding.heading);
    return index < stack.size() ? frame_text(capture, stack[index], shown_line(stack[index], origins)) : "";
}

std::string read_exported(const std::string& path, ListedRun& run) {
    run = {};
    run.file = path;
    const TextFile file = read_text_file(path, kMostBytes);
    if (!file.error.empty()) {
        return file.error + write_it(path);
    }
    try {
        const std::string wrong = add_all(parse(file.text), run);
        return wrong.empty() ? "" : path + ' ' + wrong + write_it(path);
    } catch (const Json::parse_error& error) {
        return fmt::format("{} is not JSON from byte {} on{}", path, error.byte, write_it(path));
    } catch (const Json::exception&) {
        return path + " has a number in it that is none" + write_it(path);  // 1e999
    }
}

}  // namespace pincheck
