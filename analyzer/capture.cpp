#include "capture.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "capture_merge.h"
#include "capture_races.h"
#include "capture_reads.h"
#include "capture_waits.h"
#include "marks.h"
#include "report_files.h"
#include "report_since.h"

namespace pincheck {
namespace {

using namespace report;

std::string hexadecimal(const std::vector<std::uint8_t>& bytes) {
    std::string text;
    for (const std::uint8_t byte : bytes) {
        text += "0123456789abcdef"[byte >> 4];
        text += "0123456789abcdef"[byte & 15];
    }
    return text;
}

std::vector<std::string> split_arguments(const std::string& text) {
    std::vector<std::string> result;
    for (std::size_t from = 0; from < text.size();) {
        const std::size_t end = std::min(text.find('\0', from), text.size());
        result.push_back(text.substr(from, end - from));
        from = end + 1;
    }
    return result;
}

std::uint64_t calls_of(const CounterSlot& slot) {
    return std::accumulate(std::begin(slot.histogram), std::end(slot.histogram), std::uint64_t{0});
}

std::string_view name_of(const ThreadSlot& thread) {
    return {thread.name,
            static_cast<std::size_t>(std::find(thread.name, thread.name + sizeof thread.name, '\0') - thread.name)};
}

template <class T>
void append_bytes(std::string& key, T value) {
    key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Adds one report after another; keeps nothing of a report but its process and what its sites add up to.
class Merger {
  public:
    void add(const std::string& file, const Report& report) {
        add_process(file, report);
        std::unordered_map<std::uint32_t, std::uint32_t> modules = add_modules(report);
        std::unordered_map<std::uint32_t, std::size_t> sites;  // ids of the report to positions in the capture
        for (const auto& [id, site] : report.sites) {
            sites.emplace(id, position_of(report, site, modules));
        }
        add_symbols(report, modules);
        add_counters(report, sites);
        add_memories(report, sites);
        const auto streams = add_waits(capture_, report, sites);
        add_races(capture_, report, sites, streams);
        add_reads(capture_, report, sites);
    }

    Capture finish() {
        Capture& capture = capture_;
        const std::vector<std::size_t> processes = sort_processes();
        std::vector<std::uint32_t> process_at(processes.size());
        for (std::size_t i = 0; i < processes.size(); ++i) {
            process_at[processes[i]] = static_cast<std::uint32_t>(i);
        }
        std::vector<std::size_t> order(capture.sites.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::sort(order, [this](std::size_t a, std::size_t b) { return before(a, b); });
        std::vector<std::uint32_t> id_at(order.size());
        for (std::size_t i = 0; i < order.size(); ++i) {
            id_at[order[i]] = static_cast<std::uint32_t>(i + 1);
        }
        std::vector<CaptureSite> sorted;
        sorted.reserve(order.size());
        for (const std::size_t position : order) {
            CaptureSite& site = sorted.emplace_back(std::move(capture.sites[position]));
            site.id = static_cast<std::uint32_t>(sorted.size());
            site.bytes_min = site.bytes_min == UINT64_MAX ? 0 : site.bytes_min;
            site.first_ns = site.first_ns == UINT64_MAX ? 0 : site.first_ns;
            const std::size_t allocation = allocation_sites_[position];
            site.allocation_site = allocation == kNowhere ? 0 : id_at[allocation];
            for (std::uint32_t& process : site.in_processes) {
                process = process_at[process];
            }
            std::ranges::sort(site.in_processes);
            for (CaptureFrame& frame : site.stack) {
                if (const auto known = symbols_.find({frame.module, frame.offset}); known != symbols_.end()) {
                    frame.lines = known->second;
                }
            }
        }
        capture.sites = std::move(sorted);
        const std::vector<std::uint32_t> streams = finish_waits(capture, id_at, processes);
        finish_races(capture, id_at, streams, processes);
        finish_reads(capture, id_at, processes);
        return std::move(capture_);
    }

  private:
    static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

    // In the order of their start; returns their former positions.
    std::vector<std::size_t> sort_processes() {
        std::vector<CaptureProcess>& processes = capture_.processes;
        std::vector<std::size_t> order(processes.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::sort(order, {}, [&](std::size_t i) {
            return std::tie(processes[i].start_realtime_ns, processes[i].pid, processes[i].file);
        });
        std::vector<CaptureProcess> sorted;
        sorted.reserve(order.size());
        for (const std::size_t position : order) {
            sorted.push_back(std::move(processes[position]));
        }
        processes = std::move(sorted);
        return order;
    }

    void add_process(const std::string& file, const Report& report) {
        const auto text = [&](std::uint32_t id) {
            const std::string* found = report.string(id);
            return found == nullptr ? std::string() : *found;
        };
        CaptureProcess process;
        process.file = file;
        process.pid = report.header.pid;
        if (report.process) {
            const ProcessRecord& record = *report.process;
            process.pid = record.pid;
            process.parent_pid = record.parent_pid;
            process.executable = text(record.executable);
            process.command_line = split_arguments(text(record.command_line));
            process.working_directory = text(record.working_directory);
            process.host = text(record.host);
            process.options = text(record.options);
            process.tool_version = text(record.tool_version);
            process.rank = record.rank;
            process.after_cuda_fork = record.after_cuda_fork != 0;
        }
        process.ended = report.header.state == FileState::ended;
        process.duration_ns = since(report.header.start_ns, report.header.snapshot_ns);
        process.start_realtime_ns = report.header.start_realtime_ns;
        std::uint64_t counted = 0;
        for (const CounterSlot& counter : report.counters) {
            const auto site = report.sites.find(counter.site);
            const bool in_graph = site != report.sites.end() && (site->second.record.flags & kSiteInGraph) != 0;
            counted += in_graph ? 0 : calls_of(counter);
        }
        std::uint64_t seen = 0;
        for (const ThreadSlot& thread : report.threads) {
            seen += thread.calls;
            if (thread.in_call_since_ns != 0) {
                process.in_call.push_back({thread.tid, std::string(name_of(thread)), text(thread.in_call_api),
                                           since(thread.in_call_since_ns, report.header.snapshot_ns)});
            }
        }
        process.cuda_calls = std::max(counted, seen);
        for (const DeviceRecord& device : report.devices) {
            process.devices.push_back({text(device.name), device.driver_version, device.ordinal, device.async_engines,
                                       device.pageable_access != 0, device.host_page_tables != 0,
                                       device.integrated != 0});
        }
        for (const CoverageRecord& coverage : report.coverage) {
            process.coverage.push_back({coverage.kind, text(coverage.text)});
        }
        for (const LossSlot& loss : report.losses) {
            process.losses.push_back({loss.kind, loss.count, loss.error});
        }
        std::ranges::sort(process.losses, {}, &CaptureProcess::LossCount::kind);
        for (const RangeSlot& range : report.ranges) {
            if (range.kind == RangeKind::pinned || range.kind == RangeKind::registered) {
                process.pinned_bytes += range.bytes;
                ++process.pinned_ranges;
            }
        }
        process.problems = report.problems;
        capture_.processes.push_back(std::move(process));
    }

    std::unordered_map<std::uint32_t, std::uint32_t> add_modules(const Report& report) {
        std::unordered_map<std::uint32_t, std::uint32_t> result;
        for (const auto& [id, module] : report.modules) {
            const std::string* path = report.string(module.record.path);
            CaptureModule one{path == nullptr ? "" : *path, hexadecimal(module.build_id)};
            const auto next = static_cast<std::uint32_t>(capture_.modules.size());
            const auto [place, is_new] = module_at_.try_emplace({one.path, one.build_id}, next);
            if (is_new) {
                capture_.modules.push_back(std::move(one));
            }
            result.emplace(id, place->second);
        }
        return result;
    }

    static CaptureFrame frame_of(const Frame& frame, const std::unordered_map<std::uint32_t, std::uint32_t>& modules) {
        CaptureFrame result;
        const auto module = modules.find(frame.module);
        result.module = module == modules.end() ? CaptureFrame::kNoModule : module->second;
        result.offset = frame.offset;
        return result;
    }

    std::size_t position_of(const Report& report, const Site& site,
                            const std::unordered_map<std::uint32_t, std::uint32_t>& modules) {
        const SiteRecord& record = site.record;
        const std::string* api = report.string(record.api);
        const auto stack = report.stacks.find(record.stack);
        std::string key = api == nullptr ? std::string() : *api;
        key += '\0';
        append_bytes(key, record.kind);
        append_bytes(key, record.direction);
        append_bytes(key, record.stream);
        append_bytes(key, record.source_order);
        append_bytes(key, record.destination.kind);
        append_bytes(key, record.destination.flags);
        append_bytes(key, record.source.kind);
        append_bytes(key, record.source.flags);
        append_bytes(key, record.flags);
        // Without its stack (the record was dropped) a site is still told apart by its key.
        const std::vector<Frame>& frames = stack == report.stacks.end() ? site.key : stack->second.frames;
        for (const Frame& frame : frames) {
            const CaptureFrame one = frame_of(frame, modules);
            append_bytes(key, one.module);
            append_bytes(key, one.offset);
        }
        const auto [place, is_new] = site_at_.try_emplace(std::move(key), capture_.sites.size());
        if (is_new) {
            CaptureSite& added = capture_.sites.emplace_back();
            added.api = api == nullptr ? "?" : *api;
            added.kind = record.kind;
            added.direction = record.direction;
            added.stream = record.stream;
            added.source_order = record.source_order;
            added.destination = record.destination;
            added.source = record.source;
            added.flags = record.flags;
            for (const Frame& frame : frames) {
                added.stack.push_back(frame_of(frame, modules));
            }
            added.stack_cut = stack == report.stacks.end() ? !frames.empty() : stack->second.record.cut != 0;
            added.bytes_min = UINT64_MAX;
            added.first_ns = UINT64_MAX;
            allocation_sites_.push_back(kNowhere);
        }
        return place->second;
    }

    void add_symbols(const Report& report, const std::unordered_map<std::uint32_t, std::uint32_t>& modules) {
        using Place = std::pair<std::uint32_t, std::uint64_t>;
        std::map<Place, std::map<std::uint32_t, SourceLine>> found;
        for (const SymbolRecord& symbol : report.symbols) {
            const auto module = modules.find(symbol.module);
            if (module == modules.end() || symbols_.contains({module->second, symbol.offset})) {
                continue;
            }
            const std::string* function = report.string(symbol.function);
            const std::string* file = report.string(symbol.file);
            found[{module->second, symbol.offset}].try_emplace(
                symbol.level, SourceLine{function == nullptr ? "" : *function, file == nullptr ? "" : *file,
                                         symbol.line, symbol.exact != 0});
        }
        for (auto& [place, by_level] : found) {
            std::vector<SourceLine>& lines = symbols_[place];
            for (auto& [level, line] : by_level) {
                lines.push_back(std::move(line));
            }
        }
    }

    // The first process that says something is believed.
    void add_memories(const Report& report, const std::unordered_map<std::uint32_t, std::size_t>& sites) {
        for (const MemoryRecord& memory : report.memories) {
            const auto place = sites.find(memory.site);
            if (place == sites.end()) {
                continue;
            }
            CaptureSite& site = capture_.sites[place->second];
            if (memory.detail == MemoryDetail::stack) {
                site.memory_on_stack = true;
            } else if (memory.detail == MemoryDetail::boundary && site.memory_boundary == 0) {
                site.memory_boundary = memory.value;
            } else if (memory.detail == MemoryDetail::file && site.memory_file.empty()) {
                const std::string* path = report.string(memory.text);
                site.memory_file = path == nullptr ? "" : *path;
            }
        }
    }

    void add_counters(const Report& report, const std::unordered_map<std::uint32_t, std::size_t>& sites) {
        CaptureProcess& process = capture_.processes.back();
        const auto position = static_cast<std::uint32_t>(capture_.processes.size() - 1);
        std::vector<std::pair<std::size_t, std::uint32_t>> threads;  // that called a site
        for (const CounterSlot& slot : report.counters) {
            const auto place = sites.find(slot.site);
            // Id 0: its owner had not filled it in when the snapshot was taken.
            const std::uint64_t calls = calls_of(slot);
            if (place == sites.end() || calls == 0) {
                continue;
            }
            threads.emplace_back(place->second, slot.thread);
            CaptureSite& site = capture_.sites[place->second];
            site.calls += calls;
            site.failed += slot.failed;
            site.bytes += slot.bytes;
            site.host_ns += slot.host_ns;
            site.host_ns_max = std::max(site.host_ns_max, slot.host_ns_max);
            site.bytes_min = std::min(site.bytes_min, slot.bytes_min);
            site.bytes_max = std::max(site.bytes_max, slot.bytes_max);
            site.then_synchronized += slot.then_synchronized;
            site.first_ns = std::min(site.first_ns, since(report.header.start_ns, slot.first_ns));
            site.last_ns = std::max(site.last_ns, since(report.header.start_ns, slot.last_ns));
            for (std::uint32_t bucket = 0; bucket < kHistogramBuckets; ++bucket) {
                site.histogram[bucket] += slot.histogram[bucket];
            }
            site.last_error = slot.last_error != 0 ? slot.last_error : site.last_error;
            if (site.kind == SiteKind::copy && !site.is_captured()) {
                process.copies += calls;
                process.copied_bytes += slot.bytes;
            }
            if (const auto allocation = sites.find(slot.allocation_site); allocation != sites.end()) {
                allocation_sites_[place->second] = allocation->second;
            }
        }
        std::ranges::sort(threads);
        const auto repeated = std::ranges::unique(threads);
        threads.erase(repeated.begin(), repeated.end());
        for (std::size_t i = 0; i < threads.size(); ++i) {
            CaptureSite& site = capture_.sites[threads[i].first];
            ++site.threads;
            if (i == 0 || threads[i - 1].first != threads[i].first) {
                ++site.processes;
                if (site.in_processes.size() < kNamedProcesses) {
                    site.in_processes.push_back(position);
                }
            }
        }
    }

    // Worst first; what follows is the site's identity in words that do not depend on the order of files.
    bool before(std::size_t left, std::size_t right) const {
        const CaptureSite& a = capture_.sites[left];
        const CaptureSite& b = capture_.sites[right];
        const auto numbers = [](const CaptureSite& site) {
            return std::tuple(site.kind, site.direction, site.stream, site.source_order, site.destination.kind,
                              site.destination.flags, site.source.kind, site.source.flags, site.flags,
                              site.stack.size());
        };
        if (a.host_ns != b.host_ns) {
            return a.host_ns > b.host_ns;
        }
        if (a.api != b.api) {
            return a.api < b.api;
        }
        if (const auto first = numbers(a), second = numbers(b); first != second) {
            return first < second;
        }
        static const CaptureModule kNone;
        const auto place = [this](const CaptureFrame& frame) {
            const CaptureModule& module =
                frame.module == CaptureFrame::kNoModule ? kNone : capture_.modules[frame.module];
            return std::tie(module.path, module.build_id, frame.offset);
        };
        return std::ranges::lexicographical_compare(
            a.stack, b.stack, [&](const CaptureFrame& x, const CaptureFrame& y) { return place(x) < place(y); });
    }

    Capture capture_;
    std::map<std::pair<std::string, std::string>, std::uint32_t> module_at_;
    std::unordered_map<std::string, std::size_t> site_at_;
    std::vector<std::size_t> allocation_sites_;  // beside the sites: positions, or kNowhere
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<SourceLine>> symbols_;
};

}  // namespace

std::uint64_t CaptureSite::median_ns() const noexcept {
    const std::uint32_t bucket = median_bucket_of(calls, histogram);
    return bucket == kHistogramBuckets ? 0 : histogram_lower_bound(bucket);
}

std::uint64_t Capture::total_host_ns() const noexcept {
    return std::accumulate(
        sites.begin(), sites.end(), std::uint64_t{0},
        [](std::uint64_t sum, const CaptureSite& site) { return sum + (site.is_in_graph() ? 0 : site.host_ns); });
}

namespace {

// Adds every report that can be read, after `take_away(report, file)`.
template <class F>
void add_reports(Merger& merger, const std::vector<std::string>& paths, std::vector<std::string>& errors, F take_away) {
    for (const std::string& file : report_files(paths, errors)) {
        ReadResult read = read_report(file);
        if (read.error == ReadError::none) {
            take_away(read.report, file);
            merger.add(file, read.report);
        } else {
            errors.push_back(read.message);
        }
    }
}

}  // namespace

LoadResult load_capture(const std::vector<std::string>& paths, const std::string& since) {
    LoadResult result;
    Merger merger;
    Marks marks(since);
    add_reports(merger, paths, result.errors, [&](Report& report, const std::string& file) {
        if (!since.empty()) {
            marks.take_away_from(report, file, result.errors);
        }
    });
    if (since.empty() || marks.finish(result.errors)) {
        result.capture = merger.finish();
        result.capture.since = since;
    }
    return result;
}

LoadResult load_next(const std::vector<std::string>& paths, std::map<std::string, Report>& before) {
    LoadResult result;
    Merger merger;
    add_reports(merger, paths, result.errors, [&](Report& report, const std::string& file) {
        const Report last = std::exchange(before[file], report);
        if (problem_of_mark(report, last).empty()) {
            take_away(report, last);
        }
    });
    result.capture = merger.finish();
    return result;
}

}  // namespace pincheck
