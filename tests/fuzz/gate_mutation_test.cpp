// Files of a gate with anything in them: read or refused in one line, never a crash.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "analyzer/baseline.h"
#include "analyzer/gate_config.h"
#include "analyzer/printable.h"
#include "analyzer/suppression_file.h"

namespace pincheck::test {
namespace {

constexpr int kFiles = 1'000;
constexpr char kConfig[] = R"(# what everybody runs
fail-on = ["error", "copy-then-sync"]
strict = false
suppressions = ["a.toml", "b.toml"]
baseline = "main.json"
worse = { count = "+50%", held = "+100%" }
[thresholds]
pageable-async-copy = { count = 10, bytes = "1MiB", held = "5ms" }
)";
constexpr char kRows[] = R"([[suppression]]
rule = ["pageable-async-copy", "hidden-wait"]
function = "Meter::update*"
file = 'src/meter.cu'
reason = """four
bytes"""
expires = 2027-03-31
[[suppression]]
rule = "*"
module = "libx.so*"
frames = "any"
reason = "\u00e4"
)";
constexpr char kBaseline[] = R"({"schema": 1, "verdict": "violated", "sites": [{"stack": [1, 2.5e3, null, true]}],
"findings": [{"fingerprint": "v1:0123456789abcdef", "place": "0123456789abcdef", "severity": "error", "gated": true,
"decision": "default", "amounts": {"count": 10, "bytes": 4096, "held_ns": 50000000}}]})";

std::string mutated(std::string text, std::mt19937& random) {
    static constexpr char kBytes[] = "\"'[]{}=,.#\n\\:-+0179eE\x00\xff\xe2\x80tx ";
    const auto below = [&](std::size_t limit) { return limit == 0 ? 0 : random() % limit; };
    for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
        const std::size_t at = below(text.size());
        switch (below(4)) {
            case 0:
                text.erase(at, 1 + below(12));
                break;
            case 1:
                text.insert(at, 1 + below(3), kBytes[below(sizeof kBytes)]);
                break;
            case 2:
                text.insert(at, text.substr(below(text.size()), below(40)));
                break;
            default:
                if (!text.empty()) {
                    text[at] = kBytes[below(sizeof kBytes)];
                }
        }
    }
    return text;
}

template <class Read>
void read_many(const char* text, Read read) {
    std::string path = testing::TempDir() + "pincheck-gate-XXXXXX";
    const int descriptor = mkstemp(path.data());
    ASSERT_GE(descriptor, 0);
    close(descriptor);
    std::mt19937 random(7);
    int refused = 0;
    for (int i = 0; i < kFiles; ++i) {
        std::ofstream(path, std::ios::binary) << mutated(text, random);
        const std::string wrong = printable(read(path));
        EXPECT_EQ(wrong.find('\n'), std::string::npos) << wrong;
        EXPECT_TRUE(wrong.empty() || wrong.starts_with(printable(path))) << wrong;
        refused += !wrong.empty();
    }
    EXPECT_GT(refused, kFiles / 10);
    EXPECT_LT(refused, kFiles);
    std::filesystem::remove(path);
}

TEST(GateMutation, of_configurations) {
    read_many(kConfig, [](const std::string& path) {
        GateSettings settings;
        return read_gate_config(path, settings);
    });
}

TEST(GateMutation, values_that_are_none) {
    const std::string path = testing::TempDir() + "pincheck-gate-value-" + std::to_string(getpid());
    for (const char* value :
         {"",  "]",  "}",  ",",   "#",   "[",  "{", "[]]",    "[,]", "{,}",   "{=}",        "[[", "=",   "+",  "-",
          ".", "0x", "1e", "inf", "nan", "\"", "'", "\"\"\"", "\\",  "2027-", "2027-13-01", "t",  "\n]", "\t}"}) {
        std::ofstream(path, std::ios::binary) << "strict = " << value;
        GateSettings settings;
        EXPECT_NE(read_gate_config(path, settings), "") << value;
    }
    std::filesystem::remove(path);
}

TEST(GateMutation, of_suppressions) {
    read_many(kRows, [](const std::string& path) {
        std::vector<Suppression> rows;
        std::string wrong = read_suppressions(path, rows);
        for (const Suppression& row : rows) {
            EXPECT_FALSE(row.reason.empty());
        }
        return wrong;
    });
}

TEST(GateMutation, of_baselines) {
    read_many(kBaseline, [](const std::string& path) {
        Baseline baseline;
        return read_baseline(path, baseline);
    });
}

}  // namespace
}  // namespace pincheck::test
