// report/format.md and the structs of report/records.h and slots.h state the same bytes and the same names.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "analyzer/names.h"
#include "report/slots.h"

namespace pincheck::report {
namespace {

struct Field {
    std::size_t offset;
    std::size_t size;
    bool operator==(const Field&) const = default;
};
struct Struct {
    std::size_t size = 0;
    std::map<std::string, Field> fields;
};
using Structs = std::map<std::string, Struct>;

std::ostream& operator<<(std::ostream& out, const Field& field) {
    return out << "offset " << field.offset << ", size " << field.size;
}

// The cells of "| a | b | c |".
std::vector<std::string> cells_of(const std::string& line) {
    std::vector<std::string> cells;
    if (!line.starts_with("| ")) {
        return cells;
    }
    std::size_t from = 1;
    for (std::size_t to = line.find('|', from); to != line.npos; from = to + 1, to = line.find('|', from)) {
        std::string cell = line.substr(from, to - from);
        cell.erase(0, cell.find_first_not_of(' '));
        cell.erase(cell.find_last_not_of(' ') + 1);
        cells.push_back(cell);
    }
    return cells;
}

bool is_number(const std::string& text) {
    return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

// Every heading "### Name (N bytes)" and the rows "| offset | size | `field` | meaning |" below it.
Structs structs_of_document(std::map<std::string, std::string>& meanings) {
    std::ifstream file(PINCHECK_FORMAT_MD);
    EXPECT_TRUE(file) << PINCHECK_FORMAT_MD;
    Structs result;
    std::string current;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("#")) {
            current.clear();
        }
        char name[64];
        unsigned size = 0;
        if (std::sscanf(line.c_str(), "### %63[A-Za-z] (%u bytes)", name, &size) == 2) {
            current = name;
            result[current].size = size;
            continue;
        }
        const std::vector<std::string> cells = cells_of(line);
        if (cells.size() == 4 && is_number(cells[0]) && is_number(cells[1])) {
            EXPECT_NE(current, "") << "a row under no struct: " << line;
            EXPECT_TRUE(cells[2].size() > 2 && cells[2].front() == '`' && cells[2].back() == '`') << line;
            const std::string field = cells[2].substr(1, cells[2].size() - 2);
            const Field place{std::stoul(cells[0]), std::stoul(cells[1])};
            EXPECT_TRUE(result[current].fields.emplace(field, place).second) << line;
            meanings[current + "." + field] = cells[3];
        }
    }
    return result;
}

#define FIELD(type, member) result[#type].fields[#member] = {offsetof(type, member), sizeof(type::member)}
#define STRUCT(type) result[#type].size = sizeof(type)

Structs structs_of_code() {
    Structs result;
    STRUCT(FileHeader);
    FIELD(FileHeader, magic), FIELD(FileHeader, version), FIELD(FileHeader, minimum_reader);
    FIELD(FileHeader, features), FIELD(FileHeader, header_bytes), FIELD(FileHeader, segment_bytes);
    FIELD(FileHeader, segment_count), FIELD(FileHeader, state), FIELD(FileHeader, snapshots);
    FIELD(FileHeader, snapshot_ns), FIELD(FileHeader, start_ns), FIELD(FileHeader, start_realtime_ns);
    FIELD(FileHeader, pid), FIELD(FileHeader, reserved), FIELD(FileHeader, crc);
    STRUCT(SegmentHeader);
    FIELD(SegmentHeader, magic), FIELD(SegmentHeader, kind), FIELD(SegmentHeader, index);
    FIELD(SegmentHeader, committed), FIELD(SegmentHeader, reserved), FIELD(SegmentHeader, crc);
    STRUCT(RecordHeader);
    FIELD(RecordHeader, bytes), FIELD(RecordHeader, type), FIELD(RecordHeader, reserved);
    FIELD(RecordHeader, payload), FIELD(RecordHeader, crc);
    STRUCT(StringRecord);
    FIELD(StringRecord, id), FIELD(StringRecord, length);
    STRUCT(ProcessRecord);
    FIELD(ProcessRecord, pid), FIELD(ProcessRecord, parent_pid), FIELD(ProcessRecord, executable);
    FIELD(ProcessRecord, command_line), FIELD(ProcessRecord, working_directory), FIELD(ProcessRecord, host);
    FIELD(ProcessRecord, options), FIELD(ProcessRecord, tool_version), FIELD(ProcessRecord, rank);
    FIELD(ProcessRecord, after_cuda_fork);
    STRUCT(ModuleRecord);
    FIELD(ModuleRecord, id), FIELD(ModuleRecord, path), FIELD(ModuleRecord, base), FIELD(ModuleRecord, begin);
    FIELD(ModuleRecord, end), FIELD(ModuleRecord, build_id_bytes), FIELD(ModuleRecord, reserved);
    STRUCT(Frame);
    FIELD(Frame, module), FIELD(Frame, reserved), FIELD(Frame, offset);
    STRUCT(StackRecord);
    FIELD(StackRecord, id), FIELD(StackRecord, count), FIELD(StackRecord, origin), FIELD(StackRecord, cut);
    STRUCT(Memory);
    FIELD(Memory, kind), FIELD(Memory, reserved), FIELD(Memory, flags);
    STRUCT(SiteRecord);
    FIELD(SiteRecord, id), FIELD(SiteRecord, api), FIELD(SiteRecord, stack), FIELD(SiteRecord, kind);
    FIELD(SiteRecord, direction), FIELD(SiteRecord, stream), FIELD(SiteRecord, source_order);
    FIELD(SiteRecord, destination), FIELD(SiteRecord, source), FIELD(SiteRecord, flags);
    FIELD(SiteRecord, key_count), FIELD(SiteRecord, python_count), FIELD(SiteRecord, reserved2);
    STRUCT(DeviceRecord);
    FIELD(DeviceRecord, ordinal), FIELD(DeviceRecord, name), FIELD(DeviceRecord, driver_version);
    FIELD(DeviceRecord, async_engines), FIELD(DeviceRecord, pageable_access);
    FIELD(DeviceRecord, host_page_tables), FIELD(DeviceRecord, integrated), FIELD(DeviceRecord, reserved);
    STRUCT(CoverageRecord);
    FIELD(CoverageRecord, kind), FIELD(CoverageRecord, text), FIELD(CoverageRecord, time_ns);
    STRUCT(MemoryRecord);
    FIELD(MemoryRecord, site), FIELD(MemoryRecord, detail), FIELD(MemoryRecord, text);
    FIELD(MemoryRecord, reserved), FIELD(MemoryRecord, value);
    STRUCT(SymbolRecord);
    FIELD(SymbolRecord, module), FIELD(SymbolRecord, level), FIELD(SymbolRecord, offset);
    FIELD(SymbolRecord, function), FIELD(SymbolRecord, file), FIELD(SymbolRecord, line), FIELD(SymbolRecord, exact);
    STRUCT(CounterSlot);
    FIELD(CounterSlot, crc), FIELD(CounterSlot, state), FIELD(CounterSlot, size_class), FIELD(CounterSlot, site);
    FIELD(CounterSlot, thread), FIELD(CounterSlot, bytes), FIELD(CounterSlot, host_ns);
    FIELD(CounterSlot, host_ns_max), FIELD(CounterSlot, failed), FIELD(CounterSlot, then_synchronized);
    FIELD(CounterSlot, bytes_min), FIELD(CounterSlot, bytes_max), FIELD(CounterSlot, first_ns);
    FIELD(CounterSlot, last_ns), FIELD(CounterSlot, histogram), FIELD(CounterSlot, allocation_site);
    FIELD(CounterSlot, last_error), FIELD(CounterSlot, reserved2);
    STRUCT(RangeSlot);
    FIELD(RangeSlot, crc), FIELD(RangeSlot, state), FIELD(RangeSlot, kind), FIELD(RangeSlot, address);
    FIELD(RangeSlot, bytes), FIELD(RangeSlot, requested_flags), FIELD(RangeSlot, site), FIELD(RangeSlot, thread);
    FIELD(RangeSlot, reserved), FIELD(RangeSlot, created_ns), FIELD(RangeSlot, reserved2);
    STRUCT(ThreadSlot);
    FIELD(ThreadSlot, crc), FIELD(ThreadSlot, state), FIELD(ThreadSlot, reserved), FIELD(ThreadSlot, thread);
    FIELD(ThreadSlot, tid), FIELD(ThreadSlot, threads), FIELD(ThreadSlot, flags), FIELD(ThreadSlot, started_ns);
    FIELD(ThreadSlot, in_call_since_ns), FIELD(ThreadSlot, in_call_api), FIELD(ThreadSlot, reserved2);
    FIELD(ThreadSlot, calls), FIELD(ThreadSlot, name), FIELD(ThreadSlot, reserved3);
    STRUCT(StreamRecord);
    FIELD(StreamRecord, id), FIELD(StreamRecord, site), FIELD(StreamRecord, context), FIELD(StreamRecord, device);
    FIELD(StreamRecord, handle), FIELD(StreamRecord, kind), FIELD(StreamRecord, flags);
    FIELD(StreamRecord, reserved), FIELD(StreamRecord, reserved2);
    STRUCT(WaitSlot);
    FIELD(WaitSlot, crc), FIELD(WaitSlot, state), FIELD(WaitSlot, cause), FIELD(WaitSlot, site);
    FIELD(WaitSlot, thread), FIELD(WaitSlot, calls), FIELD(WaitSlot, ns), FIELD(WaitSlot, ns_max);
    FIELD(WaitSlot, first_ns), FIELD(WaitSlot, last_ns), FIELD(WaitSlot, evidence), FIELD(WaitSlot, stream);
    FIELD(WaitSlot, behind_site), FIELD(WaitSlot, kernel), FIELD(WaitSlot, items);
    FIELD(WaitSlot, delayed_streams), FIELD(WaitSlot, reserved);
    STRUCT(TransferSlot);
    FIELD(TransferSlot, crc), FIELD(TransferSlot, state), FIELD(TransferSlot, size_class), FIELD(TransferSlot, site);
    FIELD(TransferSlot, reserved), FIELD(TransferSlot, copies), FIELD(TransferSlot, bytes);
    FIELD(TransferSlot, device_ns), FIELD(TransferSlot, device_ns_min), FIELD(TransferSlot, device_ns_max);
    FIELD(TransferSlot, calls), FIELD(TransferSlot, host_ns), FIELD(TransferSlot, completion_ns);
    FIELD(TransferSlot, before_ns), FIELD(TransferSlot, during_ns), FIELD(TransferSlot, returned_early);
    FIELD(TransferSlot, reserved2);
    STRUCT(ReadSlot);
    FIELD(ReadSlot, crc), FIELD(ReadSlot, state), FIELD(ReadSlot, flags), FIELD(ReadSlot, site);
    FIELD(ReadSlot, pin_site), FIELD(ReadSlot, call), FIELD(ReadSlot, thread), FIELD(ReadSlot, samples);
    FIELD(ReadSlot, first_ns), FIELD(ReadSlot, last_ns), FIELD(ReadSlot, address), FIELD(ReadSlot, bytes);
    FIELD(ReadSlot, begin), FIELD(ReadSlot, end), FIELD(ReadSlot, reserved);
    STRUCT(RaceSlot);
    FIELD(RaceSlot, crc), FIELD(RaceSlot, state), FIELD(RaceSlot, rule), FIELD(RaceSlot, copy_site);
    FIELD(RaceSlot, other_site), FIELD(RaceSlot, pin_site), FIELD(RaceSlot, wait_site), FIELD(RaceSlot, after_site);
    FIELD(RaceSlot, before_site), FIELD(RaceSlot, stream), FIELD(RaceSlot, other_stream), FIELD(RaceSlot, level);
    FIELD(RaceSlot, flags), FIELD(RaceSlot, call), FIELD(RaceSlot, count), FIELD(RaceSlot, corrupting);
    FIELD(RaceSlot, latent), FIELD(RaceSlot, first_ns), FIELD(RaceSlot, last_ns), FIELD(RaceSlot, address);
    FIELD(RaceSlot, copy_bytes), FIELD(RaceSlot, begin), FIELD(RaceSlot, end), FIELD(RaceSlot, thread);
    FIELD(RaceSlot, other_thread), FIELD(RaceSlot, graph_launches), FIELD(RaceSlot, reserved);
    STRUCT(LossSlot);
    FIELD(LossSlot, crc), FIELD(LossSlot, state), FIELD(LossSlot, reserved), FIELD(LossSlot, kind);
    FIELD(LossSlot, error), FIELD(LossSlot, count), FIELD(LossSlot, first_ns), FIELD(LossSlot, last_ns);
    FIELD(LossSlot, reserved2);
    return result;
}

TEST(FormatDocument, has_every_struct_with_the_offsets_of_the_code) {
    std::map<std::string, std::string> meanings;
    const Structs document = structs_of_document(meanings);
    const Structs code = structs_of_code();
    for (const auto& [name, expected] : code) {
        ASSERT_TRUE(document.contains(name)) << name << " is not described";
        EXPECT_EQ(document.at(name).size, expected.size) << name;
        for (const auto& [field, place] : expected.fields) {
            ASSERT_TRUE(document.at(name).fields.contains(field)) << name << "." << field << " is not described";
            EXPECT_EQ(document.at(name).fields.at(field), place) << name << "." << field;
        }
    }
    EXPECT_EQ(document.size(), code.size());
}

// Together with the test above this finds a field that is in the struct and in no list here.
TEST(FormatDocument, rows_cover_each_struct_without_gap) {
    std::map<std::string, std::string> meanings;
    for (const auto& [name, described] : structs_of_document(meanings)) {
        std::map<std::size_t, std::size_t> by_offset;
        for (const auto& [field, place] : described.fields) {
            EXPECT_TRUE(by_offset.emplace(place.offset, place.size).second) << name << "." << field;
        }
        std::size_t end = 0;
        for (const auto& [offset, size] : by_offset) {
            EXPECT_EQ(offset, end) << name;
            end = offset + size;
        }
        EXPECT_EQ(end, described.size) << name;
    }
}

// "1 copy, 2 allocate, …" lists a name for exactly the values that have one.
template <class Enum>
void expect_names(const std::map<std::string, std::string>& meanings, const char* field, unsigned last) {
    ASSERT_TRUE(meanings.contains(field)) << field;
    const std::string& text = meanings.at(field);
    unsigned count = 0;
    std::istringstream items(text);
    for (std::string item; std::getline(items, item, ','); ++count) {
        unsigned value = 0;
        char listed[64];
        ASSERT_EQ(std::sscanf(item.c_str(), " %u %63[a-z-]", &value, listed), 2) << field << ": " << item;
        EXPECT_EQ(name(static_cast<Enum>(value)), listed) << field;
    }
    EXPECT_GT(count, 0u) << field;
    EXPECT_EQ(name(static_cast<Enum>(last + 1)), std::to_string(last + 1)) << field << " has a name past the last";
    EXPECT_NE(text.find(std::to_string(last) + " " + name(static_cast<Enum>(last))), text.npos) << field;
}

TEST(FormatDocument, names_enumerators_as_the_program_shows_them) {
    std::map<std::string, std::string> meanings;
    structs_of_document(meanings);
    expect_names<FileState>(meanings, "FileHeader.state", 1);
    expect_names<StackOrigin>(meanings, "StackRecord.origin", 2);
    expect_names<SiteKind>(meanings, "SiteRecord.kind", 14);
    expect_names<Direction>(meanings, "SiteRecord.direction", 5);
    expect_names<StreamKind>(meanings, "SiteRecord.stream", 3);
    expect_names<SourceOrder>(meanings, "SiteRecord.source_order", 2);
    expect_names<MemoryDetail>(meanings, "MemoryRecord.detail", 3);
    expect_names<MemoryClass>(meanings, "Memory.kind", 10);
    expect_names<CoverageKind>(meanings, "CoverageRecord.kind", 14);
    expect_names<WaitCause>(meanings, "WaitSlot.cause", 13);
    expect_names<WaitEvidence>(meanings, "WaitSlot.evidence", 3);
    expect_names<RangeKind>(meanings, "RangeSlot.kind", 3);
    expect_names<RaceRule>(meanings, "RaceSlot.rule", 9);
    expect_names<RaceLevel>(meanings, "RaceSlot.level", 3);
    expect_names<Loss>(meanings, "LossSlot.kind", kLossKinds - 1);
}

}  // namespace
}  // namespace pincheck::report
