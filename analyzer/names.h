// The names by which reports' enumerators are shown. A value that this program does not know is shown as its number.
#pragma once

#include <cstdint>
#include <string>

#include "report/slots.h"

namespace pincheck {

std::string name(report::FileState value);
std::string name(report::SlotState value);
std::string name(report::StackOrigin value);
std::string name(report::SiteKind value);
std::string name(report::Direction value);
std::string name(report::SourceOrder value);
std::string name(report::StreamKind value);
std::string name(report::MemoryClass value);
std::string name(report::MemoryDetail value);
std::string name(report::CoverageKind value);
std::string name(report::RangeKind value);
std::string name(report::WaitCause value);
std::string name(report::WaitEvidence value);
std::string name(report::RaceRule value);  // the rule's slug
std::string name(report::RaceLevel value);
std::string name(report::Loss value);

// Comma-separated, "-" when there are none.
std::string memory_flag_names(std::uint16_t flags);
std::string site_flag_names(std::uint16_t flags);
std::string race_flag_names(std::uint16_t flags);
std::string stream_flag_names(std::uint8_t flags);
std::string thread_flag_names(std::uint32_t flags);

}  // namespace pincheck
