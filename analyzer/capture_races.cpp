#include "capture_races.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "capture_merge.h"

namespace pincheck {
namespace {

using namespace report;

auto identity(const CaptureRace& race) {
    return std::tuple(race.rule, race.copy_site, race.other_site, race.level, race.flags);
}

}  // namespace

void add_races(Capture& capture, const Report& report, const std::unordered_map<std::uint32_t, std::size_t>& sites,
               const std::unordered_map<std::uint32_t, std::uint32_t>& streams) {
    const auto site_of = [&](std::uint32_t id) { return site_in(sites, id); };
    const auto stream_of = [&](std::uint32_t id) {
        const auto found = streams.find(id);
        return found == streams.end() ? 0 : found->second;
    };
    const auto process = static_cast<std::uint32_t>(capture.processes.size() - 1);
    std::map<decltype(identity({})), std::size_t> known;
    for (std::size_t i = 0; i < capture.races.size(); ++i) {
        known.emplace(identity(capture.races[i]), i);
    }
    std::set<std::size_t> of_this_process;
    for (const RaceSlot& slot : report.races) {
        CaptureRace race;
        race.rule = slot.rule;
        race.level = slot.level;
        race.flags = slot.flags;
        race.copy_site = site_of(slot.copy_site);
        race.other_site = site_of(slot.other_site);
        race.first_ns = since(report.header.start_ns, slot.first_ns);
        // Id 0: its owner had not filled it in when the snapshot was taken.
        if (race.copy_site == 0 || slot.count == 0) {
            continue;
        }
        const auto [place, is_new] = known.try_emplace(identity(race), capture.races.size());
        CaptureRace& sum = is_new ? capture.races.emplace_back(race) : capture.races[place->second];
        if (is_new || race.first_ns < sum.first_ns) {
            const std::string* call = report.string(slot.call);
            sum.first_ns = race.first_ns;
            sum.process = process;
            sum.pin_site = site_of(slot.pin_site);
            sum.wait_site = site_of(slot.wait_site);
            sum.after_site = site_of(slot.after_site);
            sum.before_site = site_of(slot.before_site);
            sum.stream = stream_of(slot.stream);
            sum.other_stream = stream_of(slot.other_stream);
            sum.call = call == nullptr ? "" : *call;
            sum.address = slot.address;
            sum.copy_bytes = slot.copy_bytes;
            sum.begin = slot.begin;
            sum.end = slot.end;
            sum.thread = slot.thread;
            sum.other_thread = slot.other_thread;
            sum.graph_launches = slot.graph_launches;
        }
        sum.processes += of_this_process.insert(place->second).second ? 1 : 0;
        sum.last_ns = std::max(sum.last_ns, since(report.header.start_ns, slot.last_ns));
        sum.count += slot.count;
        sum.corrupting += slot.corrupting;
        sum.latent += slot.latent;
    }
}

void finish_races(Capture& capture, std::span<const std::uint32_t> site_ids, std::span<const std::uint32_t> stream_ids,
                  std::span<const std::size_t> processes) {
    std::vector<std::uint32_t> process_at(processes.size());
    for (std::size_t i = 0; i < processes.size(); ++i) {
        process_at[processes[i]] = static_cast<std::uint32_t>(i);
    }
    for (CaptureRace& race : capture.races) {
        for (std::uint32_t* site : {&race.copy_site, &race.other_site, &race.pin_site, &race.wait_site,
                                    &race.after_site, &race.before_site}) {
            *site = *site == 0 ? 0 : site_ids[*site - 1];
        }
        for (std::uint32_t* stream : {&race.stream, &race.other_stream}) {
            *stream = *stream == 0 ? 0 : stream_ids[*stream - 1];
        }
        race.process = process_at[race.process];
    }
    std::ranges::sort(capture.races, {}, identity);
}

}  // namespace pincheck
