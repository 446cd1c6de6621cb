// Orders between host and device, one pattern each (tests/programs/ordering_matrix.cu): what is told of the half that
// lacks the wait, and that nothing is told of the half that has it, at both levels. tests/programs/ordering_matrix.md
// is this table; PINCHECK_UPDATE_GOLDEN=1 writes it anew, to be read in the diff.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "races_of_report.h"
#include "watched_races.h"

namespace pincheck::test {
namespace {

enum class Halves { both, both_and_kernel, ordered };

struct Pattern {
    const char* name;
    const char* theirs;  // the tests of theirs that have it; empty: it is none of theirs
    Halves halves;
    Lines racy;               // at level order
    Lines racy_watched = {};  // and these at level watch
    Lines ordered = {};       // at both
    const char* remark = "";
};

const std::string kNever = "result-never-awaited 1x download -> next_download";
const std::string kStored = "source-overwritten-in-flight 1x upload -> nobody, wait wait_for";
const std::string kUnordered = "unordered-copies 1x clear -> download, on-device";
const std::string kUnorderedRows = "unordered-copies 1x clear_rows -> download_rows, on-device";
const std::string kUnorderedFills = "unordered-copies 1x clear -> clear, on-device";
constexpr const char* kNotPromised =
    "an allocation need not wait (on an H200 it does not), so that this half is racy too";
constexpr auto kAll = Halves::both_and_kernel;

const std::vector<Pattern> kPatterns = {
    {"event_wait", "02_event, 14_cuda_functor", kAll, {kNever}, {kStored}},
    {"device_wait", "34_negative_array (XFAIL), 35_struct_null", kAll, {kNever}, {kStored}},
    {"stream_query", "17_cuda_stream_query_busy_loop", kAll, {kNever}, {kStored}},
    {"event_query", "18_cuda_event_query_busy_loop", kAll, {kNever}, {kStored}},
    {"event_query_blocking", "18_cuda_event_with_flags_query_busy_loop", kAll, {kNever}, {kStored}},
    {"memset_between", "15_cuda_memset_sync", kAll, {kNever}, {kStored}},
    {"memset_between_nonblocking", "15_cuda_memset_sync_nonblocking", kAll, {kNever}, {kStored}},
    {"legacy_wait", "20_cuda_default_stream_sync", kAll, {kNever}, {kStored}},
    {"behind_legacy", "23_cuda_default_stream_post_sync", kAll, {kNever}, {kStored}},
    {"behind_legacy_nonblocking", "23_cuda_default_stream_post_sync_nonblocking", kAll, {kNever}, {kStored}},
    {"legacy_wait_nonblocking", "24_cuda_sync_stream_default_nonblocking", kAll, {kNever}, {kStored}},
    {"legacy_between", "25_cuda_default_stream_double_sync", kAll, {kNever}, {kStored}},
    {"other_device_wait", "multi_gpu/01_device_sync", kAll, {kNever}, {kStored}},
    {"other_device_event", "multi_gpu/02_device_sync_event", kAll, {kNever}, {kStored}},
    {"send_device_wait",
     "03_cuda_to_mpi, 29_tsan_cuda_to_mpi, 30_tsan_annotate_cuda_to_mpi",
     kAll,
     {kUnordered},
     {},
     {},
     "sent in a stream of MPI's own"},
    {"send_stream_wait", "05_cuda_to_mpi_stream", kAll, {kUnordered}},
    {"send_event_wait", "06_cuda_to_mpi_event", kAll, {kUnordered}},
    {"send_event_query", "18_cuda_to_mpi_event_query_busy_loop", kAll, {kUnordered}},
    {"send_legacy_wait", "20_cuda_to_mpi_send_ds_sync_w_r", kAll, {kUnordered}},
    {"send_host_copy", "19_cuda_to_mpi_send_cudaMemcpyAsyncH2H_implicit_sync", kAll, {kUnordered}},
    {"send_rows", "26_malloc_pitch", kAll, {kUnorderedRows}},
    {"host_copy_between", "19_cuda_cudaMemcpyAsyncH2H_implicit_sync", kAll, {kUnordered}},
    {"host_copy_between_nonblocking", "19_cuda_cudaMemcpyAsyncH2H_implicit_sync_nonblocking", kAll, {kUnordered}},
    {"alloc_between", "16_cuda_malloc_implicit_sync (XFAIL)", kAll, {kUnordered}, {}, {kUnordered}, kNotPromised},
    {"managed_alloc_between",
     "16_cuda_hostalloc_implicit_sync (XFAIL)",
     kAll,
     {kUnordered},
     {},
     {kUnordered},
     kNotPromised},
    {"copy_rows_between", "27_cuda_memcpy2d_implicit_syn", kAll, {kUnorderedRows}},
    {"memset_rows_between", "28_cuda_memset2d_implicit_syn", kAll, {kUnorderedRows}},
    {"stream_wait", "32_tsan_async_copy", kAll, {kUnordered}},
    {"stream_waits_for_event", "33_tsan_wait_event", kAll, {kUnordered}},
    {"event_between", "31_tsan_cuda_event", kAll, {kUnorderedFills}},
    {"two_buffers", "11_struct_of_buff, 13_struct_recursion", kAll, {kUnorderedFills}},
    {"send_second_buffer", "11_cuda_to_mpi_struct_of_buff, 12_struct_ptr (XFAIL)", kAll, {kUnordered}},
    {"receive", "04_mpi_to_cuda", Halves::both, {"unordered-copies 1x upload -> clear, on-device"}},
    {"both_read", "07_cuda_to_mpi_read", Halves::ordered, {}},
    {"copied_then_sent", "08_cudamemcpy_to_mpi", Halves::ordered, {}},
    {"copied_in_place", "09_cudamemcpy_default", Halves::ordered, {}},
    {"allocated_and_freed", "10_cudahostalloc", Halves::ordered, {}},
    {"synchronous_copies", "pass/01_test", Halves::ordered, {}},
    {"halves_sent", "22_cuda_to_mpi_partial_buff_write", Halves::ordered, {}},
    {"chunks",
     "21_chunked_streams_example",
     Halves::both,
     {"result-never-awaited 3x download -> next_download"},
     {},
     {},
     "theirs has the ordered half only"},
    {"per_thread_wait", "", Halves::both, {kNever}, {kStored}},
    {"per_thread_of_another_thread", "", Halves::both, {kNever}, {kStored}},
    {"event_chain", "", Halves::both, {kNever}, {kStored}},
    {"event_recorded_first", "", Halves::both, {kNever + ", early-event"}, {kStored + ", early-event"}},
    {"host_function",
     "",
     Halves::both,
     {kNever},
     {},
     {},
     "a source behind a host function is not watched: the function may fill it (counted as unwatched)"},
    {"registered_memory", "", Halves::both, {}, {kStored}, {}, "what the processor stores is seen at level watch"},
    {"managed_memory",
     "",
     Halves::both,
     {},
     {},
     {},
     "not seen: managed memory is not watched; the driver waits in the call"},
    {"pageable_memory", "", Halves::ordered, {}, {}, {}, "staged before the call returns"},
};

struct Half {
    std::string name;
    std::string theirs_expect;
    Lines order;
    Lines watch;
    std::string remark;
};

std::vector<Half> halves_of(const Pattern& pattern, bool with_kernel) {
    const std::string name = pattern.name + std::string(with_kernel ? "_kernel" : "");
    const bool is_theirs = *pattern.theirs != '\0';
    std::vector<Half> halves;
    if (pattern.halves != Halves::ordered) {
        const bool is_new = std::string(pattern.name) == "chunks";
        halves.push_back({name + "_racy", is_theirs && !is_new ? "race" : "-", {}, {}, ""});
        if (!with_kernel) {
            halves.back().order = halves.back().watch = pattern.racy;
            halves.back().watch.insert(halves.back().watch.end(), pattern.racy_watched.begin(),
                                       pattern.racy_watched.end());
        }
    }
    halves.push_back({name + "_ordered", is_theirs ? "none" : "-", {}, {}, ""});
    if (!with_kernel) {
        halves.back().order = halves.back().watch = pattern.ordered;
    }
    if (with_kernel) {
        for (Half& half : halves) {
            half.remark = "out of scope: kernel access";
        }
        return halves;
    }
    Half& remarked = pattern.ordered.empty() ? halves.front() : halves.back();
    remarked.remark = pattern.remark;
    return halves;
}
std::vector<Half> halves_of(const Pattern& pattern) {
    std::vector<Half> halves = halves_of(pattern, false);
    if (pattern.halves == Halves::both_and_kernel) {
        for (Half& half : halves_of(pattern, true)) {
            halves.push_back(std::move(half));
        }
    }
    return halves;
}

// ---- The program

std::string told(const report::Report& report, const report::RaceSlot& race) {
    std::string text = std::string(pincheck::name(race.rule)) + " " + std::to_string(race.count) + "x " +
                       function_of_site(report, race.copy_site) + " -> " + function_of_site(report, race.other_site);
    text += race.wait_site != 0 ? ", wait " + caller_of_site(report, race.wait_site) : "";
    text += (race.flags & report::kRacePresumed) != 0 ? ", presumed" : "";
    text += (race.flags & report::kRaceAtExit) != 0 ? ", at-exit" : "";
    text += (race.flags & report::kRaceReleased) != 0 ? ", released" : "";
    text += (race.flags & report::kRaceOnDevice) != 0 ? ", on-device" : "";
    text += (race.flags & report::kRaceEarlyEvent) != 0 ? ", early-event" : "";
    return text;
}

Command command_of(const std::string& program, const std::string& half, const std::string& level) {
    Command command;
    command.arguments = {program_path(program), half};
    command.options = "threshold=999999:cupti=off:sample=count:races=" + level;
    command.environment["SIMCUDA_DEVICES"] = "2";
    return command;
}

class OrderingMatrix : public testing::TestWithParam<std::tuple<Pattern, const char*>> {
  protected:
    static void expect(const Half& half, const std::string& level, Lines expected) {
        SCOPED_TRACE(half.name + " at " + level);
        const FinishedRun run(command_of(std::string("ordering_matrix") + std::get<1>(GetParam()), half.name, level));
        ASSERT_TRUE(run.outcome().exited(0)) << describe(run.outcome());
        EXPECT_EQ(run.outcome().out + run.outcome().err, "");
        const report::Report report = run.report();
        Lines lines;
        for (const report::RaceSlot& race : report.races) {
            lines.push_back(told(report, race));
        }
        std::ranges::sort(lines);
        std::ranges::sort(expected);
        EXPECT_EQ(lines, expected);
        EXPECT_EQ(losses_text(report), "");
        const bool behind_host_function = half.name == "host_function_racy" && level == "watch" && !is_filtered();
        EXPECT_EQ(lost(report, report::Loss::unwatched), behind_host_function ? 2u : 0u);
    }
};
INSTANTIATE_TEST_SUITE_P(Of, OrderingMatrix, testing::Combine(testing::ValuesIn(kPatterns), kRuntimes),
                         [](const auto& of) {
                             return std::string(std::get<0>(of.param).name) +
                                    (*std::get<1>(of.param) == '\0' ? "_shared" : "_static");
                         });

TEST_P(OrderingMatrix, TellsOfTheHalfWithoutTheWaitAlone) {
    for (const Half& half : halves_of(std::get<0>(GetParam()))) {
        expect(half, "order", half.order);
        expect(half, "watch", is_filtered() ? half.order : half.watch);
    }
}

// ---- The table

std::string cell(const Lines& lines) {
    std::string text;
    for (const std::string& line : lines) {
        text += (text.empty() ? "" : "; ") + line;
    }
    return text.empty() ? "silent" : text;
}

std::string rows(bool theirs, bool with_kernel) {
    std::string text =
        "| pattern of theirs | half | they expect | told at `order` | told at `watch` | remark |\n"
        "|---|---|---|---|---|---|\n";
    for (const Pattern& pattern : kPatterns) {
        if ((*pattern.theirs != '\0') != theirs || (with_kernel && pattern.halves != Halves::both_and_kernel)) {
            continue;
        }
        for (const Half& half : halves_of(pattern, with_kernel)) {
            text += std::string("| ") + (theirs ? pattern.theirs : "-") + " | " + half.name + " | " +
                    half.theirs_expect + " | " + cell(half.order) + " | " +
                    (half.watch == half.order ? "the same" : cell(half.watch)) + " | " + half.remark + " |\n";
        }
    }
    return text;
}

std::string table() {
    return R"(# Orders between host and device, and what is told of each

CuSan (github.com/tudasc/cusan) finds races between the host and CUDA by instrumenting both when they are compiled. The
patterns of its test-suite are a matrix of what orders host and device and what does not. `ordering_matrix.cu` has them
written anew, each without what orders it (`_racy`) and with it (`_ordered`). "They expect" is what its tests check for; where
a name has no folder it is `test/runtime`, whose patterns `test/pass` has too. XFAIL: its own tool is expected to fail there.

This file is written and checked by `tests/preload/ordering_matrix_test.cpp`, which runs every half at both levels with the
shared and the static runtime; `tests/gpu/races.py` reads what it expects on a GPU from here.

## With copies and fills

In scope: a copy or a fill stands where theirs has a kernel. Of host memory, an upload's source is filled again and a download's
result is read and downloaded again; of device memory, a copy in another stream reads it. MPI is a copy in a stream of its own.

)" + rows(true, false) +
           R"(
## With kernels, as theirs

Out of scope: kernel access. What kernels read and write is not seen, so that nothing is told.

)" + rows(true, true) +
           R"(
## More of the kind

)" + rows(false, false) +
           R"(
