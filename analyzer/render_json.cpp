#include "render_json.h"

#include <nlohmann/json.hpp>

#include "deviation.h"
#include "export_names.h"
#include "exported.h"
#include "hidden_waits.h"
#include "names.h"
#include "render_json_gate.h"
#include "render_json_races.h"
#include "render_text.h"
#include "symbolize.h"

namespace pincheck {
namespace {

using Json = nlohmann::ordered_json;

// "a,b" as the dump shows flags, as a list.
Json list_of(const std::string& names) {
    Json list = Json::array();
    std::size_t from = 0;
    while (names != "-" && from < names.size()) {
        const std::size_t end = std::min(names.find(',', from), names.size());
        list.push_back(names.substr(from, end - from));
        from = end + 1;
    }
    return list;
}

Json memory(const report::Memory& memory) {
    return {{"class", name(memory.kind)}, {"flags", list_of(memory_flag_names(memory.flags))}};
}

Json frame(const Capture& capture, const CaptureFrame& frame, const Origins& origins) {
    Json result = {{"text", frame_text(capture, frame)},
                   {"module", nullptr},
                   {"build_id", ""},
                   {"offset", frame.offset},
                   {"origin", nullptr},
                   {"lines", Json::array()}};
    if (frame.module < capture.modules.size()) {
        const CaptureModule& module = capture.modules[frame.module];
        result["module"] = module.path;
        result["build_id"] = module.build_id;
        result["origin"] = name_of(origins.of(capture, frame));
    }
    for (const SourceLine& line : frame.lines) {
        result["lines"].push_back(
            {{"function", line.function}, {"file", line.file}, {"line", line.line}, {"exact", line.exact}});
    }
    return result;
}

Json wait(const CaptureWait& wait) {
    return {{"cause", name(wait.cause)},
            {"evidence", name(wait.evidence)},
            {"calls", wait.calls},
            {"ns", wait.ns},
            {"ns_max", wait.ns_max},
            {"first_ns", wait.first_ns},
            {"last_ns", wait.last_ns},
            {"threads", wait.threads},
            {"stream", wait.stream},
            {"behind_site", wait.behind_site},
            {"kernel", wait.kernel},
            {"items", wait.items},
            {"delayed_streams", wait.delayed_streams}};
}

Json size(const CaptureSize& size) {
    return {{"from_bytes", report::size_class_lower_bound(size.size_class)},
            {"calls", size.calls},
            {"failed", size.failed},
            {"bytes", size.bytes},
            {"bytes_min", size.bytes_min},
            {"bytes_max", size.bytes_max},
            {"host_ns", size.host_ns},
            {"host_ns_max", size.host_ns_max},
            {"histogram", size.histogram}};
}

Json transfer(const CaptureTransfer& transfer) {
    Json share = nullptr;
    if (transfer.completion_ns != 0) {
        share = static_cast<double>(transfer.host_ns) / static_cast<double>(transfer.completion_ns);
    }
    return {{"from_bytes", report::size_class_lower_bound(transfer.size_class)},
            {"copies", transfer.copies},
            {"bytes", transfer.bytes},
            {"device_ns", transfer.device_ns},
            {"device_ns_min", transfer.device_ns_min},
            {"device_ns_max", transfer.device_ns_max},
            {"calls", transfer.calls},
            {"host_ns", transfer.host_ns},
            {"completion_ns", transfer.completion_ns},
            {"before_ns", transfer.before_ns},
            {"during_ns", transfer.during_ns},
            {"returned_early", transfer.returned_early},
            {"call_share", std::move(share)}};
}

Json stream(const CaptureStream& stream) {
    Json result = {{"id", stream.id},
                   {"process", stream.process},
                   {"kind", name(stream.kind)},
                   {"site", stream.site},
                   {"context", stream.context},
                   {"device", nullptr},
                   {"non_blocking", stream.non_blocking}};
    if (stream.device != report::kNoDevice) {
        result["device"] = stream.device;
    }
    return result;
}

template <class List, class Make>
Json array_of(const List& list, Make make) {
    Json result = Json::array();
    for (const auto& one : list) {
        result.push_back(make(one));
    }
    return result;
}

Json site(const Capture& capture, const CaptureSite& site, const Origins& origins) {
    Json stack = Json::array();
    for (const CaptureFrame& one : site.stack) {
        stack.push_back(frame(capture, one, origins));
    }
    return {{"id", site.id},
            {"api", site.api},
            {"called_api", called_api(capture, site, origins)},
            {"kind", name(site.kind)},
            {"direction", name(site.direction)},
            {"stream", name(site.stream)},
            {"source_order", name(site.source_order)},
            {"source", memory(site.source)},
            {"destination", memory(site.destination)},
            {"memory_file", site.memory_file},
            {"memory_on_stack", site.memory_on_stack},
            {"memory_boundary", site.memory_boundary},
            {"flags", list_of(site_flag_names(site.flags))},
            {"calls", site.calls},
            {"failed", site.failed},
            {"last_error", site.last_error},
            {"bytes", site.bytes},
            {"bytes_min", site.bytes_min},
            {"bytes_max", site.bytes_max},
            {"host_ns", site.host_ns},
            {"host_ns_max", site.host_ns_max},
            {"median_ns", site.median_ns()},
            {"then_synchronized", site.then_synchronized},
            {"first_ns", site.first_ns},
            {"last_ns", site.last_ns},
            {"histogram", site.histogram},
            {"threads", site.threads},
            {"processes", site.processes},
            {"in_processes", site.in_processes},
            {"allocation_site", site.allocation_site},
            {"threads_held", site.threads_held},
            {"waits", array_of(site.waits, wait)},
            {"sizes", array_of(site.sizes, size)},
            {"transfers", array_of(site.transfers, transfer)},
            {"heading", heading_frame(capture, site, origins)},
            {"stack_cut", site.stack_cut},
            {"stack", std::move(stack)}};
}

Json finding(const Capture& capture, const Finding& finding, bool gated, const Origins& origins) {
    Json heading = nullptr;
    if (std::string text = heading_text(capture, finding, origins); !text.empty()) {
        heading = std::move(text);
    }
    Json cause = nullptr;
    if (finding.cause) {
        cause = name(*finding.cause);
    }
    const Saving& saving = finding.saving;
    Json result = {{"rule", slug_of(finding.rule)},
                   {"cause", std::move(cause)},
                   {"presumed", finding.presumed},
                   {"severity", name_of(finding.severity)},
                   {"gated", gated},
                   {"site", finding.site},
                   {"heading_frame", finding.heading},
                   {"heading", std::move(heading)},
                   {"issuer", name_of(finding.issuer)},
                   {"api", finding.api},
                   {"held_ns", finding.held_ns},
                   {"once", finding.once},
                   {"also_sites", finding.also},
                   {"count", finding.count},
                   {"corrupting", finding.corrupting},
                   {"latent", finding.latent},
                   {"other_site", finding.other_site},
                   {"races", finding.races},
                   {"reads", finding.reads},
                   {"why", finding.why},
                   {"fix", finding.fix},
                   {"saving",
                    {{"state", name_of(saving.state)},
                     {"ns", saving.ns},
                     {"pinned_call_ns", saving.pinned_call_ns},
                     {"text", saving.text}}}};
    add_ruling(result, finding);
    return result;
}

Json deviation(const Deviation& deviation) {
    return {{"process", deviation.process},
            {"figure", name(deviation.figure)},
            {"value", deviation.value},
            {"median", deviation.median},
            {"peers", deviation.peers}};
}

Json process(const CaptureProcess& process) {
    Json result = {{"file", process.file},
                   {"pid", process.pid},
                   {"parent_pid", process.parent_pid},
                   {"executable", process.executable},
                   {"command_line", process.command_line},
                   {"working_directory", process.working_directory},
                   {"host", process.host},
                   {"options", process.options},
                   {"tool_version", process.tool_version},
                   {"rank", nullptr},
                   {"after_cuda_fork", process.after_cuda_fork},
                   {"ended", process.ended},
                   {"duration_ns", process.duration_ns},
                   {"start_realtime_ns", process.start_realtime_ns},
                   {"cuda_calls", process.cuda_calls},
                   {"pinned_bytes", process.pinned_bytes},
                   {"pinned_ranges", process.pinned_ranges},
                   {"held_ns", process.held_ns},
                   {"copies", process.copies},
                   {"copied_bytes", process.copied_bytes},
                   {"devices", Json::array()},
                   {"coverage", Json::array()},
                   {"losses", Json::array()},
                   {"in_call", Json::array()},
                   {"problems", process.problems}};
    if (process.rank != report::kNoRank) {
        result["rank"] = process.rank;
    }
    for (const CaptureProcess::Device& device : process.devices) {
        result["devices"].push_back({{"ordinal", device.ordinal},
                                     {"name", device.name},
                                     {"driver_version", device.driver_version},
                                     {"async_engines", device.async_engines},
                                     {"pageable_access", device.pageable_access},
                                     {"host_page_tables", device.host_page_tables},
                                     {"integrated", device.integrated}});
    }
    for (const CaptureProcess::Coverage& coverage : process.coverage) {
        result["coverage"].push_back({{"kind", name(coverage.kind)}, {"text", coverage.text}});
    }
    for (const CaptureProcess::LossCount& loss : process.losses) {
        result["losses"].push_back({{"kind", name(loss.kind)}, {"count", loss.count}, {"error", loss.error}});
    }
    for (const CaptureProcess::InCall& call : process.in_call) {
        result["in_call"].push_back(
            {{"tid", call.tid}, {"name", call.name}, {"api", call.api}, {"since_ns", call.since_ns}});
    }
    return result;
}

}  // namespace

std::string render_json(const LoadResult& loaded, const Judgement& judgement, const Origins& origins) {
    const Capture& capture = loaded.capture;
    const PlainTimes times = plain_times(capture, origins);
    const auto plain = [](const PlainTime& time) { return Json{{"calls", time.calls}, {"ns", time.ns}}; };
    Json findings = array_of(judgement.gated, [&](const Finding& one) { return finding(capture, one, true, origins); });
    for (const Finding& one : judgement.not_gated) {
        findings.push_back(finding(capture, one, false, origins));
    }
    const Json json = {
        {"schema", 1},
        {"since", capture.since.empty() ? Json(nullptr) : Json(capture.since)},
        {"verdict", name_of(judgement.verdict)},
        {"verdict_why", verdict_why(loaded, judgement)},
        {"reasons", judgement.reasons},
        {"counts",
         {{"processes", capture.processes.size()},
          {"sites", capture.sites.size()},
          {"gated", judgement.gated.size()},
          {"not_gated", judgement.not_gated.size()},
          {"suppressed", count_of(judgement, Decision::suppressed)},
          {"within_threshold", count_of(judgement, Decision::within_threshold)},
          {"in_baseline", count_of(judgement, Decision::in_baseline)},
          {"host_ns", capture.total_host_ns()}}},
        {"policy", policy_json(judgement)},
        {"plain_times",
         {{"pinning", plain(times.pinning)},
          {"module_loading", plain(times.module_loading)},
          {"requested", plain(times.requested)},
          {"synchronous_copy", plain(times.synchronous_copy)},
          {"idle_sync", plain(times.idle_sync)}}},
        {"findings", std::move(findings)},
        {"sites", array_of(capture.sites, [&](const CaptureSite& one) { return site(capture, one, origins); })},
        {"streams", array_of(capture.streams, stream)},
        {"races", races_json(capture)},
        {"reads", reads_json(capture)},
        {"processes", array_of(capture.processes, process)},
        {"deviations", array_of(deviations(capture), deviation)},
        {"errors", loaded.errors},
    };
    // ASCII only: what is not, and with it every invisible or reordering character, becomes \uXXXX; invalid UTF-8 is
    // replaced by U+FFFD.
    constexpr int kIndent = 2;
    return json.dump(kIndent, ' ', true, Json::error_handler_t::replace);
}

}  // namespace pincheck
