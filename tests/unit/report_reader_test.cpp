// A reader that trusts nothing: cut, damaged, foreign and hostile files.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <fstream>

#include "report/crc32c.h"
#include "report_test_sample.h"

namespace pincheck::report::test {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes sample_bytes(FileState state = FileState::ended) {
    const ImageOwner image = make_image();
    const TempFile file;
    fill_sample(*image);
    EXPECT_TRUE(image->snapshot(file.descriptor(), 10'000, state).written);
    return file.bytes();
}

bool mentions(const Report& report, std::string_view text) {
    return std::ranges::any_of(report.problems, [&](const std::string& p) { return p.find(text) != p.npos; });
}

template <class T>
T get(const Bytes& bytes, std::size_t offset) {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}
template <class T>
void put(Bytes& bytes, std::size_t offset, const T& value) {
    std::memcpy(bytes.data() + offset, &value, sizeof value);
}

constexpr std::size_t segment_at(std::size_t index) {
    return kHeaderBytes + index * kSegmentBytes;
}

// Offset of the end of the committed part of the segment that `offset` is in; 0 in the file header.
std::size_t used_end(const Bytes& bytes, std::size_t offset) {
    if (offset < kHeaderBytes) {
        return kHeaderBytes;
    }
    const std::size_t begin = offset - (offset - kHeaderBytes) % kSegmentBytes;
    return begin + kSegmentHeaderBytes + get<SegmentHeader>(bytes, begin).committed;
}

TEST(Cut, at_every_byte_yields_a_prefix_and_says_so) {
    const Bytes whole = sample_bytes();
    const Report full = read_bytes(whole).report;
    ASSERT_TRUE(full.problems.empty());
    const auto is_prefix = [](const auto& part, const auto& all) {
        return part.size() <= all.size() && std::equal(part.begin(), part.end(), all.begin(), [](auto& a, auto& b) {
                   return std::memcmp(&a, &b, sizeof a) == 0;
               });
    };
    for (std::size_t size = 0; size < whole.size(); ++size) {
        // In the gaps between segments nothing but the number of missing bytes changes.
        if (size > used_end(whole, size) + 8 && size % 61 != 0 && (size + 1 - kHeaderBytes) % kSegmentBytes > 1) {
            continue;
        }
        // A copy of just this size, so that a read past the end is seen by the sanitizer.
        const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
        const ReadResult read = read_bytes(cut);
        if (size < kHeaderBytes) {
            EXPECT_EQ(read.error, ReadError::not_a_report) << size;
            EXPECT_NE(read.message, "") << size;
            continue;
        }
        ASSERT_EQ(read.error, ReadError::none) << size;
        const Report& part = read.report;
        ASSERT_TRUE(mentions(part, "bytes early")) << size;
        EXPECT_FALSE(mentions(part, "checksum")) << size << ": a cut is not damage";
        ASSERT_LE(part.strings.size(), full.strings.size());
        EXPECT_TRUE(std::equal(part.strings.begin(), part.strings.end(), full.strings.begin())) << size;
        EXPECT_LE(part.stacks.size(), full.stacks.size());
        EXPECT_LE(part.sites.size(), full.sites.size());
        EXPECT_TRUE(is_prefix(part.counters, full.counters)) << size;
        EXPECT_TRUE(is_prefix(part.ranges, full.ranges)) << size;
        EXPECT_TRUE(is_prefix(part.threads, full.threads)) << size;
        EXPECT_TRUE(is_prefix(part.waits, full.waits)) << size;
        EXPECT_TRUE(is_prefix(part.transfers, full.transfers)) << size;
        EXPECT_TRUE(is_prefix(part.races, full.races)) << size;
        EXPECT_TRUE(is_prefix(part.losses, full.losses)) << size;
    }
}

TEST(Cut, says_how_many_bytes_are_missing) {
    Bytes bytes = sample_bytes();
    bytes.resize(bytes.size() - 312);
    EXPECT_TRUE(mentions(read_bytes(bytes).report, "the file ends 312 bytes early"));
    bytes.resize(kHeaderBytes);
    const Report report = read_bytes(bytes).report;
    EXPECT_TRUE(mentions(report, "the file ends at least ")) << "the last segment's header is gone";
    EXPECT_TRUE(report.strings.empty());
}

TEST(Damage, every_flipped_byte_is_noticed) {
    Bytes bytes = sample_bytes();
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        if (at > used_end(bytes, at) + 8 && at % 61 != 0) {
            continue;  // unused space: a sample of it
        }
        for (const std::uint8_t pattern : {0x01, 0x80, 0x55, 0xff}) {
            bytes[at] ^= pattern;
            const ReadResult read = read_bytes(bytes);
            EXPECT_TRUE(read.error != ReadError::none || !read.report.problems.empty())
                << "byte " << at << " ^ " << int{pattern};
            EXPECT_TRUE(read.error == ReadError::none || !read.message.empty());
            bytes[at] ^= pattern;
        }
    }
    EXPECT_TRUE(read_bytes(bytes).report.problems.empty());
}

TEST(Damage, costs_the_rest_of_its_segment_and_no_other) {
    Bytes bytes = sample_bytes();
    const auto first = get<RecordHeader>(bytes, segment_at(0) + kSegmentHeaderBytes);
    const std::size_t second = segment_at(0) + kSegmentHeaderBytes + first.bytes;
    bytes[second + 20] ^= 1;
    const Report report = read_bytes(bytes).report;
    EXPECT_TRUE(mentions(report, "segment 0: the record at offset " + std::to_string(second) + " fails its checksum"));
    EXPECT_EQ(report.strings.size(), 1u);
    EXPECT_EQ(report.counters.size(), 2u);
    EXPECT_TRUE(mentions(report, "3 counter fields name a site that the file does not have")) << report.problems.back();
}

TEST(Damage, of_a_race_that_names_what_is_not_there_is_said) {
    const ImageOwner image = make_image();
    RaceSlot* race = image->new_race();
    for (std::uint32_t* site : {&race->copy_site, &race->other_site, &race->pin_site, &race->wait_site,
                                &race->after_site, &race->before_site}) {
        store(*site, std::uint32_t{7});
    }
    store(race->stream, std::uint32_t{3});
    store(race->other_stream, std::uint32_t{4});
    store(race->call, std::uint32_t{5});
    const TempFile file;
    ASSERT_TRUE(image->snapshot(file.descriptor(), 1, FileState::ended).written);
    const Report report = read_report(file.path()).report;
    ASSERT_EQ(report.races.size(), 1u) << "the race itself is kept";
    EXPECT_TRUE(mentions(report, "6 race fields name a site that the file does not have"));
    EXPECT_TRUE(mentions(report, "2 race fields name a stream that the file does not have"));
    EXPECT_TRUE(mentions(report, "1 places name a string that the file does not have"));
}

TEST(Damage, of_many_slots_takes_few_sentences) {
    const ImageOwner image = make_image();
    const TempFile file;
    CounterSlot* last = nullptr;
    for (int i = 0; i < 50; ++i) {
        last = count_calls(*image, last, 0, 1, 1, 1);
    }
    ASSERT_TRUE(image->snapshot(file.descriptor(), 1, FileState::ended).written);
    Bytes bytes = file.bytes();
    for (std::size_t i = 0; i < 20; ++i) {
        bytes[segment_at(0) + kSegmentHeaderBytes + i * sizeof(CounterSlot) + 30] ^= 4;
    }
    const Report report = read_bytes(bytes).report;
    EXPECT_EQ(report.counters.size(), 30u);
    EXPECT_EQ(report.problems.size(), 4u);
    EXPECT_TRUE(mentions(report, "17 more slots"));
}

TEST(Damage, in_the_header_leaves_the_segments_readable) {
    Bytes bytes = sample_bytes();
    bytes[offsetof(FileHeader, segment_count)] = 0xff;
    const ReadResult read = read_bytes(bytes);
    EXPECT_EQ(read.error, ReadError::none);
    EXPECT_EQ(read.report.sites.size(), 2u);
    EXPECT_TRUE(mentions(read.report, "file header fails its checksum"));
}

TEST(Damage, in_a_file_that_seems_to_be_written_is_read_again_and_then_named) {
    Bytes bytes = sample_bytes(FileState::running);
    bytes[segment_at(1) + kSegmentHeaderBytes + 40] ^= 1;
    const TempFile file;
    ASSERT_EQ(write(file.descriptor(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    const ReadResult read = read_report(file.path());
    EXPECT_EQ(read.error, ReadError::none);
    EXPECT_EQ(read.report.counters.size(), 1u);
    EXPECT_TRUE(mentions(read.report, "counter slot at offset"));
}

// ---- versions

void seal_header(Bytes& bytes, const FileHeader& header) {
    put(bytes, 0, header);
    put(bytes, offsetof(FileHeader, crc), crc32c(bytes.data(), offsetof(FileHeader, crc)));
}

TEST(Version, a_file_that_needs_a_newer_reader_is_refused_with_the_version) {
    Bytes bytes = sample_bytes();
    auto header = get<FileHeader>(bytes, 0);
    header.version = 9;
    header.minimum_reader = 7;
    seal_header(bytes, header);
    const ReadResult read = read_bytes(bytes);
    EXPECT_EQ(read.error, ReadError::too_new);
    EXPECT_NE(read.message.find("needs a pincheck that reads format 7"), std::string::npos) << read.message;
}

TEST(Version, an_unknown_feature_is_refused) {
    Bytes bytes = sample_bytes();
    auto header = get<FileHeader>(bytes, 0);
    header.features = 0x8000000000000000;
    seal_header(bytes, header);
    const ReadResult read = read_bytes(bytes);
    EXPECT_EQ(read.error, ReadError::too_new);
    EXPECT_NE(read.message.find("features 0x8000000000000000"), std::string::npos) << read.message;
}

TEST(Version, a_newer_file_that_says_we_can_read_it_is_read) {
    Bytes bytes = sample_bytes();
    auto header = get<FileHeader>(bytes, 0);
    header.version = 9;
    seal_header(bytes, header);
    bytes[2000] = 1;  // newer versions may use what is reserved now
    bytes[segment_at(0) + 100] = 1;
    const ReadResult read = read_bytes(bytes);
    EXPECT_EQ(read.error, ReadError::none);
    EXPECT_EQ(read.report.sites.size(), 2u);
    EXPECT_TRUE(read.report.problems.empty());
}

// ---- hostile contents with sound checksums

class RawReport {
  public:
    RawReport() {
        bytes.resize(segment_at(1));
        FileHeader header{};
        std::memcpy(header.magic, kMagic, sizeof kMagic);
        header.header_bytes = kHeaderBytes;
        header.segment_bytes = kSegmentBytes;
        header.segment_count = 1;
        header.state = FileState::ended;
        seal_header(bytes, header);
    }
    void add(RecordType type, const void* payload, std::size_t size) {
        RecordHeader header{};
        header.bytes = static_cast<std::uint32_t>((sizeof header + size + 7) / 8 * 8);
        header.type = type;
        header.payload = static_cast<std::uint32_t>(size);
        const std::size_t at = segment_at(0) + kSegmentHeaderBytes + used;
        std::memcpy(bytes.data() + at + sizeof header, payload, size);
        header.crc = crc32c(bytes.data() + at + sizeof header, header.bytes - sizeof header,
                            crc32c(&header, offsetof(RecordHeader, crc)));
        put(bytes, at, header);
        used += header.bytes;
    }
    Report read() {
        SegmentHeader segment{};
        segment.magic = kSegmentMagic;
        segment.kind = SegmentKind::records;
        segment.committed = used;
        segment.crc = crc32c(&segment, offsetof(SegmentHeader, crc));
        put(bytes, segment_at(0), segment);
        const ReadResult result = read_bytes(bytes);
        EXPECT_EQ(result.error, ReadError::none);
        return result.report;
    }
    Bytes bytes;
    std::uint32_t used = 0;
};

TEST(Hostile, records_of_unknown_types_are_skipped_and_counted) {
    RawReport raw;
    raw.add(static_cast<RecordType>(900), "something new", 13);
    raw.add(static_cast<RecordType>(901), "", 0);
    const StringRecord text{1, 0};
    raw.add(RecordType::string, &text, sizeof text);
    const Report report = raw.read();
    EXPECT_EQ(report.unknown_records, 2u);
    EXPECT_EQ(report.strings.size(), 1u);
    EXPECT_TRUE(mentions(report, "2 records are of types newer"));
}

TEST(Hostile, counts_that_do_not_fit_are_no_records) {
    RawReport raw;
    const StringRecord text{1, 0xffffffff};
    raw.add(RecordType::string, &text, sizeof text);
    const StackRecord stack{1, 0x10000000, StackOrigin::unwound, 0};
    raw.add(RecordType::stack, &stack, sizeof stack);
    ModuleRecord module{};
    module.id = 1;
    module.build_id_bytes = 0xfffffff0;
    raw.add(RecordType::module, &module, sizeof module);
    SiteRecord site{};
    site.id = 1;
    site.key_count = site.python_count = 0xffff;
    raw.add(RecordType::site, &site, sizeof site);
    for (const RecordType type : {RecordType::string, RecordType::stack, RecordType::module, RecordType::site,
                                  RecordType::process, RecordType::device, RecordType::coverage}) {
        raw.add(type, "", 0);
    }
    const StringRecord without_id{0, 0};
    raw.add(RecordType::string, &without_id, sizeof without_id);
    const Report report = raw.read();
    EXPECT_TRUE(report.strings.empty() && report.stacks.empty() && report.modules.empty() && report.sites.empty());
    EXPECT_FALSE(report.process.has_value());
    EXPECT_TRUE(mentions(report, "12 records have a sound checksum and impossible contents"));
}

TEST(Hostile, references_that_lead_nowhere_are_named_once_a_kind) {
    RawReport raw;
    for (std::uint32_t id = 1; id <= 5; ++id) {
        SiteRecord site{};
        site.id = id;
        site.api = 40 + id;
        site.stack = 70;
        raw.add(RecordType::site, &site, sizeof site);
    }
    SiteRecord again{};
    again.id = 3;
    raw.add(RecordType::site, &again, sizeof again);
    const Report report = raw.read();
    EXPECT_EQ(report.sites.size(), 5u);
    EXPECT_TRUE(mentions(report, "5 places name a string that the file does not have (first: id 41)"));
    EXPECT_TRUE(mentions(report, "5 sites name a stack that the file does not have (first: id 70)"));
    EXPECT_TRUE(mentions(report, "1 records repeat an id"));
    EXPECT_EQ(report.problems.size(), 3u);
}

TEST(Hostile, a_segment_count_beyond_the_file_costs_nothing) {
    RawReport raw;
    auto header = get<FileHeader>(raw.bytes, 0);
    header.segment_count = 0xffffffff;
    seal_header(raw.bytes, header);
    EXPECT_TRUE(mentions(raw.read(), "the file ends at least "));
}

// ---- other files

TEST(Foreign, files_are_refused_with_a_next_step) {
    const auto message_of = [](const Bytes& bytes) {
        const TempFile file;
        EXPECT_EQ(write(file.descriptor(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
        const ReadResult read = read_report(file.path());
        EXPECT_EQ(read.error, ReadError::not_a_report);
        EXPECT_EQ(read.message.find('\n'), std::string::npos);
        return read.message;
    };
    EXPECT_NE(message_of({}).find("is empty"), std::string::npos);
    EXPECT_NE(message_of(Bytes(100'000, 0)).find("is not a pincheck report; give"), std::string::npos);
    EXPECT_NE(message_of({'h', 'i', '\n'}).find("is not a pincheck report"), std::string::npos);
    EXPECT_NE(message_of({'P', 'I', 'N', 'C', 'H', 'E', 'C', 'K'}).find("cut inside its header"), std::string::npos);
    const ReadResult elf = read_report("/proc/self/exe");
    EXPECT_EQ(elf.error, ReadError::not_a_report);
}

TEST(Foreign, what_is_no_regular_file_is_refused_and_does_not_hang) {
    EXPECT_EQ(read_report(testing::TempDir()).error, ReadError::cannot_open);
    EXPECT_NE(read_report(testing::TempDir()).message.find("is a directory"), std::string::npos);
    EXPECT_NE(read_report("/nonexistent/x.pcr").message.find("No such file"), std::string::npos);
    EXPECT_EQ(read_report("/dev/null").error, ReadError::cannot_open);
    const TempFile file;
    const std::string fifo = file.path() + ".fifo";
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    const ReadResult read = read_report(fifo);
    unlink(fifo.c_str());
    EXPECT_EQ(read.error, ReadError::cannot_open);
    EXPECT_NE(read.message.find("not a regular file"), std::string::npos) << read.message;
}

TEST(Foreign, an_unreadable_file_is_refused) {
    const TempFile file;
    chmod(file.path().c_str(), 0);
    const bool root = geteuid() == 0;
    if (root && seteuid(65534) != 0) {
        GTEST_SKIP() << "cannot become another user";
    }
    const ReadResult read = read_report(file.path());
    if (root) {
        ASSERT_EQ(seteuid(0), 0);
    }
    EXPECT_EQ(read.error, ReadError::cannot_open);
    EXPECT_NE(read.message.find("Permission denied; read it as the user"), std::string::npos) << read.message;
}

}  // namespace
}  // namespace pincheck::report::test
