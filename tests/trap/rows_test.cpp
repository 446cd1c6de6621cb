// Every function that hands memory to the kernel works on guarded memory, says so before, and is otherwise itself.
#include <algorithm>
#include <set>

#include "trap_run.h"

namespace pincheck::test {
namespace {

struct Row {
    std::string symbol;
    std::string shape;
};

const std::vector<Row>& rows() {
    static const std::vector<Row> all = {
#define PINCHECK_LIBC(symbol, shape) {#symbol, #shape},
#include "interpose/trap/libc_api.def"
    };
    return all;
}

bool begins_with(const std::string& text, const std::string& begin) {
    return text.rfind(begin, 0) == 0;
}

bool is_change(const std::string& shape) {
    return begins_with(shape, "change") || shape == "map" || shape == "unmap" || shape == "move";
}

std::string direction(const std::string& shape) {
    const bool out = begins_with(shape, "from_") || begins_with(shape, "send") || shape == "spliced_vector" ||
                     shape == "device_request";
    return out ? "out" : "in";
}

TEST(Rows, GiveWhatTheyGiveWithoutGuards) {
    const FinishedRun without(without_trap({program_path("trap_rows")}));
    const FinishedRun with(with_trap({program_path("trap_rows")}));
    ASSERT_TRUE(without.outcome().exited(0)) << describe(without.outcome());
    EXPECT_EQ(with.outcome().status_text(), without.outcome().status_text());
    EXPECT_EQ(with.outcome().out, without.outcome().out);
}

TEST(Rows, AreAllCalledAndSpokenOfBefore) {
    const FinishedRun with(with_trap({program_path("trap_rows")}));
    const std::vector<std::string> said = lines_of(with.outcome().err);
    const std::vector<std::string> called = lines_of(with.outcome().out);
    for (const Row& row : rows()) {
        const std::string told =
            is_change(row.shape) ? "changes " + row.symbol : "told " + row.symbol + " " + direction(row.shape);
        EXPECT_NE(std::find(said.begin(), said.end(), told), said.end()) << told << "\n" << with.outcome().err;
        const auto call = std::find_if(called.begin(), called.end(),
                                       [&](const std::string& line) { return begins_with(line, row.symbol + " "); });
        EXPECT_NE(call, called.end()) << row.symbol << " is never called";
    }
}

// The guard is gone before the C library's own code, and the kernel, come to the memory.
TEST(Rows, CauseNoFault) {
    const FinishedRun with(with_trap({program_path("trap_rows")}));
    EXPECT_EQ(with.outcome().err.find("fault"), std::string::npos) << with.outcome().err;
    EXPECT_EQ(with.outcome().err.find("without a place"), std::string::npos) << with.outcome().err;
}

}  // namespace
}  // namespace pincheck::test
