// Ranges in flight, held against a plain list; and what two uses of one range are.
#include "interpose/range_book.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <tuple>
#include <vector>

#include "interpose/race_rules.h"
#include "streams_fixture.h"

namespace pincheck {
namespace {

using Key = std::tuple<std::uintptr_t, std::uint64_t, std::uint32_t, std::uint64_t, std::uint8_t>;

Key key_of(const RangeUse& use) {
    return {use.address, use.bytes, use.ticket.stream, use.ticket.sequence, use.flags};
}

class RangeBookTest : public StreamsTest {
  protected:
    RangeUse use(std::uintptr_t address, std::uint64_t bytes, StreamRef stream, std::uint8_t flags = 0) {
        RangeUse one;
        one.address = address;
        one.bytes = bytes;
        one.ticket = work(stream);
        one.site = 7;
        one.flags = flags;
        return one;
    }
    std::vector<RangeUse> add(const RangeUse& one) {
        auto found = std::make_unique<RangeBook::Found>();
        book.add(one, *found, last);
        return {found->uses, found->uses + found->count};
    }
    std::vector<RangeUse> in(std::uintptr_t address, std::uint64_t bytes) {
        std::vector<RangeUse> all;
        std::uint32_t next = 0;
        RangeUse one;
        while (book.next_in(address, bytes, next, one)) {
            all.push_back(one);
        }
        return all;
    }

