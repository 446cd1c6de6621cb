// Random programs of copies and fills over two slabs, in streams that wait for each other and are waited for: what
// Races reports must be, pair by pair, what follows from the happens-before of stream_oracle.h and a plain list of
// ranges.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "interpose/races.h"
#include "report/reader.h"
#include "stream_oracle.h"
#include "tests/unit/report_test_sample.h"

namespace pincheck {
namespace {

using oracle::Default;
using oracle::Oracle;
using report::MemoryClass;
using report::RaceRule;

constexpr std::uintptr_t kHost = 0x7f0000000000;
constexpr std::uintptr_t kDevice = 0x7e0000000000;
constexpr std::uintptr_t kContext = 0xc0;
constexpr std::uintptr_t kEvents = 4;
constexpr std::uint64_t kBlock = 4096;
constexpr std::uint32_t kBlocks = 8;

// Rule, site of the copy in flight, site of the other party, flags.
using Key = std::tuple<RaceRule, std::uint32_t, std::uint32_t, std::uint16_t>;
using Found = std::map<Key, std::uint64_t>;

std::string text_of(const Found& found) {
    std::string text;
    for (const auto& [key, count] : found) {
        text += "\n  rule " + std::to_string(static_cast<int>(std::get<0>(key))) + ": " +
                std::to_string(std::get<1>(key)) + " -> " + std::to_string(std::get<2>(key)) + ", flags " +
                std::to_string(std::get<3>(key)) + ", " + std::to_string(count) + "x";
    }
    return text;
}

// One range that one operation uses, as the oracle keeps it. Of one stream's uses of one range in one way the newest
// stands for all: they run in order, and what is behind or beside one of them is so to the newest.
struct Use {
    std::uintptr_t address = 0;
    std::uint64_t bytes = 0;
    bool writes = false;
    int stream = 0;
    int node = 0;
    std::uint32_t site = 0;
    bool consumed = false;

    bool is_host() const { return address >= kHost; }
    bool overlaps(const Use& other) const {
        return address < other.address + other.bytes && other.address < address + bytes;
    }
    bool replaces(const Use& other) const {
        return address == other.address && bytes == other.bytes && writes == other.writes && stream == other.stream;
    }
};

class Truth {
  public:
    explicit Truth(Oracle& order) : order_(order) {}

    void add(const Use& use) {
        forget_complete();
        for (Use& earlier : uses_) {
            if (earlier.overlaps(use) && earlier.node != use.node && (earlier.writes || use.writes)) {
                judge(earlier, use);
            }
        }
        std::erase_if(uses_, [&](const Use& earlier) { return use.replaces(earlier); });
        uses_.push_back(use);
    }
    void release_host(std::uint32_t site) {
        forget_complete();
        for (const Use& use : uses_) {
            if (use.is_host()) {
                const bool lost = use.writes && !use.consumed;
                note(lost ? RaceRule::result_never_awaited : RaceRule::released_in_flight, use.site, site,
                     report::kRaceReleased);
            }
        }
        std::erase_if(uses_, [](const Use& use) { return use.is_host(); });
    }
    std::size_t host_uses() {
        forget_complete();
        return static_cast<std::size_t>(std::ranges::count_if(uses_, [](const Use& use) { return use.is_host(); }));
    }
    void free_device() {
        std::erase_if(uses_, [](const Use& use) { return !use.is_host(); });
    }
    void end() {
        forget_complete();
        for (const Use& use : uses_) {
            if (use.is_host() && use.writes && !use.consumed) {
                note(RaceRule::result_never_awaited, use.site, 0, report::kRaceAtExit);
            }
        }
    }
    const Found& found() const { return found_; }

  private:
    void forget_complete() {
        std::erase_if(uses_, [&](const Use& use) { return order_.is_known(use.node); });
    }
    void judge(Use& earlier, const Use& later) {
        if (!order_.is_behind(later.node, earlier.node)) {
            if (!later.is_host()) {
                note(RaceRule::unordered_copies, earlier.site, later.site, report::kRaceOnDevice);
            } else {
                note(!earlier.writes ? RaceRule::source_overwritten_in_flight
                     : !later.writes ? RaceRule::destination_read_in_flight
                                     : RaceRule::unordered_copies,
                     earlier.site, later.site, 0);
            }
        } else if (later.is_host() && earlier.writes) {
            if (!later.writes) {
                earlier.consumed = true;
            } else if (!earlier.consumed) {
                note(RaceRule::result_never_awaited, earlier.site, later.site, 0);
            }
        }
    }
    void note(RaceRule rule, std::uint32_t site, std::uint32_t other, std::uint16_t flags) {
        ++found_[{rule, site, other, flags}];
    }

    Oracle& order_;
    std::vector<Use> uses_;
    Found found_;
};

struct Shape {
    unsigned seed = 0;
    int steps = 60;
    bool few_sites = false;  // one an operation of a stream on a range: then the short way of a repeated copy is taken
};

class Program {
  public:
    explicit Program(const Shape& shape)
        : shape_(shape),
          random_(shape.seed),
          image_(report::test::make_image()),
          races_(*image_, streams_),
          truth_(order_) {
        add_stream(1, Default::legacy, false);
        add_stream(0x100, Default::no, false);
        add_stream(0x110, Default::no, false);
        for (std::uintptr_t handle = 0x120; handle <= 0x140; handle += 0x10) {
            add_stream(handle, Default::no, true);
        }
    }

