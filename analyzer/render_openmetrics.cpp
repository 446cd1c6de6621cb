#include "render_openmetrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "export_names.h"
#include "names.h"
#include "place.h"
#include "printable.h"
#include "render_text_parts.h"

namespace pincheck {
namespace {

struct Label {
    const char* name;
    std::string value;
};
using Labels = std::vector<Label>;

std::string escaped(std::string_view text) {
    std::string result;
    for (const char c : text) {
        result += c == '\n' ? "\\n" : c == '"' ? "\\\"" : c == '\\' ? "\\\\" : std::string(1, c);
    }
    return result;
}

// Names come from reports: no control characters, valid UTF-8, and short.
std::string shown(const std::string& text) {
    constexpr std::size_t kMost = 128;
    std::string result = printable(text);
    if (result.size() > kMost) {
        std::size_t end = kMost;
        while (end > 0 && (static_cast<unsigned char>(result[end]) & 0xc0) == 0x80) {
            --end;
        }
        result.resize(end);
    }
    return result;
}

// names.h shows as a number what this program does not know: a damaged file can hold any.
std::string bounded(std::string name) {
    return name.empty() || (name.front() >= '0' && name.front() <= '9') ? "other" : name;
}

std::string seconds(std::uint64_t ns) {
    constexpr std::uint64_t kSecond = 1'000'000'000;
    return fmt::format("{}.{:09}", ns / kSecond, ns % kSecond);
}

// One metric: its samples by labels, added up, in the order of their first use. Values are of one job and no counters
// of a service, so that all are gauges.
class Family {
  public:
    Family(std::string name, std::string unit, std::string help)
        : name_(std::move(name)), unit_(std::move(unit)), help_(std::move(help)) {}

    Family& add(const Labels& labels, std::uint64_t value) {
        std::string key;
        for (const Label& label : labels) {
            key += fmt::format("{}{}=\"{}\"", key.empty() ? "" : ",", label.name, escaped(label.value));
        }
        const auto [place, is_new] = at_.try_emplace(key, samples_.size());
        if (is_new) {
            samples_.emplace_back(key, 0);
        }
        samples_[place->second].second += value;
        return *this;
    }

    std::string text() const {
        std::string result = fmt::format("# TYPE {} gauge\n", name_);
        result += unit_.empty() ? "" : fmt::format("# UNIT {} {}\n", name_, unit_);
        result += fmt::format("# HELP {} {}\n", name_, escaped(help_));
        for (const auto& [labels, value] : samples_) {
            result += fmt::format("{}{}{}{} {}\n", name_, labels.empty() ? "" : "{", labels, labels.empty() ? "" : "}",
                                  unit_ == "seconds" ? seconds(value) : std::to_string(value));
        }
        return result;
    }

