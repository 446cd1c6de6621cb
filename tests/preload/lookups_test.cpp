// cuGetProcAddress, asked as the static runtime asks it (I3): a listed function comes back as the tool's wrapper by
// name, version and flag; everything else exactly as without the tool.
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "run_program.h"

namespace pincheck::test {
namespace {

Command replay(std::vector<std::string> more = {}) {
    Command command;
    command.arguments = {program_path("lookups"),
                         std::string(PINCHECK_TEST_SOURCE) + "/tests/simcuda/cudart_static_lookups.txt"};
    command.arguments.insert(command.arguments.end(), more.begin(), more.end());
    return command;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    std::string line;
    while (std::getline(in, line)) {
        lines.push_back(line);
    }
    return lines;
}

const std::set<std::string>& listed_driver_functions() {
    static const std::set<std::string> listed = [] {
        std::set<std::string> names;
        const auto add = [&](const char* symbol, const char* side) {
            if (std::string(side) == "driver") {
                names.insert(symbol);
            }
        };
#define PINCHECK_API(symbol, side, shape, lookup, since, variant) add(#symbol, #side);
#include "report/cuda_api.def"
#undef PINCHECK_API
        return names;
    }();
    return listed;
}

class Lookups : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(Lookups, I3_ListedFunctionsAreReplacedAndNothingElse) {
    const FinishedRun with(replay(GetParam()));
    const FinishedRun without(replay(GetParam()).without_tool());
    ASSERT_TRUE(without.outcome().exited(0)) << describe(without.outcome());
    ASSERT_TRUE(with.outcome().exited(0)) << describe(with.outcome());
    const std::vector<std::string> hooked = lines_of(with.outcome().out);
    const std::vector<std::string> plain = lines_of(without.outcome().out);
    ASSERT_EQ(hooked.size(), plain.size());
    ASSERT_GT(plain.size(), 430u);
    std::size_t replaced = 0;
    for (std::size_t i = 0; i < plain.size(); ++i) {
        const std::size_t space = plain[i].rfind(' ');
        const std::string symbol = plain[i].substr(space + 1);
        const bool listed =
            plain[i].find(" libcuda.so") != std::string::npos && listed_driver_functions().contains(symbol);
        if (listed) {
            const std::string expected = plain[i].substr(0, plain[i].find(" libcuda.so")) + " libpincheck.so";
            EXPECT_EQ(hooked[i].substr(0, expected.size()), expected) << "without the tool: " << plain[i];
            ++replaced;
        } else {
            EXPECT_EQ(hooked[i], plain[i]);
        }
    }
    EXPECT_GT(replaced, 30u);
    // Look-ups are not CUDA calls: the tool stays inert.
    EXPECT_TRUE(with.report_files().empty());
    EXPECT_EQ(with.outcome().err, without.outcome().err);
}

INSTANTIATE_TEST_SUITE_P(Version, Lookups, testing::Values(std::vector<std::string>{}, std::vector<std::string>{"v1"}),
                         [](const auto& of_test) { return of_test.param.empty() ? "v2" : "v1"; });

}  // namespace
}  // namespace pincheck::test
