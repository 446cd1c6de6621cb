// What waits for the device's records: handed out so many times, the oldest making room.
#include "interpose/later_looks.h"

#include <gtest/gtest.h>

namespace pincheck {
namespace {

using Looks = LaterLooks<TimedAccess>;

TimedAccess access_at(std::uint64_t end_ns) {
    TimedAccess access;
    access.end_ns = end_ns;
    return access;
}

TEST(LaterLooks, what_is_not_put_back_is_gone) {
    Looks looks;
    looks.add(access_at(1));
    looks.add(access_at(2));
    TimedAccess out[Looks::kMax];
    ASSERT_EQ(looks.take(out), 2u);
    EXPECT_EQ(out[0].end_ns, 1u);
    EXPECT_EQ(out[1].end_ns, 2u);
    EXPECT_EQ(looks.take(out), 0u);
}

TEST(LaterLooks, it_is_looked_at_so_often_and_no_more) {
    Looks looks;
    looks.add(access_at(1));
    TimedAccess out[Looks::kMax];
    unsigned times = 0;
    while (looks.take(out) == 1) {
        ++times;
        looks.put_back(out[0]);
        ASSERT_LE(times, Looks::kLooks);
    }
    EXPECT_EQ(times, Looks::kLooks);
}

TEST(LaterLooks, the_oldest_makes_room) {
    Looks looks;
    for (std::uint64_t i = 0; i < Looks::kMax + 10; ++i) {
        looks.add(access_at(1000 + (i * 7) % Looks::kMax + (i >= Looks::kMax ? 5000 : 0)));
    }
    TimedAccess out[Looks::kMax];
    ASSERT_EQ(looks.take(out), Looks::kMax);
    std::uint64_t newest = 0;
    for (const TimedAccess& access : out) {
        EXPECT_GE(access.end_ns, 1010u) << "the ten oldest are gone";
        newest += access.end_ns > 5000 ? 1 : 0;
    }
    EXPECT_EQ(newest, 10u);
}

}  // namespace
}  // namespace pincheck
