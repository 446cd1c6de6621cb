#include "interpose/stack_room.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <cstdint>
#include <thread>
#include <vector>

namespace pincheck {
namespace {

constexpr std::size_t kKiB = 1024;

struct Answers {
    bool small = false;
    bool large = false;
};
Answers ask() {
    return {has_stack_room(64 * kKiB), has_stack_room(512 * kKiB)};
}

TEST(StackRoom, mainThreadHasUpToItsLimit) {
    EXPECT_TRUE(has_stack_room(64 * kKiB));
    EXPECT_FALSE(has_stack_room(SIZE_MAX));
}

TEST(StackRoom, threadHasWhatItWasGiven) {
    Answers answers;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 * kKiB);
    pthread_t thread;
    ASSERT_EQ(pthread_create(
                  &thread, &attributes,
                  [](void* to) -> void* {
                      *static_cast<Answers*>(to) = ask();
                      return nullptr;
                  },
                  &answers),
              0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    EXPECT_TRUE(answers.small);
    EXPECT_FALSE(answers.large);
}

// Nothing says how large another stack is: here a signal handler's.
TEST(StackRoom, stackOfAnotherKindHasNone) {
    static Answers answers;
    static Answers of_thread;
    const auto ask_in_handler = [] {
        std::vector<char> memory(1024 * kKiB);
        const stack_t stack{memory.data(), 0, memory.size()};
        stack_t before;
        sigaltstack(&stack, &before);
        answers = {true, true};
        raise(SIGUSR1);
        sigaltstack(&before, nullptr);
        return answers;
    };
    struct sigaction action = {};
    action.sa_handler = [](int) { answers = ask(); };
    action.sa_flags = SA_ONSTACK;
    struct sigaction before;
    sigaction(SIGUSR1, &action, &before);
    std::thread([&] { of_thread = ask_in_handler(); }).join();
    sigaction(SIGUSR1, &before, nullptr);
    EXPECT_FALSE(of_thread.small);
    EXPECT_FALSE(of_thread.large);
}

}  // namespace
}  // namespace pincheck
