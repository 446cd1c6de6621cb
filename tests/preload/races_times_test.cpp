// How far the device was when a copy's memory was used again (tests/programs/races_times.cu): corrupting, latent or not
// known, by the device's times of the copy and, of another copy, of that.
#include "races_of_report.h"
#include "watched_races.h"

namespace pincheck::test {
namespace {

class RacesTimes : public testing::TestWithParam<const char*> {
  protected:
    static Lines told_of(const std::string& half, const std::string& level, const std::string& cupti = "copies") {
        Command command;
        command.arguments = {program_path(std::string("races_times") + GetParam()), half};
        command.options = "threshold=999999:sample=count:races=" + level + ":cupti=" + cupti;
        command.environment["SIMCUDA_KERNELS"] = program_path("held_calls_kernels.so");
        const FinishedRun finished(command);
        EXPECT_TRUE(finished.outcome().exited(0)) << describe(finished.outcome());
        const report::Report report = finished.report();
        Lines lines;
        for (const report::RaceSlot& race : report.races) {
            lines.push_back(std::string(pincheck::name(race.rule)) + ' ' + std::to_string(race.count) + "x " +
                            function_of_site(report, race.copy_site) + " -> " +
                            function_of_site(report, race.other_site) + (race.corrupting != 0 ? ", corrupting" : "") +
                            (race.latent != 0 ? ", latent" : ""));
            EXPECT_LE(race.corrupting + race.latent, race.count);
        }
        std::ranges::sort(lines);
        return lines;
    }
};
INSTANTIATE_TEST_SUITE_P(Of, RacesTimes, kRuntimes, runtime_name);

TEST_P(RacesTimes, ACopyThatRanBeforeTheHeldOneIsCorrupting) {
    EXPECT_EQ(told_of("copy_corrupting", "order"),
              Lines{"source-overwritten-in-flight 1x upload -> download, corrupting"});
}
TEST_P(RacesTimes, ACopyBehindOneThatHasEndedIsLatent) {
    EXPECT_EQ(told_of("copy_latent", "order"), Lines{"source-overwritten-in-flight 1x upload -> download, latent"});
}
TEST_P(RacesTimes, AWriteThatWasSeenBeforeTheCopyRanIsCorrupting) {
    if (is_filtered() || !kernel_helps()) {
        GTEST_SKIP() << "the kernel does not tell when pages were written";
    }
    EXPECT_EQ(told_of("host_corrupting", "watch"),
              Lines{"source-overwritten-in-flight 1x upload -> nobody, corrupting"});
}
// Of the second upload the write is only known to lie between two moments.
TEST_P(RacesTimes, AWriteBehindALookAfterTheCopyIsLatent) {
    if (is_filtered() || !kernel_helps()) {
        GTEST_SKIP() << "the kernel does not tell when pages were written";
    }
    EXPECT_EQ(told_of("host_latent", "watch"), (Lines{"source-overwritten-in-flight 1x next_upload -> nobody",
                                                      "source-overwritten-in-flight 1x upload -> nobody, latent"}));
}
TEST_P(RacesTimes, WithoutTheDevicesTimesNeitherIsSaid) {
    EXPECT_EQ(told_of("copy_corrupting", "order", "off"), Lines{"source-overwritten-in-flight 1x upload -> download"});
    EXPECT_EQ(told_of("copy_latent", "order", "off"), Lines{"source-overwritten-in-flight 1x upload -> download"});
}

}  // namespace
}  // namespace pincheck::test
