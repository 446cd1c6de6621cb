#include "export.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "export_findings.h"
#include "printable.h"
#include "redact.h"
#include "render_github.h"
#include "render_json.h"
#include "render_junit.h"
#include "render_lines.h"
#include "render_markdown.h"
#include "render_openmetrics.h"
#include "render_sarif.h"
#include "source_paths.h"

namespace pincheck {
namespace {

std::string check_map(const std::string& text) {
    return parse_path_map(text) ? ""
                                : "'" + text + "' is not A=B, where A is a folder of the build and B what it is here";
}

void place_files(Capture& capture, const SourcePaths& paths) {
    for (CaptureSite& site : capture.sites) {
        for (CaptureFrame& frame : site.stack) {
            for (SourceLine& line : frame.lines) {
                line.file = paths.place(line.file);
            }
        }
    }
}

// JSON has files as the debug information has them, unless something else was asked for. Lines too: they are put beside
// those of other machines, and read in no source tree.
bool places_files(const std::string& format, const ExportOptions& options) {
    return (format != "json" && format != "jsonl") || options.redact || !options.source_root.empty() ||
           !options.maps.empty();
}

// A wrong root would show as a clean run in code scanning.
void say_unplaced(const std::vector<ExportFinding>& findings, const SourcePaths& paths) {
    const auto unplaced = std::ranges::count_if(
        findings, [](const ExportFinding& finding) { return !(finding.place && finding.place->in_tree()); });
    if (unplaced != 0) {
        std::fprintf(stderr,
                     "pincheck: %td of %zu findings have no file below %s and are no results in the SARIF file; is "
                     "--source-root right, or --map needed?\n",
                     unplaced, findings.size(), printable(paths.root()).c_str());
    }
}

auto key_of(const Finding& finding) {
    return std::make_tuple(finding.rule, finding.site, finding.cause, finding.presumed, finding.other_site);
}

// What was decided by the names that files really have, with the texts that name them otherwise.
Judgement with_decisions(Judgement judgement, const Judgement& decided, bool hide_folders) {
    std::map<decltype(key_of(Finding{})), const Finding*> by_key;
    for (const std::vector<Finding>* list : {&decided.gated, &decided.not_gated}) {
        for (const Finding& finding : *list) {
            by_key.emplace(key_of(finding), &finding);
        }
    }
    std::vector<Finding> all = std::move(judgement.gated);
    std::ranges::move(judgement.not_gated, std::back_inserter(all));
    judgement.gated.clear();
    judgement.not_gated.clear();
    for (Finding& finding : all) {
        if (const auto found = by_key.find(key_of(finding)); found != by_key.end()) {
            finding.identity = found->second->identity;
            finding.ruling = found->second->ruling;
            if (hide_folders) {
                finding.ruling.why = without_folders(finding.ruling.why);
            }
        }
        (gates(finding.ruling.decision) ? judgement.gated : judgement.not_gated).push_back(std::move(finding));
    }
    judgement.verdict = decided.verdict;
    judgement.matched = decided.matched;
    judgement.fixed = decided.fixed;
    return judgement;
}

}  // namespace

const std::vector<std::string>& export_formats() {
    static const std::vector<std::string> formats = {"json",     "sarif", "junit",      "github",
                                                     "markdown", "jsonl", "openmetrics"};
    return formats;
}

void add_export_options(Verb verb, ExportOptions& options) {
    verb.text("--source-root", options.source_root,
              "Root of the source tree, which paths are relative to (default: the working directory)", "DIR");
    verb.texts("--map", options.maps,
               "Files below the build's folder A are those below B (repeatable; the first that fits is used)", "A=B",
               check_map);
    verb.flag("--redact", options.redact,
              "Leave out arguments, host, process ids, times of day, addresses, and folders outside the source tree");
    verb.flag("--located", options.located,
              "SARIF: make notifications of findings without a file in the source tree, as GitHub demands");
    verb.text("--job", options.job,
              "jsonl, openmetrics: what to call this job, for example $SLURM_JOB_ID; stays with --redact", "NAME");
}

std::string export_text(const Look& look, const std::string& format, const ExportOptions& options) {
    std::vector<PathMap> maps;
    for (const std::string& text : options.maps) {
        maps.push_back(parse_path_map(text).value_or(PathMap{}));
    }
    const SourcePaths paths(options.source_root, std::move(maps));
    LoadResult loaded = look.loaded;
    Origins origins = look.origins;
    if (places_files(format, options)) {
        place_files(loaded.capture, paths);
    }
    if (options.redact) {
        redact(loaded, origins);
    }
    PolicyOptions policy = look.judgement.policy;
    if (options.redact) {
        redact(policy);
    }
    const Judgement judgement = with_decisions(judge(loaded, find(loaded.capture, origins), origins, policy, {}),
                                               look.judgement, options.redact);
    if (format == "sarif") {
        if (options.located) {
            say_unplaced(export_findings(loaded, judgement, origins), paths);
        }
        return render_sarif(loaded, judgement, origins,
                            {PINCHECK_VERSION, options.redact ? "" : paths.root(), options.located}) +
               '\n';
    }
    if (format == "junit") {
        return render_junit(loaded, judgement, origins);
    }
    if (format == "github") {
        return render_github(loaded, judgement, origins);
    }
    if (format == "markdown") {
        return render_markdown(loaded, judgement, origins, {options.redact ? "" : look.screen.report_place});
    }
    if (format == "jsonl") {
        return render_lines(loaded, judgement, origins, PINCHECK_VERSION, options.job);
    }
    if (format == "openmetrics") {
        return render_openmetrics(loaded, judgement, PINCHECK_VERSION, options.job);
    }
    return render_json(loaded, judgement, origins) + '\n';
}

std::string problem_of_export(const std::string& wanted) {
    const std::size_t equals = wanted.find('=');
    const bool known = std::ranges::find(export_formats(), wanted.substr(0, equals)) != export_formats().end();
    return known && equals != wanted.npos && equals + 1 < wanted.size()
               ? ""
               : "'" + wanted +
                     "' is not FORMAT=FILE with one of the formats json, sarif, junit, github, markdown, jsonl, "
                     "openmetrics";
}

bool write_export(const Look& look, const std::string& wanted, const ExportOptions& options) {
    const std::size_t equals = wanted.find('=');
    return write_file(wanted.substr(equals + 1), export_text(look, wanted.substr(0, equals), options), "--export");
}

bool write_file(const std::string& path, const std::string& text, const char* option) {
    std::FILE* file = std::fopen(path.c_str(), "we");
    bool written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
    int error = errno;
    if (file != nullptr && std::fclose(file) != 0 && written) {
        written = false;
        error = errno;
    }
    if (!written) {
        std::fprintf(stderr, "pincheck: cannot write %s: %s; name another file with %s\n", printable(path).c_str(),
                     std::strerror(error), option);
    }
    return written;
}

}  // namespace pincheck
