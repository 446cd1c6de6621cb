#include "diff_run.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <utility>

#include "names.h"
#include "place.h"
#include "printable.h"

namespace pincheck {
namespace {

ListedFinding listed(const Finding& finding, const Look& look) {
    const Capture& capture = look.loaded.capture;
    ListedFinding result;
    result.fingerprint = finding.identity.fingerprint;
    result.place = finding.identity.place;
    result.rule = slug_of(finding.rule);
    result.cause = finding.cause ? name(*finding.cause) : "";
    result.heading = heading_text(capture, finding, look.origins);
    result.api = finding.api;
    result.severity = finding.severity;
    result.gated = gates(finding.ruling.decision);
    result.decision = name_of(finding.ruling.decision);
    result.amounts = finding.amounts;
    return result;
}

}  // namespace

bool is_exported(const std::string& path) {
    std::error_code error;
    const std::filesystem::file_status status = std::filesystem::status(path, error);
    if (std::filesystem::is_directory(status)) {
        return false;
    }
    if (path.ends_with(".json") || !std::filesystem::exists(status)) {
        return path.ends_with(".json");
    }
    if (!std::filesystem::is_regular_file(status)) {
        return !path.ends_with(".pcr");
    }
    std::ifstream file(path, std::ios::binary);
    char first = 0;
    return file >> first && first == '{';  // after spaces
}

ListedRun listed(const Look& look) {
    ListedRun run;
    for (const auto* findings : {&look.judgement.gated, &look.judgement.not_gated}) {
        for (const Finding& finding : *findings) {
            run.findings.push_back(listed(finding, look));
        }
    }
    for (const CaptureProcess& process : look.loaded.capture.processes) {
        ++run.processes;
        run.duration_ns = std::max(run.duration_ns, process.duration_ns);
        run.cuda_calls += process.cuda_calls;
    }
    run.reasons = look.judgement.reasons;
    return run;
}

std::optional<ListedRun> read_run(const std::string& path, LookOptions options) {
    if (is_exported(path)) {
        ListedRun run;
        const std::string problem = read_exported(path, run);
        if (!problem.empty()) {
            std::fprintf(stderr, "pincheck: %s\n", printable(problem).c_str());
            return std::nullopt;
        }
        return run;
    }
    options.paths = {path};
    const std::optional<Look> look = look_at(options);
    if (!look) {
        return std::nullopt;
    }
    ListedRun run = listed(*look);
    run.file = path;
    return run;
}

}  // namespace pincheck
