// Symbols are added to reports of processes that have ended, whole or not at all.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "analyzer/dump.h"
#include "report/append.h"
#include "report/crc32c.h"
#include "report_test_sample.h"

namespace pincheck::report::test {
namespace {

const std::vector<ResolvedFrame>& frames() {
    static const std::vector<ResolvedFrame> list = {{1, 0, 0x20, "inner(int)", "/src/a.h", 7, true},
                                                    {1, 1, 0x20, "main", "/src/a.cpp", 12, true},
                                                    {2, 0, 0x1234, "at::copy_+0x10", "", 0, false}};
    return list;
}

void write_sample(const TempFile& file, FileState state = FileState::ended) {
    const ImageOwner image = make_image();
    fill_sample(*image);
    ASSERT_TRUE(image->snapshot(file.descriptor(), 10'000, state).written);
}

// Rewrites header fields of a report file with the right checksum.
template <class Change>
void change_header(const TempFile& file, Change change) {
    FileHeader header{};
    ASSERT_EQ(pread(file.descriptor(), &header, sizeof header, 0), static_cast<ssize_t>(sizeof header));
    change(header);
    header.crc = crc32c(&header, offsetof(FileHeader, crc));
    ASSERT_EQ(pwrite(file.descriptor(), &header, sizeof header, 0), static_cast<ssize_t>(sizeof header));
}

TEST(Append, adds_symbols_that_a_reader_finds) {
    const TempFile file;
    write_sample(file);
    const Report before = read_report(file.path()).report;
    ASSERT_EQ(append_symbols(file.path(), frames()), "");
    const Report after = read_report(file.path()).report;
    EXPECT_TRUE(after.problems.empty()) << after.problems[0];
    ASSERT_EQ(after.symbols.size(), 3u);
    EXPECT_EQ(*after.string(after.symbols[0].function), "inner(int)");
    EXPECT_EQ(*after.string(after.symbols[1].file), "/src/a.cpp");
    EXPECT_EQ(after.symbols[1].level, 1u);
    EXPECT_EQ(after.symbols[1].line, 12u);
    EXPECT_EQ(after.symbols[2].file, 0u);
    EXPECT_EQ(after.symbols[2].exact, 0u);
    EXPECT_EQ(after.header.segment_count, before.header.segment_count + 1);
    EXPECT_EQ(after.header.state, before.header.state);
    EXPECT_EQ(after.header.snapshot_ns, before.header.snapshot_ns);
    EXPECT_EQ(after.sites.size(), before.sites.size());
    EXPECT_EQ(after.counters.size(), before.counters.size());
    EXPECT_NE(dump(after, "x")
                  .find("symbol: frame=python3+0x20 level=1 function=18:\"main\" file=19:\"/src/a.cpp\" "
                        "line=12 exact=1\n"),
              std::string::npos)
        << dump(after, "x");
}

TEST(Append, leaves_what_is_there_alone) {
    const TempFile file;
    write_sample(file);
    ASSERT_EQ(append_symbols(file.path(), frames()), "");
    const std::vector<std::uint8_t> once = file.bytes();
    ASSERT_EQ(append_symbols(file.path(), frames()), "");
    EXPECT_EQ(file.bytes(), once);
    ASSERT_EQ(append_symbols(file.path(), {}), "");
    EXPECT_EQ(file.bytes(), once);
    ASSERT_EQ(append_symbols(file.path(), {{1, 0, 0x30, "main", "/src/a.cpp", 20, true}, {9, 0, 1, "x", "", 0, true}}),
              "");
    const Report report = read_report(file.path()).report;
    EXPECT_TRUE(report.problems.empty());
    ASSERT_EQ(report.symbols.size(), 4u) << "a module that the report does not have is left out";
    EXPECT_EQ(report.symbols[3].function, report.symbols[1].function) << "texts are not repeated";
}

TEST(Append, fills_as_many_segments_as_it_needs) {
    const TempFile file;
    write_sample(file);
    std::vector<ResolvedFrame> many;
    for (std::uint32_t i = 0; i < 5'000; ++i) {
        many.push_back({1, 0, 0x1000 + i, "function_" + std::to_string(i), "/src/a.cpp", i, true});
    }
    many.push_back({1, 0, 0x9000, std::string(100'000, 'x'), "", 0, true});
    ASSERT_EQ(append_symbols(file.path(), many), "");
    const Report report = read_report(file.path()).report;
    EXPECT_TRUE(report.problems.empty()) << report.problems[0];
    EXPECT_EQ(report.symbols.size(), many.size());
    EXPECT_EQ(report.string(report.symbols.back().function)->size(), 32'768u);
}

// The order of writes: whatever prefix of them was made, the rest of the report reads as before.
TEST(Append, interrupted_before_its_headers_leaves_the_report_as_it_was) {
    const TempFile file;
    write_sample(file);
    const std::size_t size = file.bytes().size();
    const std::string before = dump(read_report(file.path()).report, "x");
    ASSERT_EQ(append_symbols(file.path(), frames()), "");
    const std::uint32_t count = read_report(file.path()).report.header.segment_count;
    // The data is there, neither of the two headers is.
    const std::vector<std::uint8_t> nothing(kSegmentHeaderBytes, 0);
    ASSERT_GT(file.bytes().size(), size);
    ASSERT_EQ(pwrite(file.descriptor(), nothing.data(), nothing.size(), kHeaderBytes + (count - 1) * kSegmentBytes),
              static_cast<ssize_t>(nothing.size()));
    change_header(file, [&](FileHeader& header) { header.segment_count = count - 1; });
    EXPECT_EQ(dump(read_report(file.path()).report, "x"), before);
    ASSERT_EQ(append_symbols(file.path(), frames()), "");
    const Report again = read_report(file.path()).report;
    EXPECT_EQ(again.symbols.size(), 3u);
    EXPECT_EQ(again.header.segment_count, count) << "the useless segment was overwritten";
    EXPECT_TRUE(again.problems.empty());
}

TEST(Append, refuses_a_report_that_may_be_being_written) {
    const TempFile file;
    write_sample(file, FileState::running);
    const std::string host = [] {
        char name[256] = {};
        gethostname(name, sizeof name - 1);
        return std::string(name);
    }();
    const ImageOwner image = make_image();
    ProcessRecord process{};
    process.host = image->add_string(host);
    image->add_process(process);
    const TempFile live;
    ASSERT_TRUE(image->snapshot(live.descriptor(), 1, FileState::running).written);
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    const auto now_ns = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000;
    const auto set = [&](int pid, std::uint64_t start) {
        change_header(live, [&](FileHeader& header) {
            header.pid = static_cast<std::uint32_t>(pid);
            header.start_realtime_ns = start;
        });
    };
    const std::vector<ResolvedFrame> none;
    set(getpid(), now_ns);
    const std::vector<std::uint8_t> before = live.bytes();
    const std::string refusal = append_symbols(live.path(), none);
    EXPECT_NE(refusal.find("may still be writing"), std::string::npos) << refusal;
    EXPECT_EQ(live.bytes(), before);
    // This process started after that report: it is another one with the same id.
    set(getpid(), 1'000);
    EXPECT_EQ(append_symbols(live.path(), none), "");
    // A process that has ended and was not waited for.
    const pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    siginfo_t info;
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
    set(child, now_ns);
    EXPECT_EQ(append_symbols(live.path(), none), "");
    waitpid(child, nullptr, 0);
    EXPECT_EQ(append_symbols(live.path(), none), "");
    // Killed long ago, on a host of another name.
    EXPECT_EQ(append_symbols(file.path(), frames()), "");
    EXPECT_EQ(read_report(file.path()).report.symbols.size(), 3u);
}

TEST(Append, refuses_what_is_no_whole_report) {
    EXPECT_NE(append_symbols("/nonexistent.pcr", frames()).find("No such file"), std::string::npos);
    const TempFile empty;
    EXPECT_NE(append_symbols(empty.path(), frames()).find("is empty"), std::string::npos);
    const TempFile cut;
    write_sample(cut);
    ASSERT_EQ(ftruncate(cut.descriptor(), kHeaderBytes + kSegmentBytes), 0);
    EXPECT_NE(append_symbols(cut.path(), frames()).find("it was cut"), std::string::npos);
    const TempFile damaged;
    write_sample(damaged);
    ASSERT_EQ(pwrite(damaged.descriptor(), "x", 1, offsetof(FileHeader, pid)), 1);
    EXPECT_NE(append_symbols(damaged.path(), frames()).find("header is damaged"), std::string::npos);
    const TempFile newer;
    write_sample(newer);
    change_header(newer, [](FileHeader& header) { header.version = kFormatVersion + 1; });
    EXPECT_NE(append_symbols(newer.path(), frames()).find("report format"), std::string::npos);
    EXPECT_NE(append_symbols("/dev/null", frames()).find("not a regular file"), std::string::npos);
}

}  // namespace
}  // namespace pincheck::report::test
