// What Races makes of copies that use one range, beyond what random programs ask (races_oracle_test.cpp).
#include "interpose/races.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "report/reader.h"
#include "streams_fixture.h"
#include "tests/unit/report_test_sample.h"

namespace pincheck {
namespace {

using report::MemoryClass;
using report::RaceRule;
using report::SourceOrder;

constexpr std::uintptr_t kHost = 0x7f0000000000;
constexpr std::uintptr_t kDevice = 0x7e0000000000;
constexpr std::uint64_t kPiece = 4096;

class RacesTest : public StreamsTest {
  protected:
    CopyRanges download_to(std::uintptr_t host, std::uint64_t bytes, std::uint32_t site) {
        CopyRanges ranges;
        ranges.destination = host;
        ranges.bytes = bytes;
        ranges.site = site;
        ranges.destination_is = MemoryClass::pinned;
        ranges.pin_site = 90;
        return ranges;
    }
    CopyRanges upload_from(std::uintptr_t host, std::uint64_t bytes, std::uint32_t site) {
        CopyRanges ranges;
        ranges.source = host;
        ranges.bytes = bytes;
        ranges.site = site;
        ranges.source_is = MemoryClass::pinned;
        return ranges;
    }
    CopyRanges batch() {
        CopyRanges ranges = download_to(kHost, kPiece, 2);
        ranges.source = kDevice;
        ranges.source_is = MemoryClass::device;
        ranges.order = SourceOrder::any;
        ranges.is_batch = true;
        return ranges;
    }
    Ticket copy(StreamRef stream, const CopyRanges& ranges) {
        const Operation operation = streams.begin(stream);
        const Ticket ticket = streams.issued(operation);
        races.copied(*known, nullptr, 1, operation, ticket, ranges);
        return ticket;
    }
    report::Report reported() {
        const int file = memfd_create("races", MFD_CLOEXEC);
        EXPECT_TRUE(image->snapshot(file, 100'000, report::FileState::ended).written);
        auto read = report::read_report("/proc/self/fd/" + std::to_string(file));
        close(file);
        std::ranges::sort(read.report.races, {}, [](const report::RaceSlot& race) { return race.copy_site; });
        return read.report;
    }
    std::uint64_t lost(const report::Report& report, report::Loss kind) {
        std::uint64_t count = 0;
        for (const report::LossSlot& loss : report.losses) {
            count += loss.kind == kind ? loss.count : 0;
        }
        return count;
    }

    report::test::ImageOwner image = report::test::make_image();
    std::unique_ptr<Races> owned_races = std::make_unique<Races>(*image, streams);
    Races& races = *owned_races;
    std::unique_ptr<KnownUses> known = std::make_unique<KnownUses>();
};

// More pieces than are found in one look.
TEST_F(RacesTest, ManyPiecesAreAllReadByOneUpload) {
    const StreamRef stream = non_blocking(0x100);
    constexpr std::uint32_t kPieces = 3 * RangeBook::kMaxFound;
    for (int step = 0; step < 3; ++step) {
        for (std::uint32_t i = 0; i < kPieces; ++i) {
            copy(stream, download_to(kHost + i * kPiece, kPiece, 1 + i));
        }
        copy(stream, upload_from(kHost, kPieces * kPiece, 1000));
    }
    synchronise(stream);
    EXPECT_EQ(reported().races.size(), 0u);
}
TEST_F(RacesTest, ManyPiecesAreAllBesideOneDownload) {
    const StreamRef first = non_blocking(0x100);
    const StreamRef second = non_blocking(0x110);
    constexpr std::uint32_t kPieces = 3 * RangeBook::kMaxFound;
    for (std::uint32_t i = 0; i < kPieces; ++i) {
        copy(first, upload_from(kHost + i * kPiece, kPiece, 1 + i));
    }
    copy(second, download_to(kHost, kPieces * kPiece, 1000));
    copy(second, download_to(kHost, kPieces * kPiece, 1001));
    const report::Report report = reported();
    // Each piece twice, and the first download's result.
    EXPECT_EQ(report.races.size(), 2 * kPieces + 1);
    for (const report::RaceSlot& race : report.races) {
        EXPECT_EQ(race.count, 1u);
        EXPECT_EQ(race.rule,
                  race.copy_site == 1000 ? RaceRule::result_never_awaited : RaceRule::source_overwritten_in_flight);
    }
}

// As StreamCall::copied_blocking() does it. Whatever another thread puts into the stream while the call is executed,
// the copy is complete when it returns.
TEST_F(RacesTest, ASynchronousCopyIsOverWhateverOthersPutInMeanwhile) {
    const StreamRef stream = legacy();
    for (const unsigned meanwhile : {0u, 1u, 5u}) {
        const std::uintptr_t host = kHost + meanwhile * kPiece;
        const Operation operation = streams.begin(stream);
        for (unsigned i = 0; i < meanwhile; ++i) {
            copy(stream, upload_from(kHost + (10 + i) * kPiece, kPiece, 10 + i));
        }
        const Ticket ticket = streams.issued(operation);
        streams.learned(operation);
        races.copied(*known, nullptr, 1, operation, Streams::complete_place(operation, ticket),
                     download_to(host, kPiece, 1));
        streams.completed(operation, ticket);
        copy(non_blocking(0x100), download_to(host, kPiece, 2));
        RangeBook::Found uses;
        races.look_at_release(host, kPiece, uses);
        ASSERT_EQ(uses.count, 1u) << "the one of the other stream";
        EXPECT_EQ(uses.uses[0].site, 2u);
    }
    // What the others put in is in flight still.
    RangeBook::Found uses;
    races.look_at_release(kHost + 10 * kPiece, 5 * kPiece, uses);
    EXPECT_EQ(uses.count, 5u);
    EXPECT_EQ(reported().races.size(), 0u);
}

TEST_F(RacesTest, TheBytesThatBothUseAreSaidAsOffsetsInTheCopy) {
    copy(non_blocking(0x100), upload_from(kHost, 4 * kPiece, 1));
    copy(non_blocking(0x110), download_to(kHost + kPiece, kPiece, 2));
    const report::Report report = reported();
    ASSERT_EQ(report.races.size(), 1u);
    EXPECT_EQ(report.races[0].address, kHost);
    EXPECT_EQ(report.races[0].copy_bytes, 4 * kPiece);
    EXPECT_EQ(report.races[0].begin, kPiece);
    EXPECT_EQ(report.races[0].end, 2 * kPiece);
}

// A host function may look at the result before the next copy overwrites it, of the host's memory.
TEST_F(RacesTest, BehindAHostFunctionWhatHappensToAResultIsNotTold) {
    const StreamRef stream = non_blocking(0x100);
    copy(stream, download_to(kHost, kPiece, 1));
    gate(stream);
    copy(stream, download_to(kHost, kPiece, 2));
    const report::Report report = reported();
    EXPECT_EQ(report.races.size(), 0u);
    EXPECT_EQ(lost(report, report::Loss::unwatched), 1u);
}
TEST_F(RacesTest, BehindAHostFunctionDeviceMemoryIsInOrderStill) {
    const StreamRef stream = non_blocking(0x100);
    for (std::uint32_t site = 1; site < 4; ++site) {
        CopyRanges ranges = upload_from(kHost + site * kPiece, kPiece, site);
        ranges.destination = kDevice;
        ranges.destination_is = MemoryClass::device;
        copy(stream, ranges);
        gate(stream);
    }
    const report::Report report = reported();
    EXPECT_EQ(report.races.size(), 0u);
    EXPECT_EQ(lost(report, report::Loss::unwatched), 0u);
}

TEST_F(RacesTest, FlagsAndSignalsThroughMemoryMakeLostResultsPresumed) {
    const StreamRef stream = non_blocking(0x100);
    copy(stream, download_to(kHost, kPiece, 1));
    copy(stream, download_to(kHost, kPiece, 2));
    races.set_flags();
    copy(stream, download_to(kHost, kPiece, 3));
    copy(non_blocking(0x110), upload_from(kHost, kPiece, 4));
    races.ended(0, -1);
    const report::Report report = reported();
    ASSERT_EQ(report.races.size(), 4u);
    const std::uint16_t flags[] = {0, report::kRacePresumed, 0, report::kRacePresumed | report::kRaceAtExit};
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(report.races[i].flags, flags[i]) << i << " rule " << static_cast<int>(report.races[i].rule);
    }
}

// A wait for an event of the copy's stream, since the copy was issued, that was recorded before it.
TEST_F(RacesTest, AWaitForAnEventThatWasRecordedBeforeTheCopyIsSaid) {
    const StreamRef stream = non_blocking(0x100);
    const auto wait_for_event = [&] {
        const EventUse use = streams.look(kEvent);
        streams.learned(use);
        streams.note_event(use);
    };
    record(stream);
    copy(stream, download_to(kHost, kPiece, 1));
    wait_for_event();  // too early
    copy(stream, download_to(kHost, kPiece, 2));
    copy(stream, download_to(kHost, kPiece, 3));  // issued after that wait
    record(stream);
    copy(stream, download_to(kHost + kPiece, kPiece, 4));
    wait_for_event();  // right for the third, too early for the fourth
    copy(stream, download_to(kHost, kPiece, 5));
    copy(stream, download_to(kHost + kPiece, kPiece, 6));
    const StreamRef other = non_blocking(0x110);
    copy(other, download_to(kHost + 2 * kPiece, kPiece, 7));
    wait_for_event();  // of another stream
    copy(other, download_to(kHost + 2 * kPiece, kPiece, 8));
    const report::Report report = reported();
    ASSERT_EQ(report.races.size(), 4u);
    const std::pair<std::uint32_t, std::uint16_t> expected[] = {
        {1, report::kRaceEarlyEvent}, {2, 0}, {4, report::kRaceEarlyEvent}, {7, 0}};
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(report.races[i].rule, RaceRule::result_never_awaited);
        EXPECT_EQ(std::pair(report.races[i].copy_site, report.races[i].flags), expected[i]);
    }
}

// A batch copy that may read at any time: of what wrote its source before the order is known, of a launch it is not.
TEST_F(RacesTest, S3_ABatchThatReadsAtAnyTimeIsNotBehindWhatWroteItsSource) {
    const StreamRef stream = non_blocking(0x100);
    CopyRanges fill;
    fill.destination = kDevice;
    fill.bytes = kPiece;
    fill.site = 1;
    fill.destination_is = MemoryClass::device;
    copy(stream, fill);
    copy(stream, batch());
    const report::Report report = reported();
    ASSERT_EQ(report.races.size(), 1u);
    EXPECT_EQ(report.races[0].rule, RaceRule::unordered_copies);
    EXPECT_EQ(report.races[0].copy_site, 1u);
    EXPECT_EQ(report.races[0].other_site, 2u);
    EXPECT_EQ(report.races[0].flags, report::kRaceOnDevice);
}
TEST_F(RacesTest, S3_ABatchThatReadsAtAnyTimeIsPerhapsNotBehindALaunch) {
    const StreamRef stream = non_blocking(0x100);
    copy(stream, batch());
    synchronise(stream);
    work(stream);
    copy(stream, batch());
    const report::Report report = reported();
    ASSERT_EQ(report.races.size(), 1u);
    EXPECT_EQ(report.races[0].rule, RaceRule::unordered_copies);
    EXPECT_EQ(report.races[0].copy_site, 2u);
    EXPECT_EQ(report.races[0].count, 1u);
    EXPECT_EQ(report.races[0].flags, report::kRaceOnDevice | report::kRacePresumed);
}

TEST_F(RacesTest, MemoryThatCameToBeHasNoUses) {
    CopyRanges fill;
    fill.destination = kDevice;
    fill.bytes = kPiece;
    fill.site = 1;
    fill.destination_is = MemoryClass::device;
    copy(non_blocking(0x100), fill);
    races.device_range_made(kDevice, kPiece);
    copy(non_blocking(0x110), fill);
    races.device_memory_freed();
    copy(non_blocking(0x120), fill);
    EXPECT_EQ(reported().races.size(), 0u);
}

// What the call has read when it returns may be written by others.
TEST_F(RacesTest, M1_SourceOfADownloadToPageableMemoryIsReadWhenTheCallReturns) {
    CopyRanges fill;
    fill.destination = kDevice;
    fill.bytes = kPiece;
    fill.site = 1;
    fill.destination_is = MemoryClass::device;
    CopyRanges download = download_to(kHost, kPiece, 2);
    download.destination_is = MemoryClass::pageable;
    download.source = kDevice;
    download.source_is = MemoryClass::device;
    copy(non_blocking(0x100), download);
    copy(non_blocking(0x110), fill);
    EXPECT_EQ(reported().races.size(), 0u);
}
TEST_F(RacesTest, M1_ADownloadToPageableMemoryIsNotBehindOtherStreams) {
    CopyRanges fill;
    fill.destination = kDevice;
    fill.bytes = kPiece;
    fill.site = 1;
    fill.destination_is = MemoryClass::device;
    CopyRanges download = download_to(kHost, kPiece, 2);
    download.destination_is = MemoryClass::pageable;
    download.source = kDevice;
    download.source_is = MemoryClass::device;
    copy(non_blocking(0x110), fill);
    copy(non_blocking(0x100), download);
    const report::Report report = reported();
    ASSERT_EQ(report.races.size(), 1u);
    EXPECT_EQ(report.races[0].rule, RaceRule::unordered_copies);
}

TEST_F(RacesTest, ManagedAndUnknownMemoryIsNotFollowed) {
    for (const MemoryClass kind : {MemoryClass::managed, MemoryClass::array, MemoryClass::unknown}) {
        CopyRanges ranges = download_to(kHost, kPiece, 1);
        ranges.destination_is = kind;
        copy(non_blocking(0x100), ranges);
        copy(non_blocking(0x110), ranges);
    }
    EXPECT_EQ(reported().races.size(), 0u);
}

}  // namespace
}  // namespace pincheck
