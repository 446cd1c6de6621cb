// The waits of a report, by the function of the program that they are of.
#pragma once

#include <string>
#include <vector>

#include "analyzer/names.h"
#include "facts.h"
#include "run_program.h"

namespace pincheck::test {

struct Waits {
    pincheck::report::Report report;
    std::string out;

    // Waits of the sites that are headed by this function of the program.
    std::vector<pincheck::report::WaitSlot> of(const std::string& function) const {
        std::vector<pincheck::report::WaitSlot> found;
        for (const pincheck::report::WaitSlot& wait : report.waits) {
            if (is_in(wait.site, function)) {
                found.push_back(wait);
            }
        }
        return found;
    }
    std::uint64_t calls(pincheck::report::WaitCause cause) const {
        std::uint64_t sum = 0;
        for (const pincheck::report::WaitSlot& wait : report.waits) {
            sum += wait.cause == cause ? wait.calls : 0;
        }
        return sum;
    }
    bool is_in(std::uint32_t id, const std::string& function) const {
        const auto site = report.sites.find(id);
        if (site == report.sites.end()) {
            return false;
        }
        for (const NamedFrame& frame : stack_of(report, site->second.record)) {
            if (frame.function.substr(frame.function.rfind(':') + 1) == function) {
                return true;
            }
        }
        return false;
    }
    // Was the stream created in that function?
    bool stream_of(std::uint32_t id, const std::string& function) const {
        const auto stream = report.streams.find(id);
        return stream != report.streams.end() && is_in(stream->second.site, function);
    }
    std::string text() const {
        std::string text;
        for (const pincheck::report::WaitSlot& wait : report.waits) {
            const auto site = report.sites.find(wait.site);
            text += std::string(pincheck::name(wait.cause)) + " " + std::to_string(static_cast<int>(wait.evidence)) +
                    " calls " + std::to_string(wait.calls) + " ns " + std::to_string(wait.ns) + " stream " +
                    std::to_string(wait.stream) + " behind " + std::to_string(wait.behind_site) + " items " +
                    std::to_string(wait.items) + "\n" +
                    (site != report.sites.end() ? stack_text(report, site->second.record) : "");
        }
        return text;
    }
};

}  // namespace pincheck::test
