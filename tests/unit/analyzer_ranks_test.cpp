// A job of many ranks: their reports become one, a damaged file is named and the others kept, and the ranks that did
// not do what the others did are named.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "analyzer/deviation.h"
#include "analyzer/render_text_processes.h"
#include "analyzer_sample.h"

namespace pincheck::test {
namespace {

using namespace report;
using report::test::count_calls;
using report::test::ImageOwner;
using report::test::TempFile;

// What a rank does: so many copies of 4 KiB, and one call held for that long; the odd one copies at a place of its own.
struct Work {
    std::uint32_t rank = kNoRank;
    std::uint64_t copies = 1000;
    std::uint64_t held_ns = 200 * kMs;
    bool own_place = false;
};

void write_rank(const std::string& path, const Work& work, std::uint32_t pid) {
    const ImageOwner image(Image::create({}, pid, 1'000, 1'700'000'000'000'000'000 + pid));
    ProcessRecord process{};
    process.pid = pid;
    process.rank = work.rank;
    process.executable = image->add_string("/opt/job/train");
    process.host = image->add_string("node" + std::to_string(pid % 25));
    image->add_process(process);
    const std::uint32_t module = image->add_module(image->add_string("/opt/job/train"), 0, 0, 1 << 20, {});
    SiteRecord record{};
    record.api = image->add_string("cudaMemcpyAsync");
    record.kind = SiteKind::copy;
    record.direction = Direction::host_to_device;
    record.source.kind = MemoryClass::pageable;
    record.flags = kSiteAsync;
    CounterSlot* last = nullptr;
    std::uint32_t site = 0;
    for (const std::uint64_t at : {std::uint64_t{16}, std::uint64_t{32}}) {
        if (at == 32 && !work.own_place) {
            break;
        }
        const Frame frames[] = {{module, 0, at}};
        record.stack = image->add_stack(frames, StackOrigin::unwound, false);
        const std::uint32_t added = image->add_site(record, frames);
        site = site == 0 ? added : site;
        last = count_calls(*image, last, added, 1, at == 16 ? work.copies : 1, 5'000);
    }
    WaitSlot* wait = image->new_wait();
    store(wait->site, site);
    store(wait->thread, std::uint32_t{1});
    store(wait->cause, WaitCause::staging);
    store(wait->ns, work.held_ns);
    store(wait->ns_max, work.held_ns);
    store(wait->calls, std::uint64_t{1});
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ASSERT_GE(file, 0) << path;
    EXPECT_TRUE(image->snapshot(file, 10'000'001'000, FileState::ended).written);
    close(file);
}

class Folder {
  public:
    Folder() : path_(testing::TempDir() + "pincheck-ranks-XXXXXX") { EXPECT_NE(mkdtemp(path_.data()), nullptr); }
    ~Folder() { std::filesystem::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    const std::string& path() const { return path_; }
    std::string file(std::uint32_t rank) const { return path_ + "/rank" + std::to_string(rank) + ".pcr"; }

  private:
    std::string path_;
};

std::string deviating(const Capture& capture, std::size_t width = 200) {
    Lines lines(width, false);
    add_deviating(lines, capture);
    return lines.take();
}

TEST(Ranks, TwoHundredOfWhichOneFileIsDamaged) {
    const Folder folder;
    constexpr std::uint32_t kRanks = 200;
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
        Work work{rank};
        if (rank == 17) {
            work.copies = 20'000;
            work.own_place = true;
        } else if (rank == 150) {
            work.held_ns = 900 * kMs;
        }
        write_rank(folder.file(rank), work, 4000 + rank);
    }
    std::ofstream(folder.file(42), std::ios::binary | std::ios::trunc) << std::string(5000, 'x');
    std::filesystem::resize_file(folder.file(43), 100);

    const LoadResult loaded = load_capture({folder.path()});
    const Capture& capture = loaded.capture;
    ASSERT_EQ(loaded.errors.size(), 2u);
    EXPECT_NE(loaded.errors[0].find("rank42.pcr"), std::string::npos) << loaded.errors[0];
    EXPECT_NE(loaded.errors[1].find("rank43.pcr"), std::string::npos) << loaded.errors[1];
    ASSERT_EQ(capture.processes.size(), kRanks - 2);
    ASSERT_EQ(capture.sites.size(), 2u);
    EXPECT_EQ(capture.sites[0].processes, kRanks - 2);
    EXPECT_EQ(capture.sites[0].calls, (kRanks - 3) * 1000 + 20'000u);
    EXPECT_EQ(capture.sites[0].in_processes, (std::vector<std::uint32_t>{0, 1, 10, 98}))
        << "those of the files that come first by name: rank0, rank1, rank10, rank100";
    EXPECT_EQ(only_in_text(capture, capture.sites[0]), "");
    EXPECT_EQ(only_in_text(capture, capture.sites[1]), "only in rank 17 of 198 processes");

    const std::vector<Deviation> found = deviations(capture);
    ASSERT_EQ(found.size(), 4u);
    EXPECT_EQ(found[0], (Deviation{17, Figure::copies, 20'001, 1000, 198}));
    EXPECT_EQ(found[1], (Deviation{17, Figure::copied_bytes, 20'001 * 4096, 1000 * 4096, 198}));
    EXPECT_EQ(found[2].figure, Figure::calls);
    EXPECT_EQ(found[3], (Deviation{148, Figure::held, 900 * kMs, 200 * kMs, 198}));
    EXPECT_EQ(
        deviating(capture),
        "Deviating       rank 17: 20,001 copies (half of the 198: 1,000 or less), 78.1 MiB copied (half of the 198: "
        "3.91 MiB or less), 20,001 CUDA calls (half of the 198: 1,000 or less)\n"
        "                rank 150: held for 900 ms (half of the 198: 200 ms or less)\n");
}

// Processes made by hand: what is held is given, all else alike.
Capture job_of(const std::vector<std::uint64_t>& held_ms) {
    Capture capture;
    for (std::size_t i = 0; i < held_ms.size(); ++i) {
        CaptureProcess& process = capture.processes.emplace_back();
        process.executable = "/opt/job/train";
        process.pid = static_cast<std::uint32_t>(100 + i);
        process.host = "node1";
        process.rank = static_cast<std::uint32_t>(i);
        process.cuda_calls = 1000;
        process.duration_ns = 10'000 * kMs;
        process.held_ns = held_ms[i] * kMs;
    }
    return capture;
}
std::vector<std::uint32_t> found_in(const Capture& capture) {
    std::vector<std::uint32_t> processes;
    for (const Deviation& one : deviations(capture)) {
        EXPECT_EQ(one.figure, Figure::held);
        processes.push_back(one.process);
    }
    return processes;
}

TEST(Deviations, AreMoreThanTwiceOrLessThanHalfOfThePeers) {
    using Found = std::vector<std::uint32_t>;
    EXPECT_EQ(found_in(job_of({1000, 1000, 1000, 2000})), Found());
    EXPECT_EQ(found_in(job_of({1000, 1000, 1000, 2002})), Found({3}));
    EXPECT_EQ(found_in(job_of({1000, 500, 1000, 1000})), Found());
    EXPECT_EQ(found_in(job_of({1000, 499, 1000, 1000})), Found({1}));
    EXPECT_EQ(found_in(job_of({1000, 0, 1000, 1000})), Found({1}));
    EXPECT_EQ(found_in(job_of({0, 0, 0, 100})), Found({3}));
}
TEST(Deviations, SmallDifferencesAreNotWorthAWord) {
    EXPECT_TRUE(deviations(job_of({0, 0, 0, 99})).empty());
    EXPECT_TRUE(deviations(job_of({10, 10, 10, 109})).empty());
}
TEST(Deviations, FewProcessesHaveNoPeers) {
    EXPECT_TRUE(deviations(job_of({1000, 1000, 9000})).empty());
    EXPECT_TRUE(deviations({}).empty());
}
TEST(Deviations, WhereManyDifferTheyHaveDifferentWork) {
    EXPECT_EQ(found_in(job_of({1000, 1000, 1000, 1000, 1000, 1000, 9000, 9000})).size(), 2u);
    EXPECT_TRUE(deviations(job_of({1000, 1000, 1000, 1000, 1000, 9000, 9000, 9000})).empty());
}
TEST(Deviations, OtherProgramsAndProcessesWithoutCudaAreNoPeers) {
    Capture capture = job_of({1000, 1000, 1000, 9000, 9000});
    capture.processes[3].executable = "/opt/job/serve";
    EXPECT_TRUE(deviations(capture).size() == 1 && deviations(capture)[0].process == 4);
    capture.processes[4].cuda_calls = 0;
    EXPECT_TRUE(deviations(capture).empty());
    capture = job_of({1000, 1000, 1000, 1000, 9000});
    capture.processes[4].after_cuda_fork = true;
    EXPECT_TRUE(deviations(capture).empty());
}

TEST(Processes, AreCalledByRankWhereThatTellsThemApart) {
    Capture capture = job_of({1, 1, 1, 1});
    EXPECT_EQ(process_text(capture, 2), "rank 2");
    capture.processes[2].rank = 1;  // a helper process of the rank
    EXPECT_EQ(process_text(capture, 2), "rank 1, pid 102");
    capture.processes[2].rank = kNoRank;
    EXPECT_EQ(process_text(capture, 2), "pid 102");
    capture.processes[0].host = "node\x1b[2J";
    EXPECT_EQ(process_text(capture, 2), "pid 102 on node1");
    capture.processes[0].rank = kNoRank;
    EXPECT_EQ(process_text(capture, 0).find('\x1b'), std::string::npos);
    EXPECT_EQ(process_text(capture, 9), "a process that is not known");
}
TEST(Processes, ASiteOfFewNamesThem) {
    const Capture capture = job_of(std::vector<std::uint64_t>(40, 1));
    CaptureSite site;
    site.processes = 10;
    site.in_processes = {3, 5, 8, 9};
    EXPECT_EQ(only_in_text(capture, site), "only in rank 3, rank 5, rank 8, rank 9 and 6 more of 40 processes");
    site.processes = 11;
    EXPECT_EQ(only_in_text(capture, site), "");
    site.processes = 1;
    site.in_processes = {0};
    EXPECT_EQ(only_in_text(job_of({1, 1, 1}), site), "");
    EXPECT_EQ(only_in_text(job_of({1, 1, 1, 1}), site), "only in rank 0 of 4 processes");
}
TEST(Processes, ManyThatDeviateAreCounted) {
    std::vector<std::uint64_t> held(40, 1000);
    for (std::size_t i = 0; i < 9; ++i) {
        held[i] = 5000;
    }
    const std::string text = deviating(job_of(held), 80);
    EXPECT_NE(text.find("rank 3: held for 5.00 s (half of the 40: 1.00 s or less)"), std::string::npos) << text;
    EXPECT_EQ(text.find("rank 4:"), std::string::npos) << text;
    EXPECT_NE(text.find("… 5 more processes: pincheck export --format=json"), std::string::npos) << text;
}

}  // namespace
}  // namespace pincheck::test
