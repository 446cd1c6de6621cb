// What a test program says it did: one JSON object on stdout, the same text with and without the preload, so that a
// test can hold the report against it. A row is one site: the rows of a program name every copy, pin, release and wait
// of its listed functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

// One end of a copy, named as report/records.h names it. `flags` are report::MemoryFlags without "known"; -1: any.
struct LedgerMemory {
    std::string kind = "none";
    int flags = 0;
};

struct LedgerRow {
    std::string function;  // the user's function that made the call, as c++filt prints it, without its parameters
    std::string api;       // what the report must call it
    std::string kind;      // copy, allocate, release, synchronize
    std::string direction = "none";
    std::string stream = "none";
    LedgerMemory destination{};
    LedgerMemory source{};
    std::uint64_t calls = 0;
    std::uint64_t failed = 0;
    std::uint64_t bytes = 0;
    std::uint64_t then_synchronized = 0;
};

struct LedgerRange {
    std::string kind;  // pinned, registered, managed
    std::uint64_t bytes;
    unsigned requested_flags;
};

class Ledger {
  public:
    // Any thread. Rows that differ in their counts only are added up.
    void add(const LedgerRow& row) {
        const std::lock_guard lock(mutex_);
        for (LedgerRow& known : rows_) {
            if (same_site(known, row)) {
                known.calls += row.calls;
                known.failed += row.failed;
                known.bytes += row.bytes;
                known.then_synchronized += row.then_synchronized;
                return;
            }
        }
        rows_.push_back(row);
    }
    void live(const LedgerRange& range) { live_.push_back(range); }
    void used_thread() { ++threads_; }

    // Prints everything; rows sorted, so that the order in which threads ran does not show.
    void print(bool verified) {
        std::vector<std::string> lines;
        for (const LedgerRow& row : rows_) {
            lines.push_back("    {\"function\": \"" + row.function + "\", \"api\": \"" + row.api + "\", \"kind\": \"" +
                            row.kind + "\", \"direction\": \"" + row.direction + "\", \"stream\": \"" + row.stream +
                            "\", \"destination\": " + json(row.destination) + ", \"source\": " + json(row.source) +
                            ", \"calls\": " + std::to_string(row.calls) + ", \"failed\": " +
                            std::to_string(row.failed) + ", \"bytes\": " + std::to_string(row.bytes) +
                            ", \"then_synchronized\": " + std::to_string(row.then_synchronized) + "}");
        }
        std::sort(lines.begin(), lines.end());
        std::vector<std::string> ranges;
        for (const LedgerRange& range : live_) {
            ranges.push_back("    {\"kind\": \"" + range.kind + "\", \"bytes\": " + std::to_string(range.bytes) +
                             ", \"requested_flags\": " + std::to_string(range.requested_flags) + "}");
        }
        std::printf("{\n  \"threads\": %d,\n  \"verified\": %s,\n  \"sites\": [\n%s\n  ],\n  \"live\": [\n%s\n  ]\n}\n",
                    threads_, verified ? "true" : "false", join(lines).c_str(), join(ranges).c_str());
        std::fflush(stdout);
    }

  private:
    static bool same_site(const LedgerRow& a, const LedgerRow& b) {
        return a.function == b.function && a.api == b.api && a.kind == b.kind && a.direction == b.direction &&
               a.stream == b.stream && a.destination.kind == b.destination.kind &&
               a.destination.flags == b.destination.flags && a.source.kind == b.source.kind &&
               a.source.flags == b.source.flags;
    }
    static std::string json(const LedgerMemory& memory) {
        return "{\"kind\": \"" + memory.kind + "\", \"flags\": " + std::to_string(memory.flags) + "}";
    }
    static std::string join(const std::vector<std::string>& lines) {
        std::string all;
        for (const std::string& line : lines) {
            all += (all.empty() ? "" : ",\n") + line;
        }
        return all;
    }

    std::mutex mutex_;
    std::vector<LedgerRow> rows_;
    std::vector<LedgerRange> live_;
    int threads_ = 0;
};
