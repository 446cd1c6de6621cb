#include <cstddef>
#include <utility>

#include "crc32c.h"
#include "reader_impl.h"

namespace pincheck::report {
namespace {

// Counts references of one kind that lead nowhere; says so once.
class Dangling {
  public:
    explicit Dangling(const char* what) : what_(what) {}
    template <class Map>
    void check(std::uint32_t id, const Map& in) {
        if (id != 0 && !in.contains(id)) {
            first_ = count_ == 0 ? id : first_;
            ++count_;
        }
    }
    void say(std::vector<std::string>& problems) const {
        if (count_ > 0) {
            problems.push_back(std::to_string(count_) + " " + what_ + " that the file does not have (first: id " +
                               std::to_string(first_) + ")");
        }
    }

  private:
    const char* what_;
    std::uint64_t count_ = 0;
    std::uint32_t first_ = 0;
};

}  // namespace

void Parser::parse_records() {
    for (const SegmentView& segment : segments_) {
        if (segment.kind == SegmentKind::records) {
            parse_records_of(segment);
        }
    }
    Report& report = result_.report;
    if (bad_records_ > 0) {
        problem(std::to_string(bad_records_) + " records have a sound checksum and impossible contents; skipped");
    }
    if (repeated_ids_ > 0) {
        problem(std::to_string(repeated_ids_) + " records repeat an id; the first of each is used");
    }
    if (report.unknown_records > 0) {
        problem(std::to_string(report.unknown_records) +
                " records are of types newer than this pincheck; skipped (a newer pincheck shows them)");
    }
}

void Parser::parse_records_of(const SegmentView& segment) {
    const auto stop = [&](std::uint32_t used, const char* why) {
        problem("segment " + std::to_string(segment.index) + ": the record at offset " +
                std::to_string(segment.begin + used) + " " + why + "; the rest of the segment is skipped");
    };
    std::uint32_t used = 0;
    while (used < segment.bytes) {
        const std::uint32_t left = segment.bytes - used;
        // Past the end of a cut file is no damage: check_cut() has said it.
        const bool cut = segment.bytes < segment.promised;
        if (left < sizeof(RecordHeader)) {
            if (!cut) {
                stop(used, "does not fit");
            }
            return;
        }
        const std::uint64_t begin = segment.begin + used;
        const auto header = at<RecordHeader>(begin);
        if (header.bytes < sizeof header || header.bytes % 8 != 0 || header.bytes > segment.promised - used ||
            header.payload > header.bytes - sizeof header || header.bytes - sizeof header - header.payload >= 8) {
            stop(used, "has an impossible length");
            return;
        }
        if (header.bytes > left) {
            return;
        }
        const std::uint32_t head = crc32c(data_.data() + begin, offsetof(RecordHeader, crc));
        if (header.crc != crc32c(data_.data() + begin + sizeof header, header.bytes - sizeof header, head)) {
            stop(used, "fails its checksum");
            return;
        }
        if (!take_record(header.type, begin + sizeof header, header.payload)) {
            ++bad_records_;
        }
        used += header.bytes;
    }
}

// False when the contents cannot be: the payload is not as long as its struct and counts say, or the id is 0.
bool Parser::take_record(RecordType type, std::uint64_t begin, std::uint32_t payload) {
    Report& report = result_.report;
    const auto fits = [&](std::uint64_t bytes) { return payload == bytes; };
    const auto frames = [&](std::uint64_t from, std::uint32_t count) {
        std::vector<Frame> result(count);
        if (count > 0) {
            std::memcpy(result.data(), data_.data() + from, count * sizeof(Frame));
        }
        return result;
    };
    const auto insert = [&](auto& map, std::uint32_t id, auto value) {
        repeated_ids_ += !map.try_emplace(id, std::move(value)).second;
        return true;
    };
    switch (type) {
        case RecordType::string: {
            if (payload < sizeof(StringRecord)) {
                return false;
            }
            const auto record = at<StringRecord>(begin);
            if (record.id == 0 || !fits(sizeof record + std::uint64_t{record.length})) {
                return false;
            }
            const auto* text = reinterpret_cast<const char*>(data_.data() + begin + sizeof record);
            return insert(report.strings, record.id, std::string(text, record.length));
        }
        case RecordType::process:
            if (!fits(sizeof(ProcessRecord))) {
                return false;
            }
            report.process = at<ProcessRecord>(begin);
            return true;
        case RecordType::module: {
            if (payload < sizeof(ModuleRecord)) {
                return false;
            }
            const auto record = at<ModuleRecord>(begin);
            if (record.id == 0 || !fits(sizeof record + std::uint64_t{record.build_id_bytes})) {
                return false;
            }
            const std::uint8_t* id = data_.data() + begin + sizeof record;
            return insert(report.modules, record.id, Module{record, {id, id + record.build_id_bytes}});
        }
        case RecordType::stack: {
            if (payload < sizeof(StackRecord)) {
                return false;
            }
            const auto record = at<StackRecord>(begin);
            if (record.id == 0 || !fits(sizeof record + std::uint64_t{record.count} * sizeof(Frame))) {
                return false;
            }
            return insert(report.stacks, record.id, Stack{record, frames(begin + sizeof record, record.count)});
        }
        case RecordType::site: {
            if (payload < sizeof(SiteRecord)) {
                return false;
            }
            const auto record = at<SiteRecord>(begin);
            constexpr std::uint64_t kPythonPair = 16;
            if (record.id == 0 || !fits(sizeof record + std::uint64_t{record.key_count} * sizeof(Frame) +
                                        record.python_count * kPythonPair)) {
                return false;
            }
            return insert(report.sites, record.id, Site{record, frames(begin + sizeof record, record.key_count)});
        }
        case RecordType::device:
            if (!fits(sizeof(DeviceRecord))) {
                return false;
            }
            report.devices.push_back(at<DeviceRecord>(begin));
            return true;
        case RecordType::coverage:
            if (!fits(sizeof(CoverageRecord))) {
                return false;
            }
            report.coverage.push_back(at<CoverageRecord>(begin));
            return true;
        case RecordType::memory:
            if (!fits(sizeof(MemoryRecord))) {
                return false;
            }
            report.memories.push_back(at<MemoryRecord>(begin));
            return true;
        case RecordType::stream: {
            if (!fits(sizeof(StreamRecord)) || at<StreamRecord>(begin).id == 0) {
                return false;
            }
            const auto record = at<StreamRecord>(begin);
            return insert(report.streams, record.id, record);
        }
        case RecordType::symbol:
            if (!fits(sizeof(SymbolRecord))) {
                return false;
            }
            report.symbols.push_back(at<SymbolRecord>(begin));
            return true;
    }
    ++report.unknown_records;
    return true;
}

void Parser::check_references() {
    const Report& report = result_.report;
    Dangling strings("places name a string");
    Dangling modules("stack or key frames name a module");
    Dangling symbol_modules("symbols name a module");
    Dangling stacks("sites name a stack");
    Dangling counter_sites("counter fields name a site");
    Dangling range_sites("ranges name a site");
    Dangling memory_sites("memory details name a site");
    Dangling stream_sites("streams name a site");
    Dangling wait_sites("wait fields name a site");
    Dangling wait_streams("wait fields name a stream");
    Dangling race_sites("race fields name a site");
    Dangling race_streams("race fields name a stream");
    Dangling read_sites("read fields name a site");
    Dangling transfer_sites("transfers name a site");
    const auto text = [&](std::uint32_t id) { strings.check(id, report.strings); };
    if (report.process) {
        const ProcessRecord& process = *report.process;
        for (const std::uint32_t id : {process.executable, process.command_line, process.working_directory,
                                       process.host, process.options, process.tool_version}) {
            text(id);
        }
    }
    for (const DeviceRecord& device : report.devices) {
        text(device.name);
    }
    for (const CoverageRecord& coverage : report.coverage) {
        text(coverage.text);
    }
    for (const auto& [id, module] : report.modules) {
        text(module.record.path);
    }
    for (const auto& [id, stack] : report.stacks) {
        for (const Frame& frame : stack.frames) {
            modules.check(frame.module, report.modules);
        }
    }
    for (const auto& [id, site] : report.sites) {
        text(site.record.api);
        stacks.check(site.record.stack, report.stacks);
        for (const Frame& frame : site.key) {
            modules.check(frame.module, report.modules);
        }
    }
    for (const MemoryRecord& memory : report.memories) {
        memory_sites.check(memory.site, report.sites);
        text(memory.text);
    }
    for (const SymbolRecord& symbol : report.symbols) {
        symbol_modules.check(symbol.module, report.modules);
        text(symbol.function);
        text(symbol.file);
    }
    for (const CounterSlot& counter : report.counters) {
        counter_sites.check(counter.site, report.sites);
        counter_sites.check(counter.allocation_site, report.sites);
    }
    for (const RangeSlot& range : report.ranges) {
        range_sites.check(range.site, report.sites);
    }
    for (const auto& [id, stream] : report.streams) {
        stream_sites.check(stream.site, report.sites);
    }
    for (const WaitSlot& wait : report.waits) {
        wait_sites.check(wait.site, report.sites);
        wait_sites.check(wait.behind_site, report.sites);
        wait_streams.check(wait.stream, report.streams);
        for (const std::uint32_t stream : wait.delayed_streams) {
            wait_streams.check(stream, report.streams);
        }
        text(wait.kernel);
    }
    for (const RaceSlot& race : report.races) {
        for (const std::uint32_t site :
             {race.copy_site, race.other_site, race.pin_site, race.wait_site, race.after_site, race.before_site}) {
            race_sites.check(site, report.sites);
        }
        race_streams.check(race.stream, report.streams);
        race_streams.check(race.other_stream, report.streams);
        text(race.call);
    }
    for (const ReadSlot& read : report.reads) {
        read_sites.check(read.site, report.sites);
        read_sites.check(read.pin_site, report.sites);
        text(read.call);
    }
    for (const TransferSlot& transfer : report.transfers) {
        transfer_sites.check(transfer.site, report.sites);
    }
    for (const ThreadSlot& thread : report.threads) {
        text(thread.in_call_api);
    }
    for (const Dangling* kind :
         {&strings, &modules, &symbol_modules, &stacks, &counter_sites, &range_sites, &memory_sites, &stream_sites,
          &wait_sites, &wait_streams, &race_sites, &race_streams, &read_sites, &transfer_sites}) {
        kind->say(result_.report.problems);
    }
}

}  // namespace pincheck::report