    void run() {
        for (int i = 0; i < shape_.steps; ++i) {
            step();
        }
        races_.ended(0, -1);
        truth_.end();
        const Found found = found_by_races();
        EXPECT_EQ(found, truth_.found()) << "seed " << shape_.seed << "\nreported:" << text_of(found)
                                         << "\nthere is:" << text_of(truth_.found()) << "\n"
                                         << log_;
    }

  private:
    struct Live {
        std::uintptr_t handle = 0;
        int order = 0;
        StreamRef ref;
    };
    struct Range {
        std::uintptr_t address = 0;
        std::uint64_t bytes = 0;
    };

    unsigned pick(unsigned choices) { return static_cast<unsigned>(random_() % choices); }
    std::uintptr_t some_event() { return 0x9000 + 16 * pick(kEvents); }
    void note(const std::string& text) { log_ += "  " + text + "\n"; }

    void add_stream(std::uintptr_t handle, Default kind, bool non_blocking) {
        Live fresh;
        fresh.handle = handle;
        fresh.order = order_.add_stream(0, kind, non_blocking);
        fresh.ref = streams_.add(kContext, 0, handle, 0, non_blocking, 1);
        live_.push_back(fresh);
    }
    // Blocks of a slab, and now and then halves of one or nearly all.
    Range some_range(std::uintptr_t slab) {
        const unsigned first = pick(kBlocks);
        const unsigned count = pick(5) == 0 ? kBlocks - first : 1 + pick(std::min(2u, kBlocks - first));
        Range range{slab + first * kBlock, count * kBlock};
        if (pick(4) == 0) {
            range.address += kBlock / 2;
            range.bytes -= kBlock / 2;
        }
        return range;
    }

    void step() {
        switch (pick(18)) {
            case 0:
            case 1:
            case 2: {
                const Live& one = live_[pick(static_cast<unsigned>(live_.size()))];
                const std::uintptr_t event = some_event();
                const Operation operation = streams_.begin(one.ref);
                streams_.end_record(streams_.begin_record(event), operation, true);
                order_.record(event, one.order);
                note("record " + std::to_string(event) + " in " + std::to_string(one.handle));
                break;
            }
            case 3:
            case 4:
            case 5: {
                const Live& one = live_[pick(static_cast<unsigned>(live_.size()))];
                const std::uintptr_t event = some_event();
                const Operation operation = streams_.begin(one.ref);
                streams_.waited(operation, streams_.look(event));
                order_.wait(one.order, event);
                note("wait for " + std::to_string(event) + " in " + std::to_string(one.handle));
                break;
            }
            case 6:
                synchronise();
                break;
            case 7:
                rare();
                break;
            default:
                copy();
                break;
        }
    }
    void synchronise() {
        const Live& one = live_[pick(static_cast<unsigned>(live_.size()))];
        if (pick(2) == 0) {
            const std::uintptr_t event = some_event();
            streams_.learned(streams_.look(event));
            order_.know_event(event);
            note("synchronise event " + std::to_string(event));
        } else if (pick(6) == 0) {
            streams_.learned(streams_.begin_context_wait(kContext));
            order_.know_context(0);
            note("synchronise all");
        } else {
            streams_.learned(streams_.begin_wait(one.ref));
            order_.know_stream(one.order);
            note("synchronise " + std::to_string(one.handle));
        }
    }
    void rare() {
        switch (pick(6)) {
            case 0: {
                // Of more than it has room for, some are said.
                if (truth_.host_uses() > RangeBook::kMaxFound) {
                    break;
                }
                const std::uint32_t site = ++last_site_;
                RangeBook::Found uses;
                races_.look_at_release(kHost, kBlocks * kBlock, uses);
                races_.released(uses, site, 1);
                truth_.release_host(site);
                note("release at " + std::to_string(site));
                break;
            }
            case 1:
                races_.device_memory_freed();
                truth_.free_device();
                note("free device memory");
                break;
            case 2: {
                // The handle is used again.
                Live& one = live_[3 + pick(static_cast<unsigned>(live_.size()) - 3)];
                streams_.stream_destroyed(one.handle);
                one.order = order_.add_stream(0, Default::no, true);
                one.ref = streams_.add(kContext, 0, one.handle, 0, true, 1);
                note("make again " + std::to_string(one.handle));
                break;
            }
            default:
                break;
        }
    }

    enum class Kind { upload, download, fill, inside, count };

