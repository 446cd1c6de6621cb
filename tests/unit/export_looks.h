// What the exports are tried on, word for word against tests/golden/export_*.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "export_sample.h"

namespace pincheck::test {

inline void expect_golden(const std::string& name, const std::string& text) {
    const std::string path = PINCHECK_GOLDEN "/export_" + name;
    if (std::getenv("PINCHECK_UPDATE_GOLDEN") != nullptr) {
        std::ofstream(path, std::ios::binary) << text;
    }
    std::ostringstream golden;
    golden << std::ifstream(path, std::ios::binary).rdbuf();
    EXPECT_EQ(text, golden.str()) << path;
}

// Paths of failing_job() and racing_look() seen from their source tree.
inline ExportOptions in_tree() {
    ExportOptions options;
    options.source_root = "/home/u";
    return options;
}

inline Look failing_look() {
    Look look;
    Job job = failing_job();
    add_not_gated(job);
    look.loaded = job.loaded;
    look.screen.report_place = "./pincheck-train-4127.pcr";
    return look;
}

inline Look hostile_look() {
    Look look = racing_look();
    look.loaded.errors = {""};
    look.loaded.capture.processes[0].problems = {""};
    change_texts(look.loaded, [](std::string& text) { text = "/home/u/" + kHostile + text; });
    Capture& capture = look.loaded.capture;
    capture.processes[0].devices[0].name = kHostile;
    for (CaptureSite& site : capture.sites) {
        for (CaptureFrame& frame : site.stack) {
            for (SourceLine& line : frame.lines) {
                line.function = kHostile;
            }
        }
    }
    for (CaptureRace& race : capture.races) {
        race.call = kHostile;
    }
    capture.sites[kPageable - 1].api = kHostile;
    look.screen.report_place = kHostile;
    return look;
}

inline Look blind_look() {
    Look look = hostile_look();
    look.loaded.capture.sites.clear();
    look.loaded.capture.races.clear();
    return look;
}

}  // namespace pincheck::test
