#include "render_lines.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <utility>

#include "export_names.h"
#include "names.h"
#include "render_text.h"
#include "render_text_parts.h"

namespace pincheck {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchema = 1;

Json or_null(const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
}

// What all have alike; null where they differ or there is none.
template <class Get>
Json common(const std::vector<CaptureProcess>& processes, Get get) {
    Json result = nullptr;
    for (const CaptureProcess& process : processes) {
        Json value = get(process);
        if (&process != &processes.front() && value != result) {
            return nullptr;
        }
        result = std::move(value);
    }
    return result;
}

Json rank_of(const CaptureProcess& process) {
    return process.rank == report::kNoRank ? Json(nullptr) : Json(process.rank);
}
Json pid_of(const CaptureProcess& process) {
    return process.pid == 0 ? Json(nullptr) : Json(process.pid);
}

// "2026-11-30T21:56:51.123456Z"; null: not known.
Json time_text(std::uint64_t start_realtime_ns, std::uint64_t since_ns) {
    if (start_realtime_ns == 0 || since_ns > INT64_MAX || start_realtime_ns > INT64_MAX - since_ns) {
        return nullptr;
    }
    const std::chrono::sys_time<std::chrono::nanoseconds> time{
        std::chrono::nanoseconds(static_cast<std::int64_t>(start_realtime_ns + since_ns))};
    const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)),
                       std::chrono::duration_cast<std::chrono::microseconds>(time - seconds).count());
}

class JobLines {
  public:
    JobLines(const LoadResult& loaded, const Judgement& judgement, const Origins& origins, const std::string& version,
             const std::string& job)
        : loaded_(loaded),
          capture_(loaded.capture),
          judgement_(judgement),
          origins_(origins),
          version_(version),
          job_(or_null(job)),
          host_(common(capture_.processes, [](const CaptureProcess& process) { return or_null(process.host); })),
          executable_(
              common(capture_.processes, [](const CaptureProcess& process) { return or_null(process.executable); })),
          rank_(common(capture_.processes, rank_of)),
          pid_(common(capture_.processes, pid_of)) {}

    std::string text() {
        put(job_line());
        for (const bool gated : {true, false}) {
            for (const Finding& finding : gated ? judgement_.gated : judgement_.not_gated) {
                put(finding_line(finding, gated));
            }
        }
        for (const CaptureSite& site : capture_.sites) {
            put(site_line(site));
        }
        for (const CaptureProcess& process : capture_.processes) {
            put(process_line(process));
        }
        return std::move(text_);
    }

  private:
    void put(const Json& line) {
        // ASCII only, and so on one line: see render_json().
        text_ += line.dump(-1, ' ', true, Json::error_handler_t::replace) + '\n';
    }

    // What every line begins with: what it is, of what, and what was concluded.
    Json begin(const char* kind) const {
        return {{"kind", kind},
                {"schema", kSchema},
                {"tool_version", version_},
                {"job", job_},
                {"host", host_},
                {"rank", rank_},
                {"pid", pid_},
                {"executable", executable_},
                {"processes", capture_.processes.size()},
                {"verdict", name_of(judgement_.verdict)}};
    }

    // Times of sites count from their process's first CUDA call, and which process that was is known of one alone.
    Json time_of(std::uint64_t since_ns) const {
        return capture_.processes.size() == 1 ? time_text(capture_.processes.front().start_realtime_ns, since_ns)
                                              : Json(nullptr);
    }

    Json job_line() const {
        const auto total = [&](auto number) {
            return std::accumulate(capture_.processes.begin(), capture_.processes.end(), std::uint64_t{0},
                                   [&](std::uint64_t sum, const CaptureProcess& one) { return sum + number(one); });
        };
        Json line = begin("job");
        line["verdict_why"] = verdict_why(loaded_, judgement_);
        line["findings_gated"] = judgement_.gated.size();
        line["findings_not_gated"] = judgement_.not_gated.size();
        line["findings_suppressed"] = count_of(judgement_, Decision::suppressed);
        line["findings_within_threshold"] = count_of(judgement_, Decision::within_threshold);
        line["findings_in_baseline"] = count_of(judgement_, Decision::in_baseline);
        line["sites"] = capture_.sites.size();
        line["unreadable_files"] = loaded_.errors.size();
        line["cuda_calls"] = total([](const CaptureProcess& one) { return one.cuda_calls; });
        line["host_ns"] = capture_.total_host_ns();
        line["pinned_bytes"] = total([](const CaptureProcess& one) { return one.pinned_bytes; });
        line["lost"] = total(lost);
        return line;
    }

    // Of the frame that heads it: the line that the screens show.
    void add_heading(Json& line, const CaptureSite* site, int heading) const {
        for (const char* column : {"function", "file", "line", "module"}) {
            line[column] = nullptr;
        }
        if (site == nullptr || heading < 0 || static_cast<std::size_t>(heading) >= site->stack.size()) {
            return;
        }
        const CaptureFrame& frame = site->stack[static_cast<std::size_t>(heading)];
        if (const SourceLine* shown = shown_line(frame, origins_)) {
            line["function"] = or_null(shown->function);
            line["file"] = or_null(shown->file);
            line["line"] = shown->line == 0 ? Json(nullptr) : Json(shown->line);
        }
        if (frame.module < capture_.modules.size()) {
            line["module"] = or_null(capture_.modules[frame.module].path);
        }
    }

    static void add_copy(Json& line, const CaptureSite& site) {
        line["direction"] = name(site.direction);
        line["source_class"] = name(site.source.kind);
        line["destination_class"] = name(site.destination.kind);
        line["stream"] = name(site.stream);
    }

