// report_facts REPORT… : what the reports hold, added up, as one JSON object, for run.py. Copies are those that were
// executed: by a call that succeeded and was not captured into a graph, or by a launch of a graph; by direction and
// class of the host side, since CUPTI gives copies of managed memory another kind. Fills (memsets) likewise.
// With --ledger FILE (the stdout of a copies_* program) also how the reports differ from it.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "../preload/facts.h"

using namespace pincheck::report;
using namespace pincheck::test;

namespace {

// Of a copy inside the device too: the end that is not plain device memory, where there is one.
Memory special_side(const SiteRecord& site) {
    const bool plain_source = site.direction == Direction::device_to_device && site.source.kind == MemoryClass::device;
    return plain_source ? site.destination : host_side(site);
}

}  // namespace

int main(int argc, char** argv) {
    nlohmann::json out = {{"reports", 0},
                          {"copies", nlohmann::json::object()},
                          {"calls", 0},
                          {"failed", 0},
                          {"apis", nlohmann::json::object()},
                          {"routes", nlohmann::json::array()},
                          {"losses", ""},
                          {"problems", nlohmann::json::array()},
                          {"devices", nlohmann::json::array()},
                          {"fills", 0},
                          {"unwinder", true}};
    std::string ledger;
    std::set<std::string> routes;
    std::map<std::string, std::uint64_t> apis;
    std::map<std::string, std::map<std::string, std::uint64_t>> copies;
    for (int i = 1; i < argc; ++i) {
        if (std::string(argv[i]) == "--ledger" && i + 1 < argc) {
            std::ifstream file(argv[++i]);
            ledger.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
            continue;
        }
        const ReadResult result = read_report(argv[i]);
        if (result.error != ReadError::none) {
            out["problems"].push_back(result.message);
            continue;
        }
        const Report& report = result.report;
        out["reports"] = out["reports"].get<int>() + 1;
        for (const auto& [id, site] : report.sites) {
            const Totals counts = totals_of_site(report, id);
            apis[api_of(report, site.record)] += counts.calls;
            if ((site.record.flags & kSiteCaptured) != 0) {
                continue;
            }
            if (site.record.kind == SiteKind::fill) {
                out["fills"] = out["fills"].get<std::uint64_t>() + counts.calls - counts.failed;
            }
            if (site.record.kind != SiteKind::copy) {
                continue;
            }
            copies[name(site.record.direction)][name(special_side(site.record).kind)] += counts.calls - counts.failed;
            out["calls"] = out["calls"].get<std::uint64_t>() + counts.calls;
            out["failed"] = out["failed"].get<std::uint64_t>() + counts.failed;
        }
        for (const CoverageRecord& record : report.coverage) {
            const std::string* const text = report.string(record.text);
            if (record.kind == CoverageKind::route && text != nullptr) {
                routes.insert(*text);
            }
            if (record.kind == CoverageKind::no_unwinder) {
                out["unwinder"] = false;
            }
        }
        for (const DeviceRecord& device : report.devices) {
            const std::string* const device_name = report.string(device.name);
            out["devices"].push_back({{"name", device_name != nullptr ? *device_name : ""},
                                      {"driver_version", device.driver_version},
                                      {"async_engines", device.async_engines}});
        }
        out["losses"] = out["losses"].get<std::string>() + losses_text(report);
        for (const std::string& problem : report.problems) {
            out["problems"].push_back(problem);
        }
        if (!ledger.empty()) {
            out["ledger_differences"] = differences_from_ledger(report, ledger);
        }
    }
    out["copies"] = copies;
    out["apis"] = apis;
    out["routes"] = routes;
    std::printf("%s\n", out.dump(1).c_str());
    return 0;
}
