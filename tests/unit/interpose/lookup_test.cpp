// Which wrapper a look-up by name, version and flag gets, over everything that the real static runtime was recorded to
// ask for (tests/simcuda/cudart_static_lookups.txt).
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "interpose/api.h"
#include "interpose/hash_table.h"

namespace {

using namespace pincheck;

struct Asked {
    std::string name;
    int version;
    bool per_thread;
};

std::vector<Asked> transcript() {
    std::ifstream file(PINCHECK_TRANSCRIPT);
    std::vector<Asked> result;
    std::string line;
    while (std::getline(file, line)) {
        if (line.empty() || line[0] == '#' || line[0] == ' ') {
            continue;
        }
        std::istringstream words(line);
        Asked asked;
        unsigned long flags = 0;
        words >> asked.name >> asked.version >> flags;
        EXPECT_FALSE(words.fail()) << line;
        asked.per_thread = (flags & 2) != 0;
        result.push_back(asked);
    }
    return result;
}

std::string symbol_for(const char* name, int version, bool per_thread) {
    const int row = row_for_name(name, version, per_thread);
    return row < 0 ? "" : kApis[row].symbol;
}

TEST(Lookup, theRecordedRuntimeGetsTheVersionItAskedFor) {
    std::set<std::string> got;
    for (const Asked& asked : transcript()) {
        const int row = row_for_name(asked.name.c_str(), asked.version, asked.per_thread);
        if (row < 0) {
            continue;
        }
        EXPECT_EQ(asked.name, kApis[row].lookup);
        EXPECT_LE(kApis[row].since, asked.version);
        EXPECT_FALSE(asked.per_thread && kApis[row].variant == Variant::legacy) << asked.name;
        EXPECT_FALSE(!asked.per_thread && kApis[row].variant == Variant::per_thread) << asked.name;
        got.insert(kApis[row].symbol);
    }
    // What cudart 13.0 calls for the copies, pins and waits of its API.
    for (const char* symbol : {"cuMemcpyHtoDAsync_v2",
                               "cuMemcpyHtoDAsync_v2_ptsz",
                               "cuMemcpyDtoHAsync_v2",
                               "cuMemcpyDtoHAsync_v2_ptsz",
                               "cuMemcpyHtoD_v2",
                               "cuMemcpyHtoD_v2_ptds",
                               "cuMemcpyDtoH_v2",
                               "cuMemcpyDtoH_v2_ptds",
                               "cuMemcpyAsync",
                               "cuMemcpyAsync_ptsz",
                               "cuMemcpy",
                               "cuMemcpy_ptds",
                               "cuMemHostAlloc",
                               "cuMemFreeHost",
                               "cuMemHostRegister_v2",
                               "cuMemHostUnregister",
                               "cuMemAllocManaged",
                               "cuStreamSynchronize",
                               "cuStreamSynchronize_ptsz",
                               "cuCtxSynchronize",
                               "cuCtxSynchronize_v2",
                               "cuEventSynchronize",
                               "cuGetProcAddress",
                               "cuGetProcAddress_v2"}) {
        EXPECT_EQ(got.count(symbol), 1u) << symbol;
    }
}

TEST(Lookup, olderVersionsGetTheOlderFunctions) {
    EXPECT_EQ(symbol_for("cuMemcpyHtoDAsync", 2000, false), "cuMemcpyHtoDAsync");
    EXPECT_EQ(symbol_for("cuMemcpyHtoDAsync", 3010, false), "cuMemcpyHtoDAsync");
    EXPECT_EQ(symbol_for("cuMemcpyHtoDAsync", 3020, false), "cuMemcpyHtoDAsync_v2");
    EXPECT_EQ(symbol_for("cuMemcpyHtoDAsync", 7000, true), "cuMemcpyHtoDAsync_v2_ptsz");
    EXPECT_EQ(symbol_for("cuCtxSynchronize", 12090, false), "cuCtxSynchronize");
    EXPECT_EQ(symbol_for("cuCtxSynchronize", 13000, false), "cuCtxSynchronize_v2");
    EXPECT_EQ(symbol_for("cuMemHostRegister", 4000, false), "cuMemHostRegister");
    EXPECT_EQ(symbol_for("cuStreamBeginCapture", 10000, false), "cuStreamBeginCapture");
    EXPECT_EQ(symbol_for("cuStreamBeginCapture", 12000, true), "cuStreamBeginCapture_v2_ptsz");
}

TEST(Lookup, whatIsNotKnownPassesThrough) {
    EXPECT_EQ(symbol_for("cuMemcpyHtoDAsync", kNewestVersion + 10, false), "");  // may have another argument list
    EXPECT_EQ(symbol_for("cuMemcpyHtoDAsync", 1000, false), "");
    EXPECT_EQ(symbol_for("cuMemcpyHtoDAsync_v2", 13000, false), "");  // the driver takes names without suffix only
    EXPECT_EQ(symbol_for("cuSomethingNew", 13000, false), "");
    EXPECT_EQ(symbol_for("", 13000, false), "");
}

TEST(HashTable, findsEveryKeyItWasGivenAndNoOther) {
    HashTable<std::uint32_t> table;
    EXPECT_EQ(table.find({1, 2}), nullptr);
    constexpr std::uint32_t kKeys = 20'000;
    for (std::uint32_t i = 0; i < kKeys; ++i) {
        Hasher hasher;
        hasher.add(i);
        ASSERT_TRUE(table.insert(hasher.result(), i));
    }
    EXPECT_EQ(table.size(), kKeys);
    for (std::uint32_t i = 0; i < kKeys; ++i) {
        Hasher hasher;
        hasher.add(i);
        const std::uint32_t* found = table.find(hasher.result());
        ASSERT_NE(found, nullptr);
        ASSERT_EQ(*found, i);
        hasher.add(0);
        ASSERT_EQ(table.find(hasher.result()), nullptr);
    }
}

}  // namespace
