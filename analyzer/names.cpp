#include "names.h"

#include <span>

#include <fmt/format.h>

namespace pincheck {
namespace {

template <class Enum>
struct Name {
    Enum value;
    const char* text;
};

template <class Enum, std::size_t N>
std::string find(Enum value, const Name<Enum> (&names)[N]) {
    for (const auto& [known, text] : names) {
        if (known == value) {
            return text;
        }
    }
    return std::to_string(static_cast<std::uint32_t>(value));
}

struct Flag {
    std::uint32_t bit;
    const char* text;
};

std::string join(std::uint32_t flags, std::span<const Flag> names) {
    std::string result;
    const auto add = [&](const std::string& text) { result += (result.empty() ? "" : ",") + text; };
    for (const auto& [bit, text] : names) {
        if ((flags & bit) != 0) {
            add(text);
            flags &= ~bit;
        }
    }
    if (flags != 0) {
        add(fmt::format("{:#x}", flags));
    }
    return result.empty() ? "-" : result;
}

}  // namespace

using namespace report;

std::string name(FileState value) {
    return find(value, {{FileState::running, "running"}, {FileState::ended, "ended"}});
}

std::string name(SlotState value) {
    return find(value, {{SlotState::free, "free"}, {SlotState::live, "live"}, {SlotState::ended, "ended"}});
}

std::string name(StackOrigin value) {
    return find(value, {{StackOrigin::unwound, "unwound"}, {StackOrigin::return_address, "return-address"}});
}

std::string name(SiteKind value) {
    return find(value, {{SiteKind::copy, "copy"},
                        {SiteKind::allocate, "allocate"},
                        {SiteKind::release, "release"},
                        {SiteKind::synchronize, "synchronize"},
                        {SiteKind::fill, "fill"},
                        {SiteKind::prefetch, "prefetch"},
                        {SiteKind::graph_setup, "graph-setup"},
                        {SiteKind::graph_launch, "graph-launch"},
                        {SiteKind::launch, "launch"},
                        {SiteKind::stream_setup, "stream-setup"},
                        {SiteKind::query, "query"},
                        {SiteKind::host_function, "host-function"},
                        {SiteKind::module_load, "module-load"},
                        {SiteKind::host_access, "host-access"}});
}

std::string name(Direction value) {
    return find(value, {{Direction::none, "none"},
                        {Direction::host_to_host, "host-to-host"},
                        {Direction::host_to_device, "host-to-device"},
                        {Direction::device_to_host, "device-to-host"},
                        {Direction::device_to_device, "device-to-device"},
                        {Direction::unknown, "unknown"}});
}

std::string name(SourceOrder value) {
    return find(
        value, {{SourceOrder::stream, "stream"}, {SourceOrder::during_call, "during-call"}, {SourceOrder::any, "any"}});
}

std::string name(StreamKind value) {
    return find(value, {{StreamKind::none, "none"},
                        {StreamKind::legacy_default, "legacy-default"},
                        {StreamKind::per_thread_default, "per-thread-default"},
                        {StreamKind::created, "created"}});
}

std::string name(MemoryClass value) {
    return find(value, {{MemoryClass::none, "none"},
                        {MemoryClass::unknown, "unknown"},
                        {MemoryClass::pageable, "pageable"},
                        {MemoryClass::pinned, "pinned"},
                        {MemoryClass::registered, "registered"},
                        {MemoryClass::partly_registered, "partly-registered"},
                        {MemoryClass::managed, "managed"},
                        {MemoryClass::device, "device"},
                        {MemoryClass::array, "array"},
                        {MemoryClass::device_symbol, "device-symbol"},
                        {MemoryClass::host_pool, "host-pool"}});
}

std::string name(MemoryDetail value) {
    return find(value,
                {{MemoryDetail::stack, "stack"}, {MemoryDetail::file, "file"}, {MemoryDetail::boundary, "boundary"}});
}

std::string name(CoverageKind value) {
    return find(value, {{CoverageKind::library, "library"},
                        {CoverageKind::route, "route"},
                        {CoverageKind::unknown_address, "unknown-address"},
                        {CoverageKind::no_unwinder, "no-unwinder"},
                        {CoverageKind::exports_off, "exports-off"},
                        {CoverageKind::foreign_provider, "foreign-provider"},
                        {CoverageKind::bypassed, "bypassed"},
                        {CoverageKind::unlisted, "unlisted"},
                        {CoverageKind::device_times, "device-times"},
                        {CoverageKind::no_device_times, "no-device-times"},
                        {CoverageKind::some_device_times, "some-device-times"},
                        {CoverageKind::races, "races"},
                        {CoverageKind::watched_copies, "watched-copies"},
                        {CoverageKind::sampled_reads, "sampled-reads"}});
}

std::string name(WaitCause value) {
    return find(value, {{WaitCause::unknown, "unknown"},
                        {WaitCause::staging, "staging"},
                        {WaitCause::earlier_work, "earlier-work"},
                        {WaitCause::device_wide, "device-wide"},
                        {WaitCause::queue_full, "queue-full"},
                        {WaitCause::legacy_stream, "legacy-stream"},
                        {WaitCause::managed, "managed"},
                        {WaitCause::idle_sync, "idle-sync"},
                        {WaitCause::host_to_host, "host-to-host"},
                        {WaitCause::lock, "lock"},
                        {WaitCause::pinning, "pinning"},
                        {WaitCause::module_loading, "module-loading"},
                        {WaitCause::requested, "requested"},
                        {WaitCause::synchronous_copy, "synchronous-copy"}});
}

std::string name(WaitEvidence value) {
    return find(value,
                {{WaitEvidence::call, "call"}, {WaitEvidence::order, "order"}, {WaitEvidence::device, "device"}});
}

std::string name(RaceRule value) {
    return find(value, {{RaceRule::unordered_copies, "unordered-copies"},
                        {RaceRule::source_overwritten_in_flight, "source-overwritten-in-flight"},
                        {RaceRule::destination_overwritten_in_flight, "destination-overwritten-in-flight"},
                        {RaceRule::destination_read_in_flight, "destination-read-in-flight"},
                        {RaceRule::result_never_awaited, "result-never-awaited"},
                        {RaceRule::graph_buffer_gone, "graph-buffer-gone"},
                        {RaceRule::released_in_flight, "released-in-flight"},
                        {RaceRule::staged_too_early, "staged-too-early"},
                        {RaceRule::relies_on_staging, "relies-on-staging"}});
}

std::string name(RaceLevel value) {
    return find(value, {{RaceLevel::order, "order"}, {RaceLevel::watch, "watch"}, {RaceLevel::trap, "trap"}});
}

std::string name(RangeKind value) {
    return find(
        value, {{RangeKind::pinned, "pinned"}, {RangeKind::registered, "registered"}, {RangeKind::managed, "managed"}});
}

std::string name(Loss value) {
    return find(value, {{Loss::sites, "sites"},
                        {Loss::stacks, "stacks"},
                        {Loss::strings, "strings"},
                        {Loss::modules, "modules"},
                        {Loss::ranges, "ranges"},
                        {Loss::threads, "threads"},
                        {Loss::counters, "counters"},
                        {Loss::image_full, "image-full"},
                        {Loss::write_failed, "write-failed"},
                        {Loss::descriptor_lost, "descriptor-lost"},
                        {Loss::not_classified, "not-classified"},
                        {Loss::unrecorded, "unrecorded"},
                        {Loss::waits, "waits"},
                        {Loss::transfers, "transfers"},
                        {Loss::streams, "streams"},
                        {Loss::unseen_copies, "unseen-copies"},
                        {Loss::in_flight, "in-flight"},
                        {Loss::races, "races"},
                        {Loss::unwatched, "unwatched"},
                        {Loss::unsampled, "unsampled"},
                        {Loss::reads, "reads"}});
}

std::string memory_flag_names(std::uint16_t flags) {
    static constexpr Flag kFlags[] = {{kMemoryFlagsKnown, "known"},   {kMemoryPortable, "portable"},
                                      {kMemoryMapped, "mapped"},      {kMemoryWriteCombined, "write-combined"},
                                      {kMemoryReadOnly, "read-only"}, {kMemoryIoMemory, "io-memory"}};
    return join(flags, kFlags);
}

std::string site_flag_names(std::uint16_t flags) {
    static constexpr Flag kFlags[] = {{kSiteAsync, "async"},
                                      {kSiteCaptured, "captured"},
                                      {kSiteExactStack, "exact-stack"},
                                      {kSiteOverflow, "overflow"},
                                      {kSiteOnDriverThread, "on-driver-thread"},
                                      {kSiteInGraph, "in-graph"}};
    return join(flags, kFlags);
}

std::string race_flag_names(std::uint16_t flags) {
    static constexpr Flag kFlags[] = {{kRacePresumed, "presumed"},           {kRaceAtExit, "at-exit"},
                                      {kRaceReleased, "released"},           {kRaceOnDevice, "on-device"},
                                      {kRaceInSystemCall, "in-system-call"}, {kRaceByChecksum, "by-checksum"},
                                      {kRaceEarlyEvent, "early-event"}};
    return join(flags, kFlags);
}

std::string stream_flag_names(std::uint8_t flags) {
    static constexpr Flag kFlags[] = {{kStreamNonBlocking, "non-blocking"}};
    return join(flags, kFlags);
}

std::string thread_flag_names(std::uint32_t flags) {
    static constexpr Flag kFlags[] = {{kThreadDriverOwned, "driver-owned"}};
    return join(flags, kFlags);
}

}  // namespace pincheck
