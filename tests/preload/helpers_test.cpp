// The helpers of these tests: a test that cannot fail is a defect.
#include <gtest/gtest.h>

#include "facts.h"
#include "symbols.h"

namespace pincheck::test {
namespace {

TEST(Helpers, BareFunctionNames) {
    EXPECT_EQ(bare_function_name("void upload_async<PinnedWith<0u> >(Lane const&, void const*)"),
              "upload_async<PinnedWith<0u>>");
    EXPECT_EQ(bare_function_name("Pinned::allocate(unsigned long)"), "Pinned::allocate");
    EXPECT_EQ(bare_function_name("main"), "main");
    EXPECT_EQ(bare_function_name("(anonymous namespace)::child(int)"), "child");
    EXPECT_EQ(bare_function_name("caller_one(Small const&) [clone .isra.0]"), "caller_one");
}

TEST(Helpers, SymbolOfThisFunctionIsFound) {
    EXPECT_EQ(Symbols::of("/nonexistent").function_before(1), "");
    EXPECT_NE(Symbols::of("/proc/self/exe").function_before(1), "main");
}

TEST(Helpers, AnEmptyReportDiffersFromALedger) {
    const std::string ledger =
        R"({"sites": [{"function": "f", "api": "cudaMemcpyAsync", "kind": "copy", "direction": "host_to_device",
            "stream": "created", "destination": {"kind": "device", "flags": -1},
            "source": {"kind": "pageable", "flags": 0}, "calls": 1, "failed": 0, "bytes": 8,
            "then_synchronized": 0}], "live": [{"kind": "pinned", "bytes": 4096, "requested_flags": 1}]})";
    const std::string differences = differences_from_ledger(report::Report{}, ledger);
    EXPECT_NE(differences.find("missing  copy f cudaMemcpyAsync"), std::string::npos) << differences;
    EXPECT_NE(differences.find("live ranges expected"), std::string::npos) << differences;
    EXPECT_NE(differences_from_ledger(report::Report{}, "no ledger"), "");
}

}  // namespace
}  // namespace pincheck::test
