#include "race_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "place.h"
#include "printable.h"
#include "render_text_layout.h"
#include "wait_text.h"

namespace pincheck {
namespace {

using namespace report;

const CaptureSite* site_at(const Capture& capture, std::uint32_t id) {
    return id == 0 || id > capture.sites.size() ? nullptr : &capture.sites[id - 1];
}

bool is_upload(const Capture& capture, const CaptureRace& race) {
    const CaptureSite* copy = site_at(capture, race.copy_site);
    return copy != nullptr && copy->direction == Direction::host_to_device;
}

bool is_fill(const Capture& capture, const CaptureRace& race) {
    const CaptureSite* copy = site_at(capture, race.copy_site);
    return copy != nullptr && copy->kind == SiteKind::fill;
}

// A batch copy can ask for its sources to be read when its stream gets there, or whenever: a pageable source is then
// read after the call has returned, and a source on the device before earlier work of the stream has ended.
bool reads_in_any_order(const Capture& capture, const CaptureRace& race) {
    const CaptureSite* copy = site_at(capture, race.copy_site);
    return copy != nullptr && copy->source_order == SourceOrder::any;
}

bool reads_pageable_later(const Capture& capture, const CaptureRace& race) {
    const CaptureSite* copy = site_at(capture, race.copy_site);
    return copy != nullptr && copy->direction == Direction::host_to_device &&
           copy->source.kind == MemoryClass::pageable &&
           (race.rule == RaceRule::source_overwritten_in_flight || race.rule == RaceRule::released_in_flight);
}

std::string order_sentence(const Capture& capture, const CaptureRace& race) {
    if (reads_pageable_later(capture, race)) {
        return " The memory is pageable, but with this function and source order it may be read after the call has "
               "returned.";
    }
    return race.rule == RaceRule::unordered_copies && reads_in_any_order(capture, race)
               ? " The copy asked for any source order: earlier work of its own stream does not protect its source."
               : "";
}

// Work in a stream, which another stream can be made to wait for.
bool is_queued(const CaptureSite* site) {
    return site != nullptr &&
           (site->kind == SiteKind::copy || site->kind == SiteKind::fill || site->kind == SiteKind::prefetch ||
            site->kind == SiteKind::graph_launch || site->kind == SiteKind::launch);
}

// What the host was last seen doing before the access, and next after it.
std::string between_text(const Capture& capture, const CaptureRace& race, const Origins& origins) {
    const std::string after = call_at(capture, race.after_site, origins);
    const std::string before = call_at(capture, race.before_site, origins);
    return !after.empty() && !before.empty() ? ", between " + after + " and " + before
           : !after.empty()                  ? ", after " + after
           : !before.empty()                 ? ", before " + before
                                             : "";
}

std::string call_name(const CaptureRace& race) {
    return printable(race.call) + "()";
}

std::string access_text(const Capture& capture, const CaptureSite& site, const CaptureRace& race,
                        const Origins& origins) {
    const Place place = place_of(capture, site, heading_frame(capture, site, origins), origins);
    std::string text = "the host";
    text += race.call.empty() ? "" : ", by " + call_name(race);
    text += site.stack.empty() ? "" : (race.call.empty() ? ", at " : " at ") + place.position;
    return text + (place.function.empty() ? "" : " in " + place.function);
}

std::string in_stream(const Capture& capture, std::uint32_t stream, const Origins& origins) {
    const std::string name = stream_name(capture, stream, origins);
    return name.empty() ? "" : " in " + name;
}

// The start of a sentence; names of functions stay as they are.
std::string sentence(std::string text) {
    for (const char* article : {"the ", "a ", "earlier "}) {
        if (text.starts_with(article)) {
            text[0] = static_cast<char>(text[0] - 'a' + 'A');
        }
    }
    return text;
}

// A parenthesis behind commas wants one more before the verb.
std::string subject(const Capture& capture, const CaptureRace& race, const Origins& origins) {
    const std::string party = party_text(capture, race, origins);
    return sentence(party) + (party.find(", ") == party.npos ? " " : ", ");
}

// Batch copies of pageable memory that may be read later than in the call; nothing is known to have used it too early.
bool is_mere_permission(const CaptureRace& race) {
    return race.rule == RaceRule::relies_on_staging && race.level == RaceLevel::order && race.other_site == 0 &&
           race.after_site == 0 && race.before_site == 0 && !race.has(kRaceAtExit);
}

std::string staging_text(const Capture& capture, const CaptureRace& race, const std::string& who) {
    constexpr const char* kUploaded =
        ". That is safe only because the driver has read pageable memory when the call returns";
    constexpr const char* kDownloaded =
        ". That is safe only because a download into pageable memory returns when it is complete";
    const bool upload = is_upload(capture, race);
    const bool again = is_queued(site_at(capture, race.other_site));
    if (is_mere_permission(race)) {
        return "With this function and source order the pageable source may be read after the call has returned. "
               "Today's drivers read it inside the call";
    }
    if (race.has(kRaceAtExit)) {
        return std::string("The program ends without a wait for this copy") + (upload ? kUploaded : kDownloaded);
    }
    if (upload) {
        return (again ? who + "copies the same buffer with other contents: it was filled again before any wait"
                : race.has(kRaceReleased) ? who + "takes the copy's source away before any wait"
                                          : who + "writes the copy's source before any wait") +
               kUploaded;
    }
    return (again ? who + "copies over the result before any wait"
                  : who + "reads the copy's destination before any wait") +
           kDownloaded;
}

std::string presumed_sentence(const CaptureRace& race) {
    constexpr std::uint64_t kFlagBytes = 8;
    return race.rule == RaceRule::result_never_awaited && race.copy_bytes <= kFlagBytes
               ? " Presumed: a result this small may be a flag that the host polls, or streams signal through memory."
               : " Presumed: streams that signal through memory, or work that was not followed, may order the two "
                 "unseen.";
}

std::string what_text(const Capture& capture, const CaptureRace& race, const Origins& origins) {
    const std::string who = subject(capture, race, origins);
    const bool upload = is_upload(capture, race);
    switch (race.rule) {
        case RaceRule::unordered_copies:
            return fmt::format("{}{} the same {}{}, and nothing orders it with this {}{}", who,
                               race.other_site == 0 ? "may write" : "uses",
                               race.has(kRaceOnDevice) ? "device memory" : "memory",
                               in_stream(capture, race.other_stream, origins), is_fill(capture, race) ? "fill" : "copy",
                               in_stream(capture, race.stream, origins));
        case RaceRule::source_overwritten_in_flight:
            return who + "writes the copy's source, and the copy is not known to be complete";
        case RaceRule::destination_overwritten_in_flight:
            return who + "writes the copy's destination, and the copy is not known to be complete";
        case RaceRule::destination_read_in_flight:
            return who + "reads the copy's destination, and the copy is not known to be complete";
        case RaceRule::result_never_awaited:
            return (race.has(kRaceAtExit)     ? "The program ends"
                    : race.has(kRaceReleased) ? who + "gives the destination back"
                                              : who + "copies over the result") +
                   ", and the host never learned that the copy was complete: nobody can have read what it brought";
        case RaceRule::graph_buffer_gone:
            return fmt::format(
                "Put into a graph with stack memory of a function that has returned: {} {} whatever lies there by "
                "then{}",
                race.other_site == 0 ? "every launch" : "the launch by " + party_text(capture, race, origins),
                upload ? "reads" : "writes over",
                race.graph_launches == 0 ? ""
                                         : fmt::format(" ({} launch{})", count_text(race.graph_launches),
                                                       race.graph_launches == 1 ? "" : "es"));
        case RaceRule::released_in_flight:
            return who + (is_cuda_release(capture, race)
                              ? "gives the memory back, and the copy is not known to be complete. The call waits for "
                                "the device, so that nothing is lost but the time"
                              : "takes the memory away, and the copy is not known to be complete. No call of CUDA "
                                "waited for the device before that");
        case RaceRule::staged_too_early:
            return "The bytes of pageable memory are read inside the call. " +
                   (race.other_site == 0 ? "A host function that " : who) + "was queued before it" +
                   (race.other_site == 0 ? "" : " and") + " fills them later: what was there before is copied";
        case RaceRule::relies_on_staging:
            return staging_text(capture, race, who);
    }
    return "";
}

std::string wait_sentence(const Capture& capture, const CaptureRace& race, const Origins& origins) {
    switch (race.rule) {
        case RaceRule::unordered_copies:
        case RaceRule::graph_buffer_gone:
        case RaceRule::staged_too_early:
        case RaceRule::relies_on_staging:
        case RaceRule::result_never_awaited:  // says so itself
            return "";
        default:
            break;
    }
    const std::string wait = call_at(capture, race.wait_site, origins);
    return !wait.empty()                    ? " " + wait + " waits for the copy, too late."
           : is_cuda_release(capture, race) ? ""
                                            : " No wait for the copy was seen.";
}

std::string event_sentence(const CaptureRace& race) {
    return race.has(kRaceEarlyEvent)
               ? " The host had waited for an event of this stream, but for one that was recorded before the copy."
               : "";
}

std::string pin_sentence(const Capture& capture, const CaptureRace& race, const Origins& origins) {
    const std::string pin = call_at(capture, race.pin_site, origins);
    return pin.empty() ? "" : " Page-locked by " + pin + '.';
}

std::string levels_text(RaceList races) {
    std::string text;
    std::vector<const char*> told;
    for (const CaptureRace* race : races) {
        const char* level = level_text(*race);
        if (std::ranges::find(told, level) == told.end()) {
            told.push_back(level);
            text += (text.empty() ? "" : ", ") + std::string(level);
        }
    }
    return text;
}

constexpr const char* kTwoBuffers =
    "double-buffer (two buffers in turn, each used again after an event recorded behind its own copy)";
constexpr const char* kTorch =
    " PyTorch: event.record() behind the copy, event.synchronize() before the buffer's next use.";

}  // namespace

std::string party_text(const Capture& capture, const CaptureRace& race, const Origins& origins) {
    const CaptureSite* other = site_at(capture, race.other_site);
    if (other == nullptr && race.rule == RaceRule::unordered_copies) {
        return "earlier work";  // of launches, it is not known what they write
    }
    if (other == nullptr && race.rule == RaceRule::staged_too_early) {
        return "a host function";
    }
    if (other == nullptr) {
        return is_mere_permission(race) ? "nothing that was seen"
               : race.has(kRaceAtExit)  ? "the program's end"
                                        : "the host" + (race.call.empty() ? "" : ", by " + call_name(race)) +
                                             between_text(capture, race, origins);
    }
    if (race.other_site == race.copy_site) {
        return "the same call, made again";
    }
    return other->kind == SiteKind::host_access ? access_text(capture, *other, race, origins)
                                                : call_at(capture, race.other_site, origins);
}

std::string overlap_text(const CaptureRace& race) {
    if (race.end <= race.begin || race.end > race.copy_bytes) {
        return "";
    }
    if (race.begin == 0 && race.end == race.copy_bytes) {
        return "all " + bytes_text(race.copy_bytes);
    }
    return fmt::format("bytes {} to {} of {}", count_text(race.begin), count_text(race.end - 1),
                       bytes_text(race.copy_bytes));
}

std::string times_text(std::uint64_t count, std::uint64_t corrupting, std::uint64_t latent) {
    const std::uint64_t known = corrupting + latent;
    const std::uint64_t unknown = count > known ? count - known : 0;
    const std::string times = count == 1 ? "once" : counted(count, "time");
    constexpr const char* kCorrupting = "corrupting (the copy was still to come or running)";
    constexpr const char* kLatent = "latent (the device had finished it, but nobody had asked)";
    if (known == 0) {
        return times + "; whether the device had finished by then is not known";
    }
    if (unknown == 0 && (corrupting == 0 || latent == 0)) {
        return times + ", " + (count == 1 ? "" : "always ") + (corrupting != 0 ? kCorrupting : kLatent);
    }
    std::string text = times + ": ";
    text += corrupting == 0 ? "" : count_text(corrupting) + ' ' + kCorrupting;
    text += latent == 0 ? "" : (corrupting == 0 ? "" : ", ") + count_text(latent) + ' ' + kLatent;
    text += unknown == 0 ? "" : fmt::format(", of {} it is not known", count_text(unknown));
    return text;
}

const char* level_text(const CaptureRace& race) {
    switch (race.level) {
        case RaceLevel::order:
            return "the order of calls";
        case RaceLevel::watch:
            return race.has(kRaceByChecksum) ? "a checksum of the memory" : "the kernel's record of written pages";
        case RaceLevel::trap:
            return "a trap on the access itself";
    }
    return "means that this version does not know";
}

namespace {

// Of a function without "Async" nobody expects that its work goes on; CUDA says so (cudaMemcpy within the device or
// from pageable memory, cudaMemset), but where the work is short it may be over in time all the same.
bool is_blocking_by_name(const Capture& capture, const CaptureRace& race) {
    const CaptureSite* copy = site_at(capture, race.copy_site);
    return race.rule == RaceRule::unordered_copies && race.has(kRaceOnDevice) && copy != nullptr && !copy->is_async();
}

std::string early_event_fix(const char* use) {
    return fmt::format(
        "record the event after the copy (the one that the host waits for is recorded before it), and wait for it "
        "before {}.",
        use);
}

}  // namespace

bool is_presumed(const Capture& capture, const CaptureRace& race) {
    return race.has(kRacePresumed) || is_blocking_by_name(capture, race);
}

std::string race_why(const Capture& capture, RaceList races, const Origins& origins) {
    const CaptureRace& first = *races.front();
    std::uint64_t count = 0;
    std::uint64_t corrupting = 0;
    std::uint64_t latent = 0;
    std::uint64_t at_exit = 0;
    for (const CaptureRace* race : races) {
        count += race->count;
        corrupting += race->corrupting;
        latent += race->latent;
        at_exit += race->has(kRaceAtExit) ? race->count : 0;
    }
    const std::string overlap = overlap_text(first);
    std::string text = what_text(capture, first, origins) + '.';
    text += order_sentence(capture, first);
    text += overlap.empty() || first.has(kRaceAtExit) || is_mere_permission(first) ? "" : " Both use " + overlap + '.';
    text += " Found ";
    text += has_outcome(capture, first) ? times_text(count, corrupting, latent)
            : count == 1                ? "once"
                                        : counted(count, "time");
    text += "; by " + levels_text(races) + '.';
    if (at_exit != 0 && !first.has(kRaceAtExit)) {
        text += fmt::format(" {} of them when the program ended.", at_exit == 1 ? "One" : count_text(at_exit));
    }
    text += wait_sentence(capture, first, origins);
    text += event_sentence(first);
    text += pin_sentence(capture, first, origins);
    if (first.has(kRacePresumed)) {
        text += presumed_sentence(first);
    } else if (is_blocking_by_name(capture, first)) {
        text += " Presumed: the call may have waited for its work, which CUDA does not promise.";
    }
    return text;
}

std::string race_fix(const Capture& capture, const CaptureRace& race, Origin issuer, bool theirs,
                     const Origins& origins) {
    if (theirs) {
        return "nothing in your code: the vendor's library uses this memory for itself.";
    }
    constexpr const char* kOrder =
        "record an event after the copy and make the other stream wait for it (cudaEventRecord, cudaStreamWaitEvent), "
        "or issue both in one stream.";
    const CaptureSite* other = site_at(capture, race.other_site);
    const std::string wait = call_at(capture, race.wait_site, origins);
    const std::string torch = issuer == Origin::framework ? kTorch : "";
    switch (race.rule) {
        case RaceRule::unordered_copies:
            return reads_in_any_order(capture, race) && (race.other_site == 0 || race.stream == race.other_stream)
                       ? "ask for the stream's order (cudaMemcpySrcAccessOrderStream), or wait for the earlier work "
                         "before the call."
                       : kOrder;
        case RaceRule::source_overwritten_in_flight:
        case RaceRule::destination_overwritten_in_flight:
            if (is_queued(other)) {
                return kOrder;
            }
            if (race.has(kRaceEarlyEvent)) {
                return early_event_fix("the buffer is written again") + torch;
            }
            return (wait.empty() ? "wait for an event recorded after the copy before the buffer is written again"
                                 : "move the wait (" + wait + ") before the buffer is written again") +
                   ", or " + kTwoBuffers + '.' + torch;
        case RaceRule::destination_read_in_flight:
            if (is_queued(other)) {
                return kOrder;
            }
            if (race.has(kRaceEarlyEvent)) {
                return early_event_fix("the result is read") + torch;
            }
            return (wait.empty() ? "wait for an event recorded after the copy before the result is read."
                                 : "move the wait (" + wait + ") before the result is read.") +
                   torch;
        case RaceRule::result_never_awaited:
            if (race.has(kRaceEarlyEvent)) {
                return early_event_fix("the buffer's next use and before the result is read") + torch;
            }
            return "wait for an event recorded after the copy before the buffer's next use and before the result is "
                   "read; leave the copy out where nobody reads it." +
                   torch;
        case RaceRule::graph_buffer_gone:
            return "keep the buffer alive as long as the graph executable: page-locked memory, a member or a static "
                   "buffer, and no local array.";
        case RaceRule::released_in_flight:
            return is_cuda_release(capture, race)
                       ? "wait for an event recorded after the copy before giving the memory back, or keep the buffer "
                         "and use it again."
                       : "wait for the copy, then cudaHostUnregister where the memory was registered, and only then "
                         "unmap or free it.";
        case RaceRule::staged_too_early:
            return "copy from page-locked memory: the device then reads it in the stream's order, after the host "
                   "function; or fill the buffer before the call.";
        case RaceRule::relies_on_staging:
            if (is_mere_permission(race)) {
                return "wait for the copy before the memory is changed or freed, or ask for it to be read in the call "
                       "(cudaMemcpySrcAccessOrderDuringApiCall).";
            }
            return "nothing as long as the memory stays pageable. Before page-locking it: double-buffer, or " +
                   (wait.empty() ? "wait for an event before the buffer's next use."
                                 : "move the wait (" + wait + ") before the buffer's next use.");
    }
    return "";
}

bool is_reused(const CaptureRace& race) {
    return race.rule == RaceRule::relies_on_staging && !is_mere_permission(race);
}

bool has_outcome(const Capture& capture, const CaptureRace& race) {
    return race.rule != RaceRule::staged_too_early && race.rule != RaceRule::result_never_awaited &&
           race.rule != RaceRule::relies_on_staging && race.rule != RaceRule::graph_buffer_gone &&
           !is_cuda_release(capture, race);
}

bool is_cuda_release(const Capture& capture, const CaptureRace& race) {
    const CaptureSite* other = site_at(capture, race.other_site);
    return race.rule == RaceRule::released_in_flight && other != nullptr && other->kind == SiteKind::release &&
           race.call.empty();
}

}  // namespace pincheck
