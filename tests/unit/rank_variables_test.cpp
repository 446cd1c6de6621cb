// Which of the variables that launchers set is a process's rank in its job.
#include "report/rank_variables.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace pincheck::test {
namespace {

using Environment = std::map<std::string, std::string>;

report::JobRank rank_in(const Environment& environment) {
    return report::rank_of_job([&](const char* name) {
        const auto found = environment.find(name);
        return found == environment.end() ? nullptr : found->second.c_str();
    });
}

std::string text_in(const Environment& environment) {
    const report::JobRank rank = rank_in(environment);
    return rank.text == nullptr ? "none" : rank.text;
}

TEST(Rank, is_known_of_each_launcher) {
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "JSM_NAMESPACE_RANK", "PMI_RANK",
                             "PMIX_RANK", "FLUX_TASK_RANK", "SLURM_PROCID", "RANK", "JOB_COMPLETION_INDEX"}) {
        EXPECT_EQ(text_in({{name, "12"}}), "12") << name;
        EXPECT_EQ(text_in({{name, "0"}}), "0") << name;
    }
    EXPECT_EQ(text_in({}), "none");
    EXPECT_EQ(text_in({{"LOCAL_RANK", "1"}, {"WORLD_SIZE", "8"}}), "none") << "not of the job";
}

// srun and mpirun start torchrun once a node, Kubernetes a pod with whatever in it.
TEST(Rank, is_that_of_the_innermost_launcher) {
    const Environment worker = {{"RANK", "11"}, {"LOCAL_RANK", "3"}, {"WORLD_SIZE", "16"}};
    for (const char* outer : {"SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "FLUX_TASK_RANK",
                              "MV2_COMM_WORLD_RANK", "JSM_NAMESPACE_RANK", "JOB_COMPLETION_INDEX"}) {
        Environment both = worker;
        both[outer] = "1";
        EXPECT_EQ(text_in(both), "11") << outer;
    }
    EXPECT_EQ(text_in({{"SLURM_PROCID", "0"}, {"OMPI_COMM_WORLD_RANK", "5"}}), "5") << "mpirun in an allocation";
    EXPECT_EQ(text_in({{"FLUX_TASK_RANK", "4"}, {"SLURM_PROCID", "0"}}), "4") << "flux started by srun";
    EXPECT_EQ(text_in({{"JOB_COMPLETION_INDEX", "2"}, {"PMIX_RANK", "7"}}), "7");
    EXPECT_EQ(text_in({{"RANK", "9"}, {"SLURM_PROCID", "2"}}), "2") << "RANK alone may be anything";
    EXPECT_EQ(text_in({{"RANK", "9"}, {"JOB_COMPLETION_INDEX", "2"}}), "9");
}

TEST(Rank, is_a_number_or_else_the_next_one_counts) {
    for (const char* bad : {"", "x", "-1", "3x", " 3", "1234567890", "99999999999999999999"}) {
        EXPECT_EQ(text_in({{"PMI_RANK", bad}}), "none") << bad;
        EXPECT_EQ(text_in({{"OMPI_COMM_WORLD_RANK", bad}, {"PMI_RANK", "6"}}), "6") << bad;
        EXPECT_EQ(text_in({{"RANK", "1"}, {"LOCAL_RANK", bad}, {"SLURM_PROCID", "8"}}), "8") << bad;
    }
    EXPECT_EQ(text_in({{"PMI_RANK", "999999999"}}), "999999999");
}

// `run` says only a line for ranks above 0, since their output is shown as one: a pod's is not.
TEST(Rank, of_a_pod_has_its_own_output) {
    EXPECT_TRUE(rank_in({{"JOB_COMPLETION_INDEX", "2"}}).own_output);
    EXPECT_FALSE(rank_in({{"JOB_COMPLETION_INDEX", "2"}, {"RANK", "3"}, {"LOCAL_RANK", "0"}}).own_output);
    EXPECT_FALSE(rank_in({{"SLURM_PROCID", "2"}}).own_output);
}

}  // namespace
}  // namespace pincheck::test
