#include "render_json_races.h"

#include <nlohmann/json.hpp>

#include <utility>

#include "names.h"

namespace pincheck {
namespace {

using Json = nlohmann::ordered_json;

Json flags(const CaptureRace& race) {
    Json list = Json::array();
    for (const auto flag : {report::kRacePresumed, report::kRaceAtExit, report::kRaceReleased, report::kRaceOnDevice,
                            report::kRaceInSystemCall, report::kRaceByChecksum, report::kRaceEarlyEvent}) {
        if (race.has(flag)) {
            list.push_back(race_flag_names(flag));
        }
    }
    return list;
}

}  // namespace

Json races_json(const Capture& capture) {
    Json list = Json::array();
    for (const CaptureRace& race : capture.races) {
        list.push_back({{"rule", name(race.rule)},
                        {"level", name(race.level)},
                        {"flags", flags(race)},
                        {"copy_site", race.copy_site},
                        {"other_site", race.other_site},
                        {"count", race.count},
                        {"corrupting", race.corrupting},
                        {"latent", race.latent},
                        {"first_ns", race.first_ns},
                        {"last_ns", race.last_ns},
                        {"processes", race.processes},
                        {"process", race.process},
                        {"pin_site", race.pin_site},
                        {"wait_site", race.wait_site},
                        {"after_site", race.after_site},
                        {"before_site", race.before_site},
                        {"stream", race.stream},
                        {"other_stream", race.other_stream},
                        {"call", race.call},
                        {"address", race.address},
                        {"copy_bytes", race.copy_bytes},
                        {"begin", race.begin},
                        {"end", race.end},
                        {"thread", race.thread},
                        {"other_thread", race.other_thread},
                        {"graph_launches", race.graph_launches}});
    }
    return list;
}

Json reads_json(const Capture& capture) {
    Json list = Json::array();
    for (const CaptureRead& read : capture.reads) {
        list.push_back({{"site", read.site},
                        {"pin_site", read.pin_site},
                        {"call", read.call},
                        {"samples", read.samples},
                        {"first_ns", read.first_ns},
                        {"last_ns", read.last_ns},
                        {"processes", read.processes},
                        {"process", read.process},
                        {"thread", read.thread},
                        {"address", read.address},
                        {"bytes", read.bytes},
                        {"begin", read.begin},
                        {"end", read.end}});
    }
    return list;
}

}  // namespace pincheck
