// Random damage, half of it with checksums made right again, through the reader and the dump: never a crash, never two
// lines for one thing, never an error without a message. The same seeds every time; PINCHECK_MUTATIONS sets how many.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <random>

#include "analyzer/dump.h"
#include "report_mutate.h"
#include "tests/unit/report_test_sample.h"

namespace pincheck::report::test {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Random = std::mt19937_64;

constexpr int kMutations = 60'000;

struct Part {
    std::size_t begin;
    std::size_t end;
};

// Where something is: the gaps between segments are not worth a mutation.
std::vector<Part> used_parts(const Bytes& bytes) {
    std::vector<Part> parts{{0, sizeof(FileHeader)}};
    for (std::size_t at = kHeaderBytes; at < bytes.size(); at += kSegmentBytes) {
        const auto header = fuzz::get<SegmentHeader>(bytes, at);
        parts.push_back({at, at + sizeof header});
        parts.push_back({at + kSegmentHeaderBytes, at + kSegmentHeaderBytes + header.committed});
    }
    return parts;
}

class Mutator {
  public:
    Mutator(const Bytes& original, std::uint64_t seed)
        : parts_(used_parts(original)), bytes_(original), random_(seed) {}

    Bytes mutate() {
        const std::size_t changes = 1 + below(3);
        for (std::size_t i = 0; i < changes; ++i) {
            change();
        }
        if (below(2) == 0) {
            fuzz::reseal(bytes_);
        }
        if (below(16) == 0) {
            bytes_.resize(somewhere());
        }
        return std::move(bytes_);
    }

  private:
    std::size_t below(std::size_t limit) { return random_() % limit; }
    std::size_t somewhere() {
        const Part& part = parts_[below(parts_.size())];
        return part.begin + below(part.end - part.begin);
    }
    void change() {
        static constexpr std::array<std::uint32_t, 12> kNumbers = {
            0, 1, 7, 8, 16, 0x7fff, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xfffffff8, 0xffffffff};
        const std::size_t at = somewhere();
        switch (below(5)) {
            case 0:
                bytes_[at] ^= static_cast<std::uint8_t>(1u << below(8));
                break;
            case 1:
                bytes_[at] = static_cast<std::uint8_t>(random_());
                break;
            case 2:
                write(at & ~std::size_t{3}, kNumbers[below(kNumbers.size())]);
                break;
            case 3:  // near what is there
                write(at & ~std::size_t{3},
                      fuzz::get<std::uint32_t>(bytes_, std::min(at & ~std::size_t{3}, bytes_.size() - 4)) +
                          static_cast<std::uint32_t>(below(33)) - 16);
                break;
            case 4: {  // one part over another
                const std::size_t from = somewhere();
                const std::size_t size = std::min({1 + below(300), bytes_.size() - from, bytes_.size() - at});
                std::memmove(bytes_.data() + at, bytes_.data() + from, size);
                break;
            }
        }
    }
    void write(std::size_t at, std::uint32_t value) {
        std::memcpy(bytes_.data() + at, &value, std::min(sizeof value, bytes_.size() - at));
    }

    std::vector<Part> parts_;
    Bytes bytes_;
    Random random_;
};

std::size_t lines_of(const Report& report) {
    return 1 + report.process.has_value() + report.devices.size() + report.coverage.size() + report.modules.size() +
           report.stacks.size() + report.sites.size() + report.counters.size() + report.ranges.size() +
           report.threads.size() + report.symbols.size() + report.memories.size() + report.streams.size() +
           report.waits.size() + report.transfers.size() + report.races.size() + report.reads.size() +
           report.losses.size() + (report.unknown_records > 0) + report.problems.size();
}

TEST(Mutation, of_a_report_is_read_without_harm) {
    const ImageOwner image = make_image();
    const TempFile file;
    fill_sample(*image);
    ASSERT_TRUE(image->snapshot(file.descriptor(), 1, FileState::ended).written);
    const Bytes original = file.bytes();
    const char* wanted = std::getenv("PINCHECK_MUTATIONS");
    const int count = wanted == nullptr ? kMutations : std::atoi(wanted);
    int sound = 0;
    int refused = 0;
    for (int seed = 0; seed < count; ++seed) {
        const Bytes bytes = Mutator(original, static_cast<std::uint64_t>(seed)).mutate();
        const ReadResult read = read_bytes(bytes);
        if (read.error != ReadError::none) {
            ++refused;
            ASSERT_FALSE(read.message.empty()) << "seed " << seed;
            continue;
        }
        sound += read.report.problems.empty();
        const std::string text = dump(read.report, "mutated.pcr");
        ASSERT_EQ(static_cast<std::size_t>(std::ranges::count(text, '\n')), lines_of(read.report)) << "seed " << seed;
    }
    // Otherwise the mutations test nothing: too few reach the records, or too few do damage.
    EXPECT_GT(sound, count / 20);
    EXPECT_LT(sound, count / 2);
    EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace pincheck::report::test
