#include "dump.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <tuple>
#include <vector>

#include "names.h"
#include "printable.h"

namespace pincheck {
namespace {

using namespace report;

class Dump {
  public:
    explicit Dump(const Report& report) : report_(report) {}

    std::string text(std::string_view file) {
        header(file);
        if (report_.process) {
            process(*report_.process);
        }
        for (const DeviceRecord& device : report_.devices) {
            line(
                "device: ordinal={} name={} driver_version={} async_engines={} pageable_access={} "
                "host_page_tables={} integrated={}",
                device.ordinal, string(device.name), device.driver_version, device.async_engines,
                device.pageable_access, device.host_page_tables, device.integrated);
        }
        for (const CoverageRecord& coverage : report_.coverage) {
            line("coverage: kind={} text={} time_ns={}", name(coverage.kind), string(coverage.text), coverage.time_ns);
        }
        for (const auto& [id, module] : report_.modules) {
            const ModuleRecord& record = module.record;
            line("module: id={} path={} base={:#x} begin={:#x} end={:#x} build_id={}", id, string(record.path),
                 record.base, record.begin, record.end, build_id(module));
        }
        for (const auto& [id, stack] : report_.stacks) {
            line("stack: id={} origin={} cut={} frames={}", id, name(stack.record.origin), stack.record.cut,
                 frames(stack.frames));
        }
        for (const SymbolRecord& symbol : report_.symbols) {
            line("symbol: frame={} level={} function={} file={} line={} exact={}",
                 frame({symbol.module, 0, symbol.offset}), symbol.level, string(symbol.function), string(symbol.file),
                 symbol.line, symbol.exact);
        }
        for (const auto& [id, site] : report_.sites) {
            this->site(site);
        }
        for (const auto& [id, stream] : report_.streams) {
            line("stream: id={} kind={} flags={} site={} context={} device={} handle={:#x}", id, name(stream.kind),
                 stream_flag_names(stream.flags), site_name(stream.site), stream.context,
                 stream.device == kNoDevice ? "-" : std::to_string(stream.device), stream.handle);
        }
        for (const MemoryRecord& memory : report_.memories) {
            line("memory: site={} detail={} text={} value={}", site_name(memory.site), name(memory.detail),
                 string(memory.text), memory.value);
        }
        slots();
        if (report_.unknown_records > 0) {
            line("unknown: records={}", report_.unknown_records);
        }
        for (const std::string& problem : report_.problems) {
            line("problem: {}", printable(problem));
        }
        return std::move(out_);
    }

  private:
    template <class... Args>
    void line(fmt::format_string<Args...> format, Args&&... args) {
        fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
        out_ += '\n';
    }

    // A string by its id: 7:"text", 0 for none, 7:? when the file does not have it.
    std::string string(std::uint32_t id) const {
        if (id == 0) {
            return "0";
        }
        const std::string* text = report_.string(id);
        return fmt::format("{}:{}", id, text == nullptr ? "?" : quoted(*text));
    }