    void copy() {
        const unsigned index = pick(static_cast<unsigned>(live_.size()));
        const Live& one = live_[index];
        const auto kind = static_cast<Kind>(pick(static_cast<unsigned>(Kind::count)));
        Range to = some_range(kind == Kind::download ? kHost : kDevice);
        Range from = some_range(kind == Kind::upload ? kHost : kDevice);
        to.bytes = from.bytes = std::min(to.bytes, from.bytes);
        const std::uint32_t site = shape_.few_sites ? 100 * (1 + index) + static_cast<unsigned>(kind) : ++last_site_;
        const unsigned times = shape_.few_sites ? 1 + pick(3) : 1;
        for (unsigned i = 0; i < times; ++i) {
            const bool waits = kind == Kind::download && pick(12) == 0;
            put(one, kind, to, from, site, waits);
        }
    }
    // As StreamCall and the copy's hook do it.
    void put(const Live& one, Kind kind, const Range& to, const Range& from, std::uint32_t site, bool waits) {
        CopyRanges ranges;
        ranges.destination = to.address;
        ranges.source = kind == Kind::fill ? 0 : from.address;
        ranges.bytes = to.bytes;
        ranges.site = site;
        ranges.destination_is = kind == Kind::download ? MemoryClass::pinned : MemoryClass::device;
        ranges.source_is = kind == Kind::fill     ? MemoryClass::none
                           : kind == Kind::upload ? MemoryClass::pinned
                                                  : MemoryClass::device;
        const Operation operation = streams_.begin(one.ref);
        const Ticket ticket = streams_.issued(operation);
        if (waits) {
            streams_.learned(operation);
        }
        // Sites stand in for counters: only compared.
        const auto* const counters = reinterpret_cast<const report::CounterSlot*>(std::uintptr_t{site} * 64);
        KnownPair& pair = known_->pair(ranges.destination, ranges.source);
        const bool again = pair.destination == ranges.destination && pair.source == ranges.source &&
                           pair.counters == counters && pair.bytes == ranges.bytes && pair.stream == ticket.stream &&
                           races_.copied_again(pair, ticket);
        if (!again) {
            pair.counters = counters;
            pair.bytes = 0;
            races_.copied(*known_, &pair, 1, operation, ticket, ranges);
        }
        repeated_ += again ? 1 : 0;

        const int node = order_.put(one.order, true, false);
        if (waits) {
            order_.know_before(node);
        }
        note(std::to_string(site) + " (stream " + std::to_string(one.handle) + ", kind " +
             std::to_string(static_cast<int>(kind)) + (waits ? ", waits" : "") + "): " + std::to_string(from.address) +
             " -> " + std::to_string(to.address) + ", " + std::to_string(to.bytes));
        if (kind != Kind::fill) {
            truth_.add({from.address, from.bytes, false, one.order, node, site});
        }
        truth_.add({to.address, to.bytes, true, one.order, node, site});
        if (waits) {
            streams_.completed(operation, ticket);
            order_.know(node);
        }
    }

    Found found_by_races() {
        const int file = memfd_create("races", MFD_CLOEXEC);
        EXPECT_TRUE(image_->snapshot(file, 100'000, report::FileState::ended).written);
        const auto read = report::read_report("/proc/self/fd/" + std::to_string(file));
        close(file);
        Found found;
        for (const report::RaceSlot& race : read.report.races) {
            found[{race.rule, race.copy_site, race.other_site, race.flags}] += race.count;
            EXPECT_LT(race.begin, race.end);
            EXPECT_LE(race.end, race.copy_bytes);
        }
        EXPECT_TRUE(read.report.losses.empty()) << "seed " << shape_.seed;
        EXPECT_EQ(races_.lost_ranges(), 0u);
        EXPECT_EQ(streams_.losses().edges, 0u);
        return found;
    }

    Shape shape_;
    std::mt19937 random_;
    Streams streams_;
    report::test::ImageOwner image_;
    Races races_;
    std::unique_ptr<KnownUses> known_ = std::make_unique<KnownUses>();
    Oracle order_;
    Truth truth_;
    std::vector<Live> live_;
    std::uint32_t last_site_ = 0;
    std::string log_;

  public:
    std::uint64_t repeated_ = 0;
    std::size_t races_found() const { return truth_.found().size(); }
};

// Of all programs together: races found, and copies that went the short way.
struct Sum {
    std::size_t races = 0;
    std::uint64_t repeated = 0;
};

void run_programs(Shape shape, unsigned count, Sum& sum) {
    const unsigned first = shape.seed;
    for (; shape.seed < first + count && !testing::Test::HasFailure(); ++shape.seed) {
        const auto program = std::make_unique<Program>(shape);
        program->run();
        sum.races += program->races_found();
        sum.repeated += program->repeated_;
    }
}

TEST(RacesOracle, EveryPairOfShortProgramsIsReportedAndNothingElse) {
    Sum sum;
    run_programs({1, 25}, 1500, sum);
    EXPECT_GT(sum.races, 1500u);
}

TEST(RacesOracle, EveryPairOfLongProgramsIsReportedAndNothingElse) {
    Sum sum;
    run_programs({100000, 200}, 100, sum);
    EXPECT_GT(sum.races, 1000u);
}

TEST(RacesOracle, RepeatedCopiesAreNoException) {
    Sum sum;
    run_programs({200000, 120, true}, 500, sum);
    EXPECT_GT(sum.races, 1000u);
    EXPECT_GT(sum.repeated, 1000u);
}

}  // namespace
}  // namespace pincheck