  private:
    std::string name_;
    std::string unit_;
    std::string help_;
    std::map<std::string, std::size_t> at_;
    std::vector<std::pair<std::string, std::uint64_t>> samples_;
};

// A value that all processes have; "" where they differ.
template <class Get>
std::string common(const Capture& capture, Get get) {
    std::string result;
    for (const CaptureProcess& process : capture.processes) {
        const std::string value = get(process);
        if (&process != &capture.processes.front() && value != result) {
            return "";
        }
        result = value;
    }
    return result;
}

std::string job_info(const Capture& capture, const std::string& version, const std::string& job) {
    const std::pair<const char*, std::string> labels[] = {
        {"version", version},
        {"program", common(capture, [](const CaptureProcess& one) { return base_name(one.executable); })},
        {"host", common(capture, [](const CaptureProcess& one) { return one.host; })},
        {"rank",
         common(capture,
                [](const CaptureProcess& one) { return one.rank == report::kNoRank ? "" : std::to_string(one.rank); })},
        {"job_id", job}};
    std::string list;
    for (const auto& [name, value] : labels) {
        list += value.empty() ? "" : fmt::format("{}{}=\"{}\"", list.empty() ? "" : ",", name, escaped(shown(value)));
    }
    return "# TYPE pincheck_job info\n# HELP pincheck_job What was measured, where all processes have it in common.\n"
           "pincheck_job_info{" +
           list + "} 1\n";
}

void add_verdict(std::string& text, const LoadResult& loaded, const Judgement& judgement) {
    Family verdict("pincheck_verdict", "", "1 for the verdict that was come to, 0 for the others.");
    for (const Verdict one : {Verdict::pass, Verdict::violated, Verdict::no_conclusion}) {
        verdict.add({{"verdict", name_of(one)}}, judgement.verdict == one ? 1 : 0);
    }
    text += verdict.text();
    text += Family("pincheck_unreadable_files", "", "Report files that could not be read.")
                .add({}, loaded.errors.size())
                .text();
}

Labels copy_labels(const CaptureSite& site) {
    return {{"direction", bounded(name(site.direction))},
            {"source", bounded(name(site.source.kind))},
            {"destination", bounded(name(site.destination.kind))}};
}

void add_findings(std::string& text, const Capture& capture, const Judgement& judgement) {
    Family findings("pincheck_findings", "", "Findings, by rule and by whether they gate.");
    Family held("pincheck_finding_held_seconds", "seconds",
                "Host time in the calls of findings whose cost is time, added up over threads.");
    Family found("pincheck_race_findings", "", "How often races were found, by what the device's times say of them.");
    for (const RuleInfo& rule : rules()) {
        for (const char* gated : {"true", "false"}) {
            findings.add({{"rule", rule.slug}, {"gated", gated}}, 0);
        }
    }
    for (const bool gated : {true, false}) {
        for (const Finding& finding : gated ? judgement.gated : judgement.not_gated) {
            const char* rule = slug_of(finding.rule);
            findings.add({{"rule", rule}, {"gated", gated ? "true" : "false"}}, 1);
            const CaptureSite* site = site_by_id(capture, finding.site);
            if (finding.is_timed() && site != nullptr) {
                Labels labels = {{"rule", rule}};
                std::ranges::move(copy_labels(*site), std::back_inserter(labels));
                held.add(labels, finding.held_ns);
            }
        }
    }
    for (const CaptureRace& race : capture.races) {
        const std::string rule = bounded(name(race.rule));
        const std::uint64_t known = std::min(race.count, race.corrupting + race.latent);
        found.add({{"rule", rule}, {"outcome", "corrupting"}}, race.corrupting)
            .add({{"rule", rule}, {"outcome", "latent"}}, race.latent)
            .add({{"rule", rule}, {"outcome", "unknown"}}, race.count - known);
    }
    text += findings.text() + held.text() + found.text();
}

void add_calls(std::string& text, const Capture& capture) {
    Family calls("pincheck_calls", "", "Recorded calls, by what they do; copies that graphs made are no calls.");
    Family failed("pincheck_failed_calls", "", "Of these, calls that returned an error.");
    Family call_time("pincheck_call_seconds", "seconds", "Host time in recorded calls, added up over threads.");
    Family copies("pincheck_copies", "", "Copies, those that graphs made included.");
    Family bytes("pincheck_copied_bytes", "bytes", "What these copies moved.");
    Family copy_time("pincheck_copy_seconds", "seconds", "Host time in calls that copy, added up over threads.");
    Family wait_calls("pincheck_held_calls", "", "Calls that held the host, by what they waited for.");
    Family wait_time("pincheck_held_seconds", "seconds", "Host time in these calls.");
    for (const CaptureSite& site : capture.sites) {
        const Labels kind = {{"kind", bounded(name(site.kind))}};
        if (!site.is_in_graph()) {
            calls.add(kind, site.calls);
            failed.add(kind, site.failed);
            call_time.add(kind, site.host_ns);
        }
        if (site.kind == report::SiteKind::copy && !site.is_captured()) {
            Labels labels = copy_labels(site);
            labels.push_back({"async", site.is_async() ? "true" : "false"});
            copies.add(labels, site.calls);
            bytes.add(labels, site.bytes);
            if (!site.is_in_graph()) {
                copy_time.add(labels, site.host_ns);
            }
        }
        for (const CaptureWait& wait : site.waits) {
            const Labels cause = {{"cause", bounded(name(wait.cause))}};
            wait_calls.add(cause, wait.calls);
            wait_time.add(cause, wait.ns);
        }
    }
    for (const Family* family : {&calls, &failed, &call_time, &copies, &bytes, &copy_time, &wait_calls, &wait_time}) {
        text += family->text();
    }
}

void add_processes(std::string& text, const Capture& capture) {
    Family processes("pincheck_processes", "", "Processes, by whether their report is whole (the exit handlers ran).");
    Family duration("pincheck_duration_seconds", "seconds",
                    "From the first CUDA call to the last snapshot; the longest.");
    Family pinned("pincheck_pinned_bytes", "bytes", "Page-locked at the end, in all processes.");
    Family pinned_most("pincheck_process_pinned_bytes", "bytes", "Page-locked at the end, most in one process.");
    Family ranges("pincheck_pinned_ranges", "", "Page-locked ranges at the end.");
    Family losses("pincheck_losses", "", "What was not recorded, by kind.");
    std::uint64_t longest = 0;
    std::uint64_t most = 0;
    processes.add({{"ended", "true"}}, 0).add({{"ended", "false"}}, 0);
    pinned.add({}, 0);
    ranges.add({}, 0);
    for (std::uint32_t kind = 1; kind < report::kLossKinds; ++kind) {
        losses.add({{"kind", bounded(name(static_cast<report::Loss>(kind)))}}, 0);
    }
    for (const CaptureProcess& process : capture.processes) {
        processes.add({{"ended", process.ended ? "true" : "false"}}, 1);
        longest = std::max(longest, process.duration_ns);
        most = std::max(most, process.pinned_bytes);
        pinned.add({}, process.pinned_bytes);
        ranges.add({}, process.pinned_ranges);
        for (const CaptureProcess::LossCount& loss : process.losses) {
            losses.add({{"kind", bounded(name(loss.kind))}}, loss.count);
        }
    }
    duration.add({}, longest);
    pinned_most.add({}, most);
    for (const Family* family : {&processes, &duration, &pinned, &pinned_most, &ranges, &losses}) {
        text += family->text();
    }
}

}  // namespace

std::string render_openmetrics(const LoadResult& loaded, const Judgement& judgement, const std::string& version,
                               const std::string& job) {
    std::string text = job_info(loaded.capture, version, job);
    add_verdict(text, loaded, judgement);
    add_findings(text, loaded.capture, judgement);
    add_calls(text, loaded.capture);
    add_processes(text, loaded.capture);
    return text + "# EOF\n";
}

}  // namespace pincheck