## Not here

`test/pass/34_test_sync_callback`, `35_…_stream`, `36_…_event` (which calls its compiler pass instruments) and
`test/kernel_analysis` (what it concludes of a kernel's arguments) have no order of host and device in them. The other files
of `test/pass` are those of `test/runtime`. The structures and lambdas of 11, 12, 13, 14, 34 and 35 say how a kernel gets
its pointers; here only the order is left.
)";
}

TEST(OrderingMatrixTable, IsThatOfTheVerdicts) {
    const std::string path = PINCHECK_TEST_SOURCE "/tests/programs/ordering_matrix.md";
    if (std::getenv("PINCHECK_UPDATE_GOLDEN") != nullptr) {
        std::ofstream(path, std::ios::binary) << table();
    }
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    EXPECT_EQ(text.str(), table()) << path;
}

TEST(OrderingMatrixTable, HasEveryHalfOfTheProgram) {
    Command command = command_of("ordering_matrix", "", "off");
    command.arguments.pop_back();
    const FinishedRun run(command);
    std::string expected;
    for (const Pattern& pattern : kPatterns) {
        for (const Half& half : halves_of(pattern)) {
            expected += "  " + half.name + "\n";
        }
    }
    EXPECT_EQ(run.outcome().err, "usage: ordering_matrix NAME, one of:\n" + expected);
}

}  // namespace
}  // namespace pincheck::test
