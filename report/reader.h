// Reads a report file. Trusts nothing: every length, id and checksum is checked; what is damaged or missing is named in
// `problems` and the rest is returned. Never throws for the file's contents, only std::bad_alloc.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "slots.h"

namespace pincheck::report {

struct Module {
    ModuleRecord record;
    std::vector<std::uint8_t> build_id;
};
struct Stack {
    StackRecord record;
    std::vector<Frame> frames;
};
struct Site {
    SiteRecord record;
    std::vector<Frame> key;
};

// One report, as found. Ids index the maps; an id that no record defines has no entry.
struct Report {
    FileHeader header{};
    std::optional<ProcessRecord> process;
    std::map<std::uint32_t, std::string> strings;
    std::map<std::uint32_t, Module> modules;
    std::map<std::uint32_t, Stack> stacks;
    std::map<std::uint32_t, Site> sites;
    std::vector<DeviceRecord> devices;
    std::vector<CoverageRecord> coverage;
    std::vector<MemoryRecord> memories;
    std::map<std::uint32_t, StreamRecord> streams;
    std::vector<SymbolRecord> symbols;  // in file order; appended after the process ended
    std::vector<CounterSlot> counters;
    std::vector<RangeSlot> ranges;  // live when the last snapshot was taken
    std::vector<ThreadSlot> threads;
    std::vector<WaitSlot> waits;
    std::vector<RaceSlot> races;
    std::vector<ReadSlot> reads;
    std::vector<TransferSlot> transfers;
    std::vector<LossSlot> losses;
    std::uint64_t unknown_records = 0;  // of types that this reader does not know: skipped
    // One sentence each, for a user: what is damaged, cut or newer than this reader.
    std::vector<std::string> problems;

    const std::string* string(std::uint32_t id) const {
        const auto found = strings.find(id);
        return found == strings.end() ? nullptr : &found->second;
    }
};

enum class ReadError {
    none,
    cannot_open,   // message has the system's reason
    not_a_report,  // empty, foreign, or cut inside the header
    too_new,       // needs a newer reader; message names the version
};

struct ReadResult {
    ReadError error = ReadError::none;
    std::string message;  // one line, with the next step; empty when error is none
    Report report;
};

ReadResult read_report(const std::string& path);
// The same for bytes in memory. `name` is used in messages.
ReadResult read_report(const std::uint8_t* data, std::size_t size, const std::string& name);

}  // namespace pincheck::report