    // With the numbers of the further sites that a finding is about.
    CaptureSite with_others(const CaptureSite* first, const std::vector<std::uint32_t>& also) const {
        CaptureSite site = first == nullptr ? CaptureSite() : *first;
        for (const std::uint32_t id : also) {
            if (const CaptureSite* other = site_by_id(capture_, id)) {
                site.calls += other->calls;
                site.bytes += other->bytes;
                site.first_ns = std::min(site.first_ns, other->first_ns);
                site.last_ns = std::max(site.last_ns, other->last_ns);
            }
        }
        return site;
    }

    Json finding_line(const Finding& finding, bool gated) const {
        const CaptureSite* known = site_by_id(capture_, finding.site);
        const CaptureSite site = with_others(known, finding.also);
        Json line = begin("finding");
        line["rule"] = slug_of(finding.rule);
        line["cause"] = finding.cause ? Json(name(*finding.cause)) : Json(nullptr);
        line["presumed"] = finding.presumed;
        line["severity"] = name_of(finding.severity);
        line["gated"] = gated;
        line["decision"] = name_of(finding.ruling.decision);
        line["since"] = name_of(finding.ruling.since);
        line["fingerprint"] = finding.identity.fingerprint;
        line["place"] = finding.identity.place;
        line["site"] = finding.site;
        line["other_site"] = finding.other_site == 0 ? Json(nullptr) : Json(finding.other_site);
        line["issuer"] = name_of(finding.issuer);
        line["api"] = finding.api;
        add_copy(line, site);
        line["calls"] = site.calls;
        line["bytes"] = site.bytes;
        line["held_ns"] = finding.held_ns;
        line["once"] = finding.once;
        line["count"] = finding.count;
        line["corrupting"] = finding.corrupting;
        line["latent"] = finding.latent;
        line["saving_ns"] = finding.saving.state == Saving::State::given ? Json(finding.saving.ns) : Json(nullptr);
        add_heading(line, known, finding.heading);
        line["first"] = time_of(site.first_ns);
        line["last"] = time_of(site.last_ns);
        return line;
    }

    Json site_line(const CaptureSite& site) const {
        Json line = begin("site");
        line["site"] = site.id;
        line["api"] = site.api;
        line["called_api"] = called_api(capture_, site, origins_);
        line["call_kind"] = name(site.kind);
        add_copy(line, site);
        line["async"] = site.is_async();
        line["in_graph"] = site.is_in_graph();
        line["issuer"] = name_of(issuer_of(capture_, site, origins_));
        line["calls"] = site.calls;
        line["failed"] = site.failed;
        line["bytes"] = site.bytes;
        line["bytes_min"] = site.bytes_min;
        line["bytes_max"] = site.bytes_max;
        line["host_ns"] = site.host_ns;
        line["host_ns_max"] = site.host_ns_max;
        line["median_ns"] = site.median_ns();
        line["then_synchronized"] = site.then_synchronized;
        line["threads"] = site.threads;
        line["site_processes"] = site.processes;
        add_heading(line, &site, heading_frame(capture_, site, origins_));
        line["first"] = time_of(site.first_ns);
        line["last"] = time_of(site.last_ns);
        return line;
    }

    static std::uint64_t lost(const CaptureProcess& process) {
        return std::accumulate(
            process.losses.begin(), process.losses.end(), std::uint64_t{0},
            [](std::uint64_t sum, const CaptureProcess::LossCount& loss) { return sum + loss.count; });
    }

    Json process_line(const CaptureProcess& process) const {
        Json line = begin("process");
        line["host"] = or_null(process.host);
        line["rank"] = rank_of(process);
        line["pid"] = pid_of(process);
        line["executable"] = or_null(process.executable);
        line["parent_pid"] = process.parent_pid == 0 ? Json(nullptr) : Json(process.parent_pid);
        line["report"] = or_null(process.file);
        line["command_line"] = process.command_line.empty() ? Json(nullptr) : Json(joined(process.command_line));
        line["working_directory"] = or_null(process.working_directory);
        line["options"] = or_null(process.options);
        line["recorder_version"] = or_null(process.tool_version);
        line["after_cuda_fork"] = process.after_cuda_fork;
        line["ended"] = process.ended;
        line["duration_ns"] = process.duration_ns;
        line["cuda_calls"] = process.cuda_calls;
        line["pinned_bytes"] = process.pinned_bytes;
        line["pinned_ranges"] = process.pinned_ranges;
        line["held_ns"] = process.held_ns;
        line["copies"] = process.copies;
        line["copied_bytes"] = process.copied_bytes;
        const bool has_device = !process.devices.empty();
        line["devices"] = process.devices.size();
        line["device"] = has_device ? or_null(process.devices.front().name) : Json(nullptr);
        line["driver_version"] = has_device ? Json(process.devices.front().driver_version) : Json(nullptr);
        line["lost"] = lost(process);
        line["problems"] = process.problems.size();
        line["first"] = time_text(process.start_realtime_ns, 0);
        line["last"] = time_text(process.start_realtime_ns, process.duration_ns);
        return line;
    }

    static std::string joined(const std::vector<std::string>& words) {
        std::string text;
        for (const std::string& word : words) {
            text += (text.empty() ? "" : " ") + word;
        }
        return text;
    }

    const LoadResult& loaded_;
    const Capture& capture_;
    const Judgement& judgement_;
    const Origins& origins_;
    const std::string& version_;
    const Json job_;
    const Json host_;
    const Json executable_;
    const Json rank_;
    const Json pid_;
    std::string text_;
};

}  // namespace

std::string render_lines(const LoadResult& loaded, const Judgement& judgement, const Origins& origins,
                         const std::string& version, const std::string& job) {
    return JobLines(loaded, judgement, origins, version, job).text();
}

}  // namespace pincheck
