// Questions about a report, asked the way a test's sentence needs them.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "report/reader.h"

namespace pincheck::test {

struct Totals {
    std::uint64_t calls = 0;
    std::uint64_t failed = 0;
    std::uint64_t bytes = 0;
    std::uint64_t then_synchronized = 0;

    bool operator==(const Totals&) const = default;
};
void PrintTo(const Totals& totals, std::ostream* out);

using SiteFilter = std::function<bool(const report::SiteRecord&)>;

// Over all threads and all sites that the filter takes.
Totals totals(const report::Report& report, const SiteFilter& filter);
Totals totals_of_site(const report::Report& report, std::uint32_t site);

// Copies of one direction and host-side class, through any API.
Totals copies(const report::Report& report, report::Direction direction);
Totals copies(const report::Report& report, report::Direction direction, report::MemoryClass host);

// The host-side end of a copy (source of an upload, destination of a download).
report::Memory host_side(const report::SiteRecord& site);

std::string api_of(const report::Report& report, const report::SiteRecord& site);
const char* name(report::SiteKind kind);
const char* name(report::Direction direction);
const char* name(report::StreamKind stream);
const char* name(report::MemoryClass memory);

// Innermost first, "module function": the file name of the module and the bare name of the function.
struct NamedFrame {
    std::string module;
    std::string function;
};
std::vector<NamedFrame> stack_of(const report::Report& report, const report::SiteRecord& site);
std::string stack_text(const report::Report& report, const report::SiteRecord& site);

std::uint64_t lost(const report::Report& report, report::Loss kind);
// `with_times` false: without the device times that were lost.
std::string losses_text(const report::Report& report, bool with_times = true);
bool covers_route(const report::Report& report, const std::string& route);
std::string process_text(const report::Report& report, std::uint32_t report::ProcessRecord::*field);

// Holds a report against the ledger that a program of tests/programs printed (ledger.h): every site, its counts, the
// ranges that live at exit. Empty when they agree, else both sides as text.
std::string differences_from_ledger(const report::Report& report, const std::string& ledger_json);

}  // namespace pincheck::test
