// What is rendered, held word for word against tests/golden/NAME.txt. PINCHECK_UPDATE_GOLDEN=1 writes the file anew, to
// be read in the diff.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/render_text.h"
#include "analyzer/render_text_layout.h"

namespace pincheck {

// What every screen must be, whatever is on it: no line wider than asked, no trailing space, no control character.
inline void expect_tidy(const std::string& text, std::size_t width) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(columns(line), width) << line;
        EXPECT_FALSE(line.ends_with(' ')) << '"' << line << '"';
        for (const char c : line) {
            EXPECT_GE(static_cast<unsigned char>(c), 0x20) << line;
        }
    }
    EXPECT_TRUE(text.ends_with('\n'));
}

inline void expect_golden(const std::string& name, const std::string& text, std::size_t width = 92) {
    expect_tidy(text, width);
    const std::string path = PINCHECK_GOLDEN "/" + name + ".txt";
    if (std::getenv("PINCHECK_UPDATE_GOLDEN") != nullptr) {
        std::ofstream(path, std::ios::binary) << text;
    }
    std::ostringstream golden;
    golden << std::ifstream(path, std::ios::binary).rdbuf();
    EXPECT_EQ(text, golden.str()) << path;
}

// A capture with what is found in it, by the default policy.
struct Judged {
    LoadResult loaded;
    std::vector<Finding> findings;
    Judgement judgement;
};

inline Judged judged(Capture capture) {
    Judged job;
    job.loaded.capture = std::move(capture);
    job.findings = find(job.loaded.capture, Origins());
    job.judgement = judge(job.loaded, job.findings, Origins(), {}, {});
    return job;
}

inline std::string screen(const Judged& job, ScreenOptions options) {
    options.report_place = "./pincheck-train-4127.pcr";
    return first_screen(job.loaded, job.judgement, Origins(), options);
}

}  // namespace pincheck
