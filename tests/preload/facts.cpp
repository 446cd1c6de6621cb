#include "facts.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <sstream>

#include "symbols.h"

namespace pincheck::test {

using namespace report;

namespace {

void add(Totals& totals, const CounterSlot& counter) {
    totals.calls += std::accumulate(std::begin(counter.histogram), std::end(counter.histogram), std::uint64_t{0});
    totals.failed += counter.failed;
    totals.bytes += counter.bytes;
    totals.then_synchronized += counter.then_synchronized;
}

std::string text_of(const Totals& totals) {
    std::ostringstream out;
    out << totals.calls << " calls, " << totals.failed << " failed, " << totals.bytes << " bytes, "
        << totals.then_synchronized << " then synchronised";
    return out.str();
}

// Flags matter for page-locked memory only, and only as requested.
std::string memory_text(const Memory& memory) {
    std::string text = name(memory.kind);
    if (memory.kind == MemoryClass::pinned || memory.kind == MemoryClass::registered) {
        text += (memory.flags & kMemoryFlagsKnown) != 0
                    ? ":" + std::to_string(memory.flags & ~static_cast<unsigned>(kMemoryFlagsKnown))
                    : ":unknown";
    }
    return text;
}

std::string memory_text(const nlohmann::json& memory) {
    const std::string kind = memory.at("kind");
    return kind == "pinned" || kind == "registered" ? kind + ":" + std::to_string(memory.at("flags").get<int>()) : kind;
}

using Rows = std::map<std::string, Totals>;

// A wait for the whole device has another name in another runtime, and programs make it where they like.
bool waits_for_device(const std::string& api) {
    return api == "cudaDeviceSynchronize" || api.rfind("cuCtxSynchronize", 0) == 0;
}

// Programs free device memory where they like; their ledgers name page-locked memory.
bool frees_on_device(const std::string& api) {
    return api == "cudaFree" || api == "cuMemFree" || api == "cuMemFree_v2";
}

const char* range_name(RangeKind kind) {
    return kind == RangeKind::pinned ? "pinned" : kind == RangeKind::registered ? "registered" : "managed";
}

std::string range_text(const std::string& kind, std::uint64_t bytes, std::uint32_t flags) {
    return kind + " of " + std::to_string(bytes) + " bytes, requested flags " + std::to_string(flags) + "\n";
}

// Launches, event records and the loading of modules make a site when one took long, on a busy machine any of them.
bool is_counted_only_when_held(SiteKind kind) {
    return kind == SiteKind::launch || kind == SiteKind::module_load;
}

}  // namespace

void PrintTo(const Totals& totals, std::ostream* out) {
    *out << text_of(totals);
}

const char* name(SiteKind kind) {
    switch (kind) {
        case SiteKind::copy:
            return "copy";
        case SiteKind::allocate:
            return "allocate";
        case SiteKind::release:
            return "release";
        case SiteKind::synchronize:
            return "synchronize";
        case SiteKind::fill:
            return "fill";
        case SiteKind::prefetch:
            return "prefetch";
        case SiteKind::graph_setup:
            return "graph_setup";
        case SiteKind::graph_launch:
            return "graph_launch";
        case SiteKind::launch:
            return "launch";
        case SiteKind::stream_setup:
            return "stream_setup";
        case SiteKind::query:
            return "query";
        case SiteKind::host_function:
            return "host_function";
        case SiteKind::host_access:
            return "host_access";
        case SiteKind::module_load:
            return "module_load";
    }
    return "?";
}

const char* name(Direction direction) {
    switch (direction) {
        case Direction::none:
            return "none";
        case Direction::host_to_host:
            return "host_to_host";
        case Direction::host_to_device:
            return "host_to_device";
        case Direction::device_to_host:
            return "device_to_host";
        case Direction::device_to_device:
            return "device_to_device";
        case Direction::unknown:
            return "unknown";
    }
    return "?";
}

const char* name(StreamKind stream) {
    switch (stream) {
        case StreamKind::none:
            return "none";
        case StreamKind::legacy_default:
            return "legacy_default";
        case StreamKind::per_thread_default:
            return "per_thread_default";
        case StreamKind::created:
            return "created";
    }
    return "?";
}

const char* name(MemoryClass memory) {
    switch (memory) {
        case MemoryClass::none:
            return "none";
        case MemoryClass::unknown:
            return "unknown";
        case MemoryClass::pageable:
            return "pageable";
        case MemoryClass::pinned:
            return "pinned";
        case MemoryClass::registered:
            return "registered";
        case MemoryClass::partly_registered:
            return "partly_registered";
        case MemoryClass::managed:
            return "managed";
        case MemoryClass::device:
            return "device";
        case MemoryClass::array:
            return "array";
        case MemoryClass::device_symbol:
            return "device_symbol";
        case MemoryClass::host_pool:
            return "host_pool";
    }
    return "?";
}

Totals totals_of_site(const Report& report, std::uint32_t site) {
    Totals sum;
    for (const CounterSlot& counter : report.counters) {
        if (counter.site == site) {
            add(sum, counter);
        }
    }
    return sum;
}

Totals totals(const Report& report, const SiteFilter& filter) {
    Totals sum;
    for (const CounterSlot& counter : report.counters) {
        const auto site = report.sites.find(counter.site);
        if (site != report.sites.end() && filter(site->second.record)) {
            add(sum, counter);
        }
    }
    return sum;
}

Memory host_side(const SiteRecord& site) {
    return site.direction == Direction::device_to_host ? site.destination : site.source;
}

Totals copies(const Report& report, Direction direction) {
    return totals(report,
                  [=](const SiteRecord& site) { return site.kind == SiteKind::copy && site.direction == direction; });
}

Totals copies(const Report& report, Direction direction, MemoryClass host) {
    return totals(report, [=](const SiteRecord& site) {
        return site.kind == SiteKind::copy && site.direction == direction && host_side(site).kind == host;
    });
}

std::string api_of(const Report& report, const SiteRecord& site) {
    const std::string* const text = report.string(site.api);
    return text != nullptr ? *text : "?";
}

std::vector<NamedFrame> stack_of(const Report& report, const SiteRecord& site) {
    std::vector<NamedFrame> named;
    const auto stack = report.stacks.find(site.stack);
    if (stack == report.stacks.end()) {
        return named;
    }
    for (const Frame& frame : stack->second.frames) {
        const auto module = report.modules.find(frame.module);
        const std::string* const path =
            module != report.modules.end() ? report.string(module->second.record.path) : nullptr;
        if (path == nullptr) {
            named.push_back({"?", "?"});
            continue;
        }
        named.push_back(
            {std::filesystem::path(*path).filename().string(), Symbols::of(*path).function_before(frame.offset)});
    }
    return named;
}

std::string stack_text(const Report& report, const SiteRecord& site) {
    std::string text;
    for (const NamedFrame& frame : stack_of(report, site)) {
        text += "    " + frame.module + " " + frame.function + "\n";
    }
    return text;
}

std::uint64_t lost(const Report& report, Loss kind) {
    std::uint64_t count = 0;
    for (const LossSlot& loss : report.losses) {
        count += loss.kind == kind ? loss.count : 0;
    }
    return count;
}

std::string losses_text(const Report& report, bool with_times) {
    std::string text;
    // Where copies are watched, parts of pages that a download's destination shares are not.
    const bool watches = std::ranges::any_of(report.coverage, [&](const CoverageRecord& record) {
        const std::string* const level = report.string(record.text);
        return record.kind == CoverageKind::races && level != nullptr &&
               (level->starts_with("watch") || level->starts_with("trap"));
    });
    for (const LossSlot& loss : report.losses) {
        if ((loss.kind == Loss::transfers && !with_times) || (loss.kind == Loss::unwatched && watches)) {
            continue;
        }
        text += "loss " + std::to_string(static_cast<unsigned>(loss.kind)) + ": " + std::to_string(loss.count) +
                ", error " + std::to_string(loss.error) + "\n";
    }
    return text;
}

bool covers_route(const Report& report, const std::string& route) {
    return std::any_of(report.coverage.begin(), report.coverage.end(), [&](const CoverageRecord& record) {
        const std::string* const text = report.string(record.text);
        return record.kind == CoverageKind::route && text != nullptr && *text == route;
    });
}

std::string process_text(const Report& report, std::uint32_t ProcessRecord::*field) {
    const std::string* const text = report.process ? report.string((*report.process).*field) : nullptr;
    return text != nullptr ? *text : "";
}

std::string differences_from_ledger(const Report& report, const std::string& ledger_json) {
    const nlohmann::json ledger = nlohmann::json::parse(ledger_json, nullptr, false);
    if (ledger.is_discarded()) {
        return "the program printed no ledger: " + ledger_json;
    }
    const auto key = [](const std::string& function, const std::string& api, const std::string& kind,
                        const std::string& direction, const std::string& stream, const std::string& destination,
                        const std::string& source) {
        return kind + " " + (function.empty() ? "*" : function) + " " + api + " " + direction + " " + stream + " " +
               destination + "<-" + source;
    };
    Rows expected;
    std::set<std::string> functions;
    for (const auto& row : ledger.at("sites")) {
        const std::string function = row.at("function");
        functions.insert(function);
        expected[key(function, row.at("api"), row.at("kind"), row.at("direction"), row.at("stream"),
                     memory_text(row.at("destination")), memory_text(row.at("source")))] =
            Totals{row.at("calls"), row.at("failed"), row.at("bytes"), row.at("then_synchronized")};
    }
    Rows actual;
    for (const auto& [id, site] : report.sites) {
        const std::string api = api_of(report, site.record);
        // The ledger is of copies and memory.
        if ((site.record.kind == SiteKind::synchronize && waits_for_device(api)) || frees_on_device(api) ||
            is_counted_only_when_held(site.record.kind) || site.record.kind == SiteKind::stream_setup ||
            site.record.kind == SiteKind::host_access) {  // no call
            continue;
        }
        // The innermost frame that the ledger knows; below it may be frames of a static runtime.
        std::string function;
        for (const NamedFrame& frame : stack_of(report, site.record)) {
            if (functions.contains(frame.function)) {
                function = frame.function;
                break;
            }
        }
        const bool copy = site.record.kind == SiteKind::copy;
        const Totals counts = totals_of_site(report, id);
        Totals& row = actual[key(function, api, name(site.record.kind), name(site.record.direction),
                                 name(site.record.stream), copy ? memory_text(site.record.destination) : "none",
                                 copy ? memory_text(site.record.source) : "none")];
        row.calls += counts.calls;
        row.failed += counts.failed;
        row.bytes += counts.bytes;
        row.then_synchronized += counts.then_synchronized;
    }

    std::multiset<std::string> expected_ranges;
    std::multiset<std::string> actual_ranges;
    for (const auto& range : ledger.at("live")) {
        expected_ranges.insert(range_text(range.at("kind"), range.at("bytes"), range.at("requested_flags")));
    }
    for (const RangeSlot& range : report.ranges) {
        actual_ranges.insert(range_text(range_name(range.kind), range.bytes, range.requested_flags));
    }
    const auto joined = [](const std::multiset<std::string>& texts) {
        return std::accumulate(texts.begin(), texts.end(), std::string());
    };

    std::string differences;
    for (const auto& [row, counts] : expected) {
        const auto found = actual.find(row);
        if (found == actual.end()) {
            differences += "missing  " + row + ": " + text_of(counts) + "\n";
        } else if (!(found->second == counts)) {
            differences += "expected " + row + ": " + text_of(counts) + "\n     got " + text_of(found->second) + "\n";
        }
    }
    for (const auto& [row, counts] : actual) {
        if (!expected.contains(row)) {
            differences += "extra    " + row + ": " + text_of(counts) + "\n";
        }
    }
    if (expected_ranges != actual_ranges) {
        differences += "live ranges expected:\n" + joined(expected_ranges) + "got:\n" + joined(actual_ranges);
    }
    return differences;
}

}  // namespace pincheck::test
