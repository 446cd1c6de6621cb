// What reaches the file and in which order: after every single write the file is a report, a failed write is made good
// later, and a kill at any moment leaves a readable file.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <atomic>
#include <functional>
#include <thread>

#include "analyzer/dump.h"
#include "report/write_at.h"
#include "report_test_sample.h"

namespace pincheck::report {
namespace {

// What the next writes do. Returns how many bytes to write, or -1 with errno set.
std::function<long(std::size_t bytes, std::uint64_t offset)> before_write;
std::function<void()> after_write;

}  // namespace

// In place of the library's own.
long write_at(int descriptor, const void* data, std::size_t bytes, std::uint64_t offset) noexcept {
    long part = static_cast<long>(bytes);
    if (before_write) {
        part = before_write(bytes, offset);
        if (part <= 0) {
            return part;
        }
    }
    const long done = pwrite(descriptor, data, static_cast<std::size_t>(part), static_cast<off_t>(offset));
    if (after_write) {
        after_write();
    }
    return done;
}

namespace test {
namespace {

class Snapshot : public testing::Test {
  protected:
    void SetUp() override { reset(); }
    void TearDown() override { reset(); }
    static void reset() {
        before_write = nullptr;
        after_write = nullptr;
    }
};

std::string text_of(const TempFile& file) {
    const ReadResult read = read_report(file.path());
    EXPECT_EQ(read.error, ReadError::none) << read.message;
    Report report = read.report;
    // How often it took is not what was recorded.
    report.header.snapshots = 0;
    report.header.snapshot_ns = 0;
    return dump(report, "sample.pcr");
}

// Enough for several segments of records, counters and ranges, and a change of everything that can change.
void fill_more(Image& image, Sample& sample) {
    for (int i = 0; i < 40; ++i) {
        image.add_string(std::string(5'000, static_cast<char>('a' + i % 26)));
    }
    CounterSlot* last = nullptr;
    for (int i = 0; i < 300; ++i) {
        SiteRecord site{};
        site.api = image.add_string("cudaMemcpy");
        last = count_calls(image, last, image.add_site(site, {}), 3, 1, 50'000);
    }
    for (std::uint64_t i = 0; i < 1'200; ++i) {
        RangeSlot* range = image.new_range();
        store(range->address, i << 20);
        store(range->site, sample.site);
    }
    image.free_range(sample.range);
    store(sample.first->bytes, std::uint64_t{77});
    store(sample.thread->calls, std::uint64_t{9999});
    image.lose(Loss::descriptor_lost, 1, 9, 7'000);
}

TEST_F(Snapshot, after_every_single_write_the_file_is_a_report) {
    const ImageOwner image = make_image();
    const TempFile file;
    int writes = 0;
    std::size_t sites = 0;
    std::size_t counters = 0;
    FileState state = FileState::running;
    after_write = [&] {
        ++writes;
        const ReadResult read = read_report(file.path());
        ASSERT_EQ(read.error, ReadError::none) << "after write " << writes << ": " << read.message;
        ASSERT_TRUE(read.report.problems.empty()) << "after write " << writes << ": " << read.report.problems[0];
        EXPECT_GE(read.report.sites.size(), sites);
        EXPECT_GE(read.report.counters.size(), counters);
        sites = read.report.sites.size();
        counters = read.report.counters.size();
        state = read.report.header.state;
    };
    Sample sample = fill_sample(*image);
    ASSERT_TRUE(image->snapshot(file.descriptor(), 1, FileState::running).written);
    EXPECT_EQ(sites, 2u);
    EXPECT_GT(writes, 5);
    fill_more(*image, sample);
    ASSERT_TRUE(image->snapshot(file.descriptor(), 2, FileState::running).written);
    EXPECT_EQ(sites, 302u);
    EXPECT_EQ(counters, 302u);
    EXPECT_EQ(state, FileState::running);
    ASSERT_TRUE(image->snapshot(file.descriptor(), 3, FileState::ended).written);
    EXPECT_EQ(state, FileState::ended);
}

TEST_F(Snapshot, a_record_named_by_a_slot_is_in_the_file_before_the_slot) {
    const ImageOwner image = make_image();
    const TempFile file;
    ASSERT_TRUE(image->snapshot(file.descriptor(), 1, FileState::running).written);
    // The program goes on while the snapshot writes: before each write come new sites with their counters.
    CounterSlot* last = nullptr;
    int sites = 0;
    before_write = [&](std::size_t bytes, std::uint64_t) {
        for (int i = 0; i < 20 && sites < 2'000; ++i, ++sites) {
            SiteRecord site{};
            site.api = image->add_string(std::string(300, 'f'));
            last = count_calls(*image, last, image->add_site(site, {}), 1, 1, 1);
        }
        return static_cast<long>(bytes);
    };
    after_write = [&] {
        const Report report = read_report(file.path()).report;
        ASSERT_TRUE(report.problems.empty()) << report.problems[0];
    };
    last = count_calls(*image, nullptr, image->add_site(SiteRecord{}, {}), 1, 1, 1);
    for (std::uint64_t i = 0; i < 10; ++i) {
        ASSERT_TRUE(image->snapshot(file.descriptor(), i, FileState::running).written);
    }
    EXPECT_GT(read_report(file.path()).report.counters.size(), 100u);
}

TEST_F(Snapshot, nothing_is_written_when_nothing_changed) {
    const ImageOwner image = make_image();
    const TempFile file;
    Sample sample = fill_sample(*image);
    fill_more(*image, sample);
    ASSERT_TRUE(image->snapshot(file.descriptor(), 1, FileState::running).written);
    int writes = 0;
    std::size_t largest = 0;
    before_write = [&](std::size_t bytes, std::uint64_t) {
        ++writes;
        largest = std::max(largest, bytes);
        return static_cast<long>(bytes);
    };
    EXPECT_TRUE(image->snapshot(file.descriptor(), 2, FileState::running).written);
    EXPECT_EQ(writes, 0);
    store(sample.first->bytes, std::uint64_t{78});
    EXPECT_TRUE(image->snapshot(file.descriptor(), 3, FileState::running).written);
    EXPECT_EQ(writes, 2) << "the slot and the file header";
    EXPECT_EQ(largest, sizeof(CounterSlot));
    writes = 0;
    EXPECT_TRUE(image->snapshot(file.descriptor(), 4, FileState::ended).written);
    EXPECT_EQ(writes, 1) << "the file header";
    image->free_range(image->new_range());
    EXPECT_TRUE(image->snapshot(file.descriptor(), 5, FileState::ended).written);
    EXPECT_EQ(writes, 1) << "a slot that was free before and is free again";
}

TEST_F(Snapshot, neighbouring_slots_of_a_page_take_one_write_and_none_crosses_a_page) {
    const ImageOwner image = make_image();
    const TempFile file;
    std::vector<CounterSlot*> slots;
    for (CounterSlot* last = nullptr; slots.size() < 100; slots.push_back(last)) {
        last = count_calls(*image, last, 0, 1, 1, 1);
    }
    ASSERT_TRUE(image->snapshot(file.descriptor(), 1, FileState::running).written);
    int writes = 0;
    before_write = [&](std::size_t bytes, std::uint64_t offset) {
        ++writes;
        EXPECT_EQ(offset / 4096, (offset + bytes - 1) / 4096);
        return static_cast<long>(bytes);
    };
    for (CounterSlot* slot : slots) {
        store(slot->bytes, std::uint64_t{5});
    }
    ASSERT_TRUE(image->snapshot(file.descriptor(), 2, FileState::running).written);
    EXPECT_EQ(writes, (100 - 15 + 15) / 16 + 1 + 1) << "pages of 15, 16, 16… slots and the header";
}

// Runs two snapshots in which write number `failing` goes wrong, then one that works, and compares with a run in which
// none does. False when there was no such write.
bool run_with_failure(int failing, const std::function<long(std::size_t)>& outcome, int expected_error,
                      bool torn_slots_allowed) {
    std::string expected;
    for (const bool fail : {false, true}) {
        const ImageOwner image = make_image();
        const TempFile file;
        int writes = 0;
        bool failed = false;
        before_write = [&](std::size_t bytes, std::uint64_t) {
            if (fail && writes++ == failing) {
                failed = true;
                return outcome(bytes);
            }
            return static_cast<long>(bytes);
        };
        const auto snapshot = [&](std::uint64_t now) {
            const bool failed_before = failed;
            const SnapshotResult result = image->snapshot(file.descriptor(), now, FileState::running);
            const bool failed_now = failed && !failed_before;
            EXPECT_EQ(result.written, !failed_now) << "write " << failing;
            EXPECT_EQ(result.error, failed_now ? expected_error : 0) << "write " << failing;
            if (failed_now && failing > 0) {
                const ReadResult read = read_report(file.path());
                EXPECT_EQ(read.error, ReadError::none) << "write " << failing << ": " << read.message;
                EXPECT_TRUE(torn_slots_allowed || read.report.problems.empty())
                    << "write " << failing << ": " << read.report.problems[0];
            }
        };
        Sample sample = fill_sample(*image);
        snapshot(1);
        fill_more(*image, sample);
        snapshot(2);
        snapshot(3);
        if (!fail) {
            expected = text_of(file);
        } else if (!failed) {
            return false;
        } else {
            EXPECT_EQ(text_of(file), expected) << "write " << failing;
        }
    }
    return true;
}

TEST_F(Snapshot, a_write_that_fails_is_made_good_by_the_next_snapshot) {
    int failing = 0;
    while (run_with_failure(
        failing,
        [](std::size_t) {
            errno = EDQUOT;
            return -1L;
        },
        EDQUOT, false)) {
        ++failing;
    }
    EXPECT_GT(failing, 40);
}

TEST_F(Snapshot, a_short_write_is_a_full_disk_and_made_good) {
    for (const std::size_t missing : {std::size_t{1}, std::size_t{100}, std::size_t{4000}}) {
        for (int failing = 0; run_with_failure(
                 failing,
                 [missing](std::size_t bytes) { return static_cast<long>(bytes > missing ? bytes - missing : 0); },
                 ENOSPC, true);
             ++failing) {
        }
    }
}

TEST_F(Snapshot, an_interrupted_write_is_made_again) {
    const ImageOwner image = make_image();
    const TempFile file;
    int calls = 0;
    before_write = [&](std::size_t bytes, std::uint64_t) {
        if (++calls % 2 == 1) {
            errno = EINTR;
            return -1L;
        }
        return static_cast<long>(bytes);
    };
    fill_sample(*image);
    EXPECT_TRUE(image->snapshot(file.descriptor(), 1, FileState::ended).written);
    EXPECT_TRUE(read_report(file.path()).report.problems.empty());
}

TEST_F(Snapshot, survives_every_file_size_limit) {
    const auto ignored = signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    std::uint64_t size = 0;
    for (rlim_t limit = 4096; size == 0 || limit<size + 700; limit += size> 0 && limit > 8192 ? 6'151 : 333) {
        const ImageOwner image = make_image();
        const TempFile file;
        fill_sample(*image);
        rlimit small = before;
        small.rlim_cur = limit;
        setrlimit(RLIMIT_FSIZE, &small);
        const SnapshotResult result = image->snapshot(file.descriptor(), 1, FileState::running);
        setrlimit(RLIMIT_FSIZE, &before);
        const ReadResult cut = read_report(file.path());
        EXPECT_EQ(cut.error, ReadError::none) << cut.message;
        EXPECT_TRUE(cut.report.problems.empty()) << limit << ": " << cut.report.problems[0];
        EXPECT_EQ(result.written, result.error == 0);
        EXPECT_TRUE(image->snapshot(file.descriptor(), 2, FileState::ended).written);
        const Report whole = read_report(file.path()).report;
        EXPECT_TRUE(whole.problems.empty());
        EXPECT_EQ(whole.counters.size(), 2u);
        size = file.bytes().size();
        EXPECT_EQ(result.written, limit >= size) << limit;
    }
    signal(SIGXFSZ, ignored);
}

TEST_F(Snapshot, survives_a_full_file_system) {
    std::string folder = testing::TempDir() + "pincheck-full-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    int completed = 0;
    for (int pages = 1; completed < 2 && pages < 256; pages += 3) {
        const std::string size = "size=" + std::to_string(pages * 4096);
        if (mount("tmpfs", folder.c_str(), "tmpfs", 0, size.c_str()) != 0) {
            rmdir(folder.c_str());
            GTEST_SKIP() << "cannot mount a small file system here: " << std::strerror(errno);
        }
        const std::string path = folder + "/full.pcr";
        const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        const ImageOwner image = make_image();
        Sample sample = fill_sample(*image);
        fill_more(*image, sample);
        const SnapshotResult result = image->snapshot(descriptor, 1, FileState::running);
        EXPECT_EQ(result.error, result.written ? 0 : ENOSPC);
        completed += result.written;
        const ReadResult read = read_report(path);
        EXPECT_EQ(read.error, ReadError::none) << read.message;
        EXPECT_TRUE(read.report.problems.empty()) << read.report.problems[0];
        EXPECT_EQ(mount("tmpfs", folder.c_str(), "tmpfs", MS_REMOUNT, "size=4194304"), 0);
        EXPECT_TRUE(image->snapshot(descriptor, 2, FileState::ended).written);
        const Report whole = read_report(path).report;
        EXPECT_TRUE(whole.problems.empty());
        EXPECT_EQ(whole.sites.size(), 302u);
        close(descriptor);
        umount(folder.c_str());
    }
    EXPECT_EQ(completed, 2) << "some size is enough";
    rmdir(folder.c_str());
}

// Counts and snapshots without end; a byte to `progress` after the first snapshot.
[[noreturn]] void count_forever(int descriptor, int progress) {
    Image* image = Image::create({}, 1, 1, 1);
    Sample sample = fill_sample(*image);
    CounterSlot* last = sample.second;
    std::vector<RangeSlot*> ranges;
    for (std::uint64_t i = 1;; ++i) {
        store(sample.first->bytes, i);
        store(sample.first->host_ns, i * 3);
        store(sample.thread->calls, i);
        if (i % 16 == 0 && i < 16'000) {
            SiteRecord site{};
            site.api = image->add_string("cudaMemcpyAsync");
            last = count_calls(*image, last, image->add_site(site, {}), 1, 1, i);
            ranges.push_back(image->new_range());
            store(ranges.back()->site, sample.site);
        }
        if (i % 48 == 0 && !ranges.empty()) {
            image->free_range(ranges.back());
            ranges.pop_back();
        }
        image->snapshot(descriptor, i, FileState::running);
        if (i == 1) {
            [[maybe_unused]] const ssize_t told = write(progress, "x", 1);
        }
    }
}

TEST_F(Snapshot, sigkill_at_any_moment_leaves_a_report_without_problems) {
    for (int round = 0; round < 40; ++round) {
        const TempFile file;
        int progress[2];
        ASSERT_EQ(pipe(progress), 0);
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            count_forever(file.descriptor(), progress[1]);
        }
        char started = 0;
        ASSERT_EQ(read(progress[0], &started, 1), 1);
        // Also while it is being written. How long only varies the moment; no verdict depends on it.
        for (int reads = 0; reads < round / 4; ++reads) {
            const ReadResult live = read_report(file.path());
            EXPECT_EQ(live.error, ReadError::none) << live.message;
            EXPECT_TRUE(live.report.problems.empty()) << "live: " << live.report.problems[0];
        }
        usleep(static_cast<useconds_t>(round * 217));
        kill(child, SIGKILL);
        waitpid(child, nullptr, 0);
        close(progress[0]);
        close(progress[1]);
        const ReadResult read = read_report(file.path());
        EXPECT_EQ(read.error, ReadError::none) << read.message;
        EXPECT_TRUE(read.report.problems.empty()) << read.report.problems[0];
        EXPECT_EQ(read.report.header.state, FileState::running);
        EXPECT_GE(read.report.counters.size(), 2u);
    }
}

}  // namespace
}  // namespace test
}  // namespace pincheck::report
