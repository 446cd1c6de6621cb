#include "resolve.h"

#include <set>
#include <utility>

#include "report/append.h"
#include "report/reader.h"

namespace pincheck {
namespace {

using Place = std::pair<std::uint32_t, std::uint64_t>;  // module id of the report, offset

std::set<Place> places_of(const report::Report& report) {
    std::set<Place> places;
    const auto add = [&](const std::vector<report::Frame>& frames) {
        for (const report::Frame& frame : frames) {
            if (report.modules.contains(frame.module)) {
                places.emplace(frame.module, frame.offset);
            }
        }
    };
    for (const auto& [id, stack] : report.stacks) {
        add(stack.frames);
    }
    for (const auto& [id, site] : report.sites) {
        add(site.key);
    }
    return places;
}

std::string hexadecimal(const std::vector<std::uint8_t>& bytes) {
    std::string text;
    for (const std::uint8_t byte : bytes) {
        text += "0123456789abcdef"[byte >> 4];
        text += "0123456789abcdef"[byte & 15];
    }
    return text;
}

}  // namespace

Resolved resolve_report(const std::string& path, SymbolCache& cache) {
    Resolved result;
    report::ReadResult read = report::read_report(path);
    if (read.error != report::ReadError::none) {
        result.error = std::move(read.message);
        return result;
    }
    const report::Report& report = read.report;
    const auto count = [&result](bool exact) { ++(exact ? result.lines : result.functions); };
    std::set<Place> places = places_of(report);
    result.frames = places.size();
    for (const report::SymbolRecord& symbol : report.symbols) {
        if (places.erase({symbol.module, symbol.offset}) > 0) {
            count(symbol.exact != 0);
        }
    }
    // One site whose stack is all of them, over the report's own module ids.
    Capture capture;
    std::vector<std::uint32_t> ids;
    CaptureSite& site = capture.sites.emplace_back();
    for (const auto& [module, offset] : places) {
        if (ids.empty() || ids.back() != module) {
            const report::Module& found = report.modules.at(module);
            const std::string* name = report.string(found.record.path);
            ids.push_back(module);
            capture.modules.push_back({name == nullptr ? "" : *name, hexadecimal(found.build_id)});
        }
        site.stack.push_back({static_cast<std::uint32_t>(capture.modules.size() - 1), offset, {}});
    }
    result.problems = symbolize(capture, cache);
    std::vector<report::ResolvedFrame> found;
    for (const CaptureFrame& frame : site.stack) {
        std::uint32_t level = 0;
        for (const SourceLine& line : frame.lines) {
            found.push_back(
                {ids[frame.module], level++, frame.offset, line.function, line.file, line.line, line.exact});
        }
        if (!frame.lines.empty()) {
            ++result.added;
            count(frame.lines.front().exact);
        }
    }
    // Also with nothing to add: that a report is being written is worth saying.
    result.error = report::append_symbols(path, found);
    return result;
}

}  // namespace pincheck