    RangeBook book{streams};
    KnownUse last;
    StreamRef a = non_blocking(0x100);
    StreamRef b = non_blocking(0x200);
};

TEST_F(RangeBookTest, OverlapsAreFoundAndNeighboursAreNot) {
    add(use(0x10000, 0x1000, a));
    EXPECT_EQ(add(use(0x11000, 0x1000, b)).size(), 0u);
    EXPECT_EQ(add(use(0xf000, 0x1000, b)).size(), 0u);
    EXPECT_EQ(add(use(0x10fff, 1, b)).size(), 1u);
    EXPECT_EQ(add(use(0x10000, 1, b)).size(), 1u);
    EXPECT_EQ(add(use(0x8000, 0x10000, b)).size(), 5u);
}

TEST_F(RangeBookTest, WhatIsKnownCompleteIsForgotten) {
    add(use(0x10000, 0x1000, a));
    synchronise(a);
    EXPECT_EQ(add(use(0x10000, 0x1000, b)).size(), 0u);
    EXPECT_EQ(in(0, UINT64_MAX).size(), 1u);
}

TEST_F(RangeBookTest, OneStreamsUsesOfOneRangeAreOneEntry) {
    const RangeUse first = use(0x10000, 0x1000, a, kUseWrites);
    add(first);
    const RangeUse second = use(0x10000, 0x1000, a, kUseWrites);
    const auto found = add(second);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(key_of(found[0]), key_of(first));
    const auto left = in(0x10000, 1);
    ASSERT_EQ(left.size(), 1u);
    EXPECT_EQ(key_of(left[0]), key_of(second));
    EXPECT_EQ(add(use(0x10000, 0x1000, a)).size(), 1u) << "a read is another way";
    EXPECT_EQ(in(0x10000, 1).size(), 2u);
}

TEST_F(RangeBookTest, AnEntryIsRenewedOnlyWhereNothingElseOverlaps) {
    add(use(0x10000, 0x1000, a));
    KnownUse own = last;
    const Ticket next = work(a);
    ASSERT_TRUE(RangeBook::renew(own, next.sequence));
    ASSERT_EQ(in(0x10000, 1).size(), 1u);
    EXPECT_EQ(in(0x10000, 1)[0].ticket.sequence, next.sequence);
    add(use(0x10800, 0x1000, b));
    EXPECT_TRUE(RangeBook::renew(own, work(a).sequence)) << "both read";
    add(use(0x10800, 0x1000, b, kUseWrites));
    EXPECT_FALSE(RangeBook::renew(own, work(a).sequence));
}

TEST_F(RangeBookTest, WhatWasKnownOfAnEntryEndsWithIt) {
    add(use(0x10000, 0x1000, a));
    KnownUse own = last;
    book.forget(0x10000, 1);
    EXPECT_FALSE(RangeBook::renew(own, work(a).sequence));
    add(use(0x20000, 0x1000, b));  // takes the place
    EXPECT_FALSE(RangeBook::renew(own, work(a).sequence));
    EXPECT_EQ(in(0x20000, 1)[0].ticket.stream, b.number);
}

TEST_F(RangeBookTest, FullTableForgetsWhatIsCompleteBeforeItLosesAnything) {
    for (std::uint32_t i = 0; i < RangeBook::kMaxRanges; ++i) {
        add(use(0x100000 + 0x1000ull * i, 0x1000, i % 2 == 0 ? a : b));
    }
    EXPECT_EQ(book.lost(), 0u);
    add(use(0x10000, 0x100, a));
    EXPECT_EQ(book.lost(), 1u);
    synchronise(b);
    add(use(0x10000, 0x100, a));
    EXPECT_EQ(book.lost(), 1u);
    EXPECT_EQ(in(0x10000, 1).size(), 1u);
}

TEST_F(RangeBookTest, RandomProgramsFindWhatAPlainListFinds) {
    for (unsigned seed = 1; seed <= 60; ++seed) {
        std::mt19937 random(seed);
        std::vector<RangeUse> list;
        const StreamRef refs[] = {a, b, blocking(0x300)};
        book.forget_all();
        for (int step = 0; step < 400; ++step) {
            const StreamRef stream = refs[random() % 3];
            if (random() % 20 == 0) {
                synchronise(stream);
            } else if (random() % 40 == 0) {
                const std::uintptr_t begin = random() % 0x4000000;
                const std::uint64_t bytes = 1 + random() % 0x100000;
                book.forget(begin, bytes);
                std::erase_if(list, [&](const RangeUse& one) {
                    return one.address < begin + bytes && begin < one.address + one.bytes;
                });
            } else {
                // From some bytes to some MiB, in an arena of 64 MiB.
                const std::uint64_t bytes = 1 + random() % (std::uint64_t{1} << (random() % 24));
                const std::uintptr_t begin =
                    0x1000000 + (random() % 0x4000000 & ~std::uintptr_t{random() % 2 ? 0xfffu : 0u});
                const RangeUse one = use(begin, bytes, stream, static_cast<std::uint8_t>(random() % 2));
                std::erase_if(list, [&](const RangeUse& old) { return known(old.ticket); });
                std::multiset<Key> expected;
                for (const RangeUse& old : list) {
                    if (old.address < begin + bytes && begin < old.address + old.bytes) {
                        expected.insert(key_of(old));
                    }
                }
                const auto found = add(one);
                if (expected.size() <= RangeBook::kMaxFound) {
                    std::multiset<Key> got;
                    for (const RangeUse& other : found) {
                        got.insert(key_of(other));
                    }
                    ASSERT_EQ(got, expected) << "seed " << seed << ", step " << step;
                } else {
                    ASSERT_EQ(found.size(), RangeBook::kMaxFound);
                }
                std::erase_if(list, [&](const RangeUse& old) {
                    return old.address == begin && old.bytes == bytes && old.flags == one.flags &&
                           old.ticket.stream == one.ticket.stream;
                });
                list.push_back(one);
            }
        }
        synchronise(a);
        synchronise(b);
        synchronise(refs[2]);
    }
}

TEST_F(RangeBookTest, ThreadsMayUseItAtOnce) {
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; ++t) {
        const StreamRef stream = non_blocking(0x1000 + t);
        threads.emplace_back([this, t, stream] {
            auto found = std::make_unique<RangeBook::Found>();
            KnownUse own;
            for (unsigned i = 0; i < 3000; ++i) {
                RangeUse one = use(0x100000 * (t + 1) + 0x1000 * (i % 7), 0x1000 + (i % 3) * 0x800, stream);
                book.add(one, *found, own);
                for (unsigned again = 0; again < 3; ++again) {
                    if (!RangeBook::renew(own, work(stream).sequence)) {
                        break;
                    }
                }
                if (i % 50 == 0) {
                    synchronise(stream);
                }
                if (i % 500 == 0) {
                    book.forget(0x100000, 0x400000);
                }
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(book.lost(), 0u);
}

// ---- What two uses of one range are

struct Case {
    const char* name;
    std::uint8_t earlier;
    std::uint8_t later;
    Order order;
    RaceVerdict::Kind kind;
    report::RaceRule rule;
};
using Kind = RaceVerdict::Kind;
using report::RaceRule;

const Case kCases[] = {
    {"upload, upload", 0, 0, Order::none, Kind::nothing, {}},
    {"upload, download in order", 0, kUseWrites, Order::behind, Kind::nothing, {}},
    {"upload, download beside it", 0, kUseWrites, Order::none, Kind::race, RaceRule::source_overwritten_in_flight},
    {"download, upload in order", kUseWrites, 0, Order::behind, Kind::consumed, {}},
    {"download, upload beside it", kUseWrites, 0, Order::none, Kind::race, RaceRule::destination_read_in_flight},
    {"download, download in order", kUseWrites, kUseWrites, Order::behind, Kind::race, RaceRule::result_never_awaited},
    {"download, download beside it", kUseWrites, kUseWrites, Order::none, Kind::race, RaceRule::unordered_copies},
    {"download, download behind a host function", kUseWrites, kUseWrites, Order::unknown, Kind::cannot_tell, {}},
    {"upload, download behind a host function", 0, kUseWrites, Order::unknown, Kind::cannot_tell, {}},
    {"on the device, in order", kUseOnDevice | kUseWrites, kUseOnDevice | kUseWrites, Order::behind, Kind::nothing, {}},
    {"on the device, beside each other", kUseOnDevice, kUseOnDevice | kUseWrites, Order::none, Kind::race,
     RaceRule::unordered_copies},
    {"on the device, both read", kUseOnDevice, kUseOnDevice, Order::none, Kind::nothing, {}},
    {"pageable upload, then written", kUsePageable, kUseWrites | kUsePageable, Order::none, Kind::nothing, {}},
    {"pageable results", kUseWrites | kUsePageable, kUseWrites | kUsePageable, Order::behind, Kind::race,
     RaceRule::relies_on_staging},
    {"pageable result that is uploaded", kUseWrites | kUsePageable, kUsePageable, Order::behind, Kind::consumed, {}},
    {"pageable, in a graph",
     kUseWrites | kUsePageable | kUseInGraph,
     kUseWrites | kUsePageable | kUseInGraph,
     Order::behind,
     Kind::nothing,
     {}},
    {"the same graph again", kUseWrites | kUseInGraph, kUseWrites | kUseInGraph, Order::behind, Kind::nothing, {}},
};

RangeUse of(std::uint8_t flags, std::uint64_t sequence) {
    RangeUse use;
    use.address = 0x1000;
    use.bytes = 0x1000;
    use.flags = flags;
    use.ticket = {1, 1, sequence, 0};
    use.site = 3;
    return use;
}

TEST(RaceRules, EachPairIsWhatItIs) {
    for (const Case& one : kCases) {
        const RaceVerdict verdict = judge(of(one.earlier, 1), of(one.later, 2), one.order, false);
        EXPECT_EQ(verdict.kind, one.kind) << one.name;
        if (one.kind == Kind::race) {
            EXPECT_EQ(verdict.rule, one.rule) << one.name;
            EXPECT_FALSE(verdict.presumed) << one.name;
        }
    }
}

TEST(RaceRules, OneCallIsNoRaceWithItself) {
    EXPECT_EQ(judge(of(0, 1), of(kUseWrites, 1), Order::none, false).kind, Kind::nothing);
}

TEST(RaceRules, SignalsThroughMemoryMakeItPresumed) {
    EXPECT_TRUE(judge(of(kUseWrites, 1), of(kUseWrites, 2), Order::behind, true).presumed);
    RangeUse flag = of(kUseWrites, 1);
    flag.bytes = 4;
    RangeUse next = of(kUseWrites, 2);
    next.bytes = 4;
    EXPECT_TRUE(judge(flag, next, Order::behind, false).presumed) << "the host may poll it";
}

TEST(RaceRules, ResultsThatWereUsedInOrderAreNotLost) {
    RangeUse used = of(kUseWrites, 1);
    used.consumed = true;
    EXPECT_EQ(judge(used, of(kUseWrites, 2), Order::behind, false).kind, Kind::nothing);
}

TEST(RaceRules, RowsOfAPitchedBufferOverlapOnlyForSure) {
    RangeUse rows = of(kUseGaps, 1);
    RangeUse other = of(kUseWrites | kUseGaps, 2);
    EXPECT_EQ(judge(rows, other, Order::none, false).kind, Kind::race) << "the same rows";
    other.address += 64;
    EXPECT_EQ(judge(rows, other, Order::none, false).kind, Kind::nothing) << "other columns, perhaps";
    other = of(kUseWrites, 2);
    EXPECT_EQ(judge(rows, other, Order::none, false).kind, Kind::race) << "all of it";
    other.bytes = 64;
    EXPECT_EQ(judge(rows, other, Order::none, false).kind, Kind::nothing) << "may lie between the rows";
}

TEST(RaceRules, RefillIsSeenByContent) {
    RangeUse first = of(kUsePageable, 1);
    RangeUse second = of(kUsePageable, 2);
    EXPECT_EQ(judge(first, second, Order::behind, false).kind, Kind::nothing);
    first.content = second.content = 5;
    EXPECT_EQ(judge(first, second, Order::behind, false).kind, Kind::nothing);
    second.content = 6;
    const RaceVerdict verdict = judge(first, second, Order::behind, false);
    EXPECT_EQ(verdict.kind, Kind::race);
    EXPECT_EQ(verdict.rule, RaceRule::relies_on_staging);
}

}  // namespace
}  // namespace pincheck
