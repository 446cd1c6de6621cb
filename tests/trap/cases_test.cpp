// The program's own handling and blocking of SIGSEGV: each case of these programs says the same, and ends in the
// same way, with a library that handles SIGSEGV first and lifts guards meanwhile as without it.
#include "trap_run.h"

namespace pincheck::test {
namespace {

struct OneCase {
    std::string program;
    std::string name;
};

std::vector<OneCase> all_cases() {
    std::vector<OneCase> all;
    for (const char* program : {"trap_handlers", "trap_dispositions", "trap_masks", "trap_children"}) {
        const FinishedRun list(without_trap({program_path(program), "list"}));
        for (const std::string& name : lines_of(list.outcome().out)) {
            all.push_back({program, name});
        }
    }
    return all;
}

void expect_the_same(const OneCase& one, const std::vector<std::string>& preload) {
    Command command = without_trap({program_path(one.program), one.name});
    const FinishedRun without(command);
    command.preload = preload;
    const FinishedRun with(command);
    EXPECT_FALSE(without.outcome().timed_out);
    EXPECT_EQ(with.outcome().status_text(), without.outcome().status_text()) << one.name;
    EXPECT_EQ(with.outcome().out, without.outcome().out) << one.name;
    EXPECT_EQ(with.outcome().err, without.outcome().err) << one.name;
}

TEST(SignalCases, AreThere) {
    EXPECT_GE(all_cases().size(), 53u);
}
TEST(SignalCases, AreTheSameWithTheLibrary) {
    for (const OneCase& one : all_cases()) {
        expect_the_same(one, {trap_library()});
    }
}
// libpincheck.so has a dlsym of its own; either may be named first.
TEST(SignalCases, AreTheSameWithBothLibraries) {
    for (const OneCase& one : all_cases()) {
        expect_the_same(one, {tool_library(), trap_library()});
    }
    Command rows = with_trap({program_path("trap_rows")});
    const FinishedRun alone(rows);
    rows.preload.push_back(tool_library());
    const FinishedRun together(rows);
    EXPECT_EQ(together.outcome().out, alone.outcome().out);
    EXPECT_EQ(together.outcome().err, alone.outcome().err);
}

FinishedRun state(const std::string& name) {
    return FinishedRun(with_trap({program_path("trap_states"), name}));
}

TEST(State, AttachesOnce) {
    const FinishedRun run = state("attaches_once");
    EXPECT_TRUE(run.outcome().exited(0)) << describe(run.outcome());
    EXPECT_EQ(run.outcome().out,
              "before: here 0 others take it 1\n"
              "attach 1\n"
              "attached: here 1 others take it 1\n"
              "attach again 0\n"
              "faults 1\n");
}

TEST(State, SaysWhenSomebodyPassedBy) {
    const FinishedRun run = state("passed_by");
    EXPECT_TRUE(run.outcome().exited(0)) << describe(run.outcome());
    EXPECT_EQ(run.outcome().out,
              "passed by: 0\n"
              "passed by: here 0 others take it 1\n"
              "was ignored 1\n"
              "still: here 0 others take it 1\n");
}

TEST(State, SaysWhichThreadsBlock) {
    const FinishedRun run = state("other_threads_block");
    EXPECT_TRUE(run.outcome().exited(0)) << describe(run.outcome());
    EXPECT_EQ(run.outcome().out,
              "blocked before: here 0 others take it 0\n"
              "attached: here 1 others take it 0\n"
              "mask of the other: 600\n"
              "its mask is changed: here 1 others take it 1\n"
              "mask of another: 400\n"
              "from a thread born blocked: here 1 others take it 1\n");
}

}  // namespace
}  // namespace pincheck::test