    // Arguments separated by NUL, as a list.
    std::string arguments(std::uint32_t id) const {
        const std::string* text = report_.string(id);
        if (text == nullptr) {
            return string(id);
        }
        std::string list;
        std::string_view rest = *text;
        while (!rest.empty()) {
            const std::size_t end = std::min(rest.find('\0'), rest.size());
            list += (list.empty() ? "" : ",") + quoted(rest.substr(0, end));
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
        return fmt::format("{}:[{}]", id, list);
    }

    std::string build_id(const Module& module) const {
        std::string hex;
        for (const std::uint8_t byte : module.build_id) {
            fmt::format_to(std::back_inserter(hex), "{:02x}", byte);
        }
        return hex.empty() ? "-" : hex;
    }

    std::string frame(const Frame& frame) const {
        if (frame.module == 0) {
            return fmt::format("{:#x}", frame.offset);
        }
        const auto module = report_.modules.find(frame.module);
        if (module == report_.modules.end()) {
            return fmt::format("?{}+{:#x}", frame.module, frame.offset);
        }
        const std::string* path = report_.string(module->second.record.path);
        const std::string base = path == nullptr ? "" : path->substr(path->rfind('/') + 1);
        return fmt::format("{}+{:#x}", base.empty() ? fmt::format("module{}", frame.module) : token(base),
                           frame.offset);
    }

    std::string frames(const std::vector<Frame>& list) const {
        std::string result = "[";
        for (const Frame& one : list) {
            result += (result.size() == 1 ? "" : ",") + frame(one);
        }
        return result + "]";
    }

    // A site by its id and its function: 3:cudaMemcpyAsync.
    std::string site_name(std::uint32_t id) const {
        const auto site = report_.sites.find(id);
        if (site == report_.sites.end()) {
            return id == 0 ? "0" : fmt::format("{}:?", id);
        }
        const std::string* api = report_.string(site->second.record.api);
        return fmt::format("{}:{}", id, api == nullptr ? "?" : token(*api));
    }

    void header(std::string_view file) {
        const FileHeader& header = report_.header;
        line(
            "header: file={} version={} minimum_reader={} features={:#x} state={} segments={} snapshots={} "
            "snapshot_ns={} start_ns={} start_realtime_ns={} pid={} strings={}",
            quoted(file), header.version, header.minimum_reader, header.features, name(header.state),
            header.segment_count, header.snapshots, header.snapshot_ns, header.start_ns, header.start_realtime_ns,
            header.pid, report_.strings.size());
    }

    void process(const ProcessRecord& process) {
        line(
            "process: pid={} parent_pid={} executable={} command_line={} working_directory={} host={} options={} "
            "tool_version={} rank={} after_cuda_fork={}",
            process.pid, process.parent_pid, string(process.executable), arguments(process.command_line),
            string(process.working_directory), string(process.host), string(process.options),
            string(process.tool_version), process.rank == kNoRank ? "-" : std::to_string(process.rank),
            process.after_cuda_fork);
    }

    void site(const Site& site) {
        const SiteRecord& record = site.record;
        line(
            "site: id={} api={} kind={} direction={} stream={} source_order={} destination={} destination_flags={} "
            "source={} "
            "source_flags={} flags={} stack={} key={}",
            record.id, string(record.api), name(record.kind), name(record.direction), name(record.stream),
            name(record.source_order), name(record.destination.kind), memory_flag_names(record.destination.flags),
            name(record.source.kind), memory_flag_names(record.source.flags), site_flag_names(record.flags),
            record.stack, frames(site.key));
    }

    // Slots lie in the file in the order threads came; sorted, equal runs compare equal.
    template <class Slot, class Key>
    static std::vector<Slot> sorted(std::vector<Slot> slots, Key key) {
        std::ranges::stable_sort(slots, {}, key);
        return slots;
    }

    void slots() {
        for (const CounterSlot& c : sorted(
                 report_.counters, [](const CounterSlot& s) { return std::tuple(s.site, s.thread, s.size_class); })) {
            counter(c);
        }
        for (const RangeSlot& r : sorted(report_.ranges, [](const RangeSlot& s) { return s.address; })) {
            line("range: kind={} address={:#x} bytes={} requested_flags={:#x} site={} thread={} created_ns={}",
                 name(r.kind), r.address, r.bytes, r.requested_flags, site_name(r.site), r.thread, r.created_ns);
        }
        for (const ThreadSlot& t : sorted(report_.threads, [](const ThreadSlot& s) { return s.thread; })) {
            const std::string_view thread_name(t.name, std::find(t.name, t.name + sizeof t.name, '\0') - t.name);
            line(
                "thread: thread={} state={} tid={} threads={} flags={} started_ns={} calls={} in_call_api={} "
                "in_call_since_ns={} name={}",
                t.thread, name(t.state), t.tid, t.threads, thread_flag_names(t.flags), t.started_ns, t.calls,
                string(t.in_call_api), t.in_call_since_ns, quoted(thread_name));
        }
        for (const WaitSlot& w : sorted(
                 report_.waits, [](const WaitSlot& s) { return std::tuple(s.site, s.thread, s.cause, s.evidence); })) {
            line(
                "wait: site={} thread={} state={} cause={} evidence={} calls={} ns={} ns_max={} first_ns={} last_ns={} "
                "stream={} behind_site={} kernel={} items={} delayed_streams=[{}]",
                site_name(w.site), w.thread, name(w.state), name(w.cause), name(w.evidence), w.calls, w.ns, w.ns_max,
                w.first_ns, w.last_ns, w.stream, site_name(w.behind_site), string(w.kernel), w.items,
                fmt::join(w.delayed_streams, ","));
        }
        for (const TransferSlot& t :
             sorted(report_.transfers, [](const TransferSlot& s) { return std::tuple(s.site, s.size_class); })) {
            line(
                "transfer: site={} size_class={} state={} copies={} bytes={} device_ns={} device_ns_min={} "
                "device_ns_max={} calls={} host_ns={} completion_ns={} before_ns={} during_ns={} returned_early={}",
                site_name(t.site), t.size_class, name(t.state), t.copies, t.bytes, t.device_ns, t.device_ns_min,
                t.device_ns_max, t.calls, t.host_ns, t.completion_ns, t.before_ns, t.during_ns, t.returned_early);
        }
        for (const RaceSlot& r : sorted(report_.races, [](const RaceSlot& s) {
                 return std::tuple(s.copy_site, s.rule, s.other_site, s.level, s.thread);
             })) {
            race(r);
        }
        for (const ReadSlot& r :
             sorted(report_.reads, [](const ReadSlot& s) { return std::tuple(s.site, s.pin_site, s.call); })) {
            line(
                "read: site={} state={} flags={} pin_site={} call={} thread={} samples={} first_ns={} last_ns={} "
                "address={:#x} bytes={} begin={} end={}",
                site_name(r.site), name(r.state), (r.flags & kReadInSystemCall) != 0 ? "in-system-call" : "-",
                site_name(r.pin_site), string(r.call), r.thread, r.samples, r.first_ns, r.last_ns, r.address, r.bytes,
                r.begin, r.end);
        }
        for (const LossSlot& l : sorted(report_.losses, [](const LossSlot& s) { return s.kind; })) {
            line("loss: kind={} count={} error={} first_ns={} last_ns={}", name(l.kind), l.count, l.error, l.first_ns,
                 l.last_ns);
        }
    }

    void race(const RaceSlot& r) {
        line(
            "race: rule={} state={} level={} flags={} copy_site={} other_site={} pin_site={} wait_site={} "
            "after_site={} "
            "before_site={} stream={} other_stream={} call={} count={} corrupting={} latent={} first_ns={} last_ns={} "
            "address={:#x} copy_bytes={} begin={} end={} thread={} other_thread={} graph_launches={}",
            name(r.rule), name(r.state), name(r.level), race_flag_names(r.flags), site_name(r.copy_site),
            site_name(r.other_site), site_name(r.pin_site), site_name(r.wait_site), site_name(r.after_site),
            site_name(r.before_site), r.stream, r.other_stream, string(r.call), r.count, r.corrupting, r.latent,
            r.first_ns, r.last_ns, r.address, r.copy_bytes, r.begin, r.end, r.thread, r.other_thread, r.graph_launches);
    }

    void counter(const CounterSlot& slot) {
        std::string histogram;
        for (std::uint32_t bucket = 0; bucket < kHistogramBuckets; ++bucket) {
            if (slot.histogram[bucket] > 0) {
                fmt::format_to(std::back_inserter(histogram), "{}b{}:{}", histogram.empty() ? "" : ",", bucket,
                               slot.histogram[bucket]);
            }
        }
        const std::uint64_t calls =
            std::accumulate(std::begin(slot.histogram), std::end(slot.histogram), std::uint64_t{0});
        line(
            "counter: site={} thread={} size_class={} state={} calls={} failed={} bytes={} bytes_min={} bytes_max={} "
            "host_ns={} "
            "host_ns_max={} then_synchronized={} first_ns={} last_ns={} allocation_site={} last_error={} "
            "histogram={}",
            site_name(slot.site), slot.thread, slot.size_class, name(slot.state), calls, slot.failed, slot.bytes,
            slot.bytes_min, slot.bytes_max, slot.host_ns, slot.host_ns_max, slot.then_synchronized, slot.first_ns,
            slot.last_ns, site_name(slot.allocation_site), slot.last_error, histogram.empty() ? "-" : histogram);
    }

    const Report& report_;
    std::string out_;
};

}  // namespace

std::string dump(const Report& report, std::string_view name) {
    return Dump(report).text(name);
}

}  // namespace pincheck
