// The tool's own walk over the stack against libunwind's, on stacks of every shape: where it answers, both answer the
// same; where it cannot, what it has found is the beginning of libunwind's answer. And it never reads what is not
// there.
#include "interpose/stack_walk.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "call_shapes.h"
#include "interpose/elf_objects.h"

namespace pincheck {
namespace {

using UnwBacktrace = int (*)(void**, int);

UnwBacktrace unw_backtrace() {
    static const auto function = [] {
        process_started();
        void* library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
        return library != nullptr ? reinterpret_cast<UnwBacktrace>(dlsym(library, "unw_backtrace")) : nullptr;
    }();
    return function;
}

thread_local StackBounds t_bounds;

// The last walk from each frame: while its words are what they were, another walk must give the same.
struct Remembered {
    StackWords words;
    std::vector<std::uintptr_t> addresses;
};
thread_local std::map<std::uintptr_t, Remembered> t_remembered;

// As a hook is: the walk begins where it was called from.
#define CALLER                                                           \
    Caller {                                                             \
        reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)),   \
            reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) \
    }

struct Tally {
    long walks = 0;
    long answered = 0;
    long unchanged = 0;  // walks that were made again with nothing changed
    long changed = 0;
    std::size_t deepest = 0;
    std::vector<std::string> wrong;
};

void compare_with_remembered(Tally& tally, const Caller& caller, const StackWords& words, const std::uintptr_t* found,
                             std::size_t count) {
    const std::vector<std::uintptr_t> now(found, found + count);
    Remembered& before = t_remembered[caller.frame];
    if (is_unchanged(before.words, caller)) {
        ++tally.unchanged;
        if (before.addresses != now) {
            tally.wrong.push_back("remembered wrongly");
        }
    } else {
        ++tally.changed;
    }
    before = {words, now};
    if (words.count != 0) {
        if (!is_unchanged(before.words, caller)) {
            tally.wrong.push_back("not what was just seen");
        }
        StackWords other = words;
        other.words[other.count - 1].value ^= 1;
        StackWords older = words;
        --older.epoch;
        if (is_unchanged(other, caller) || is_unchanged(older, caller) ||
            is_unchanged(words, {caller.return_address, caller.frame + 8})) {
            tally.wrong.push_back("a change was not noticed");
        }
    }
}

std::string text(const std::uintptr_t* addresses, std::size_t count) {
    std::string result;
    for (std::size_t i = 0; i < count; ++i) {
        Dl_info where{};
        dladdr(reinterpret_cast<void*>(addresses[i]), &where);
        char line[300];
        std::snprintf(line, sizeof(line), "\n    %#lx %s %s", static_cast<unsigned long>(addresses[i]),
                      where.dli_fname != nullptr ? where.dli_fname : "?",
                      where.dli_sname != nullptr ? where.dli_sname : "");
        result += line;
    }
    return result;
}

__attribute__((noinline)) void probe(void* context) {
    Tally& tally = *static_cast<Tally*>(context);
    const Caller caller = CALLER;
    void* all[400];
    const int got = unw_backtrace()(all, 400);
    std::vector<std::uintptr_t> expected;
    for (int i = 0; i < got; ++i) {
        const auto address = reinterpret_cast<std::uintptr_t>(all[i]);
        if (!expected.empty() || address == caller.return_address) {
            expected.push_back(address);
        }
    }
    for (const std::size_t depth : {std::size_t{1}, std::size_t{6}, std::size_t{16}, kMaxDepth}) {
        std::uintptr_t found[kMaxDepth];
        std::size_t count = 0;
        errno = 4711;
        StackWords words;
        const bool answered = walk_stack(caller, depth, t_bounds, found, count, words);
        const bool kept = errno == 4711;
        const std::size_t known = std::min(depth, expected.size());
        const bool right = count >= 1 && kept && (answered ? count == known : count <= known) &&
                           std::memcmp(found, expected.data(), count * sizeof(found[0])) == 0;
        if (!right && tally.wrong.size() < 3) {
            tally.wrong.push_back((answered ? "answered" : "given up") + text(found, count) + "\n  expected" +
                                  text(expected.data(), known));
        }
        if (depth == 6) {
            compare_with_remembered(tally, caller, words, found, count);
        }
        if (depth > 1) {
            ++tally.walks;
            tally.answered += answered ? 1 : 0;
            tally.deepest = std::max(tally.deepest, answered ? count : 0);
        }
    }
}

// Without libunwind, whose own cache of frames is never emptied: it crashes where libraries came and went (1.6.2).
__attribute__((noinline)) void only_walk(void* context) {
    std::uintptr_t found[kMaxDepth];
    std::size_t count = 0;
    StackWords words;
    const bool answered = walk_stack(CALLER, kMaxDepth, t_bounds, found, count, words);
    Tally& tally = *static_cast<Tally*>(context);
    ++tally.walks;
    tally.answered += answered ? 1 : 0;
}

void expect_right(const Tally& tally) {
    EXPECT_GT(tally.walks, 0);
    for (const std::string& wrong : tally.wrong) {
        ADD_FAILURE() << wrong;
    }
}
void expect_all_answered(const Tally& tally) {
    expect_right(tally);
    EXPECT_EQ(tally.answered, tally.walks);
}

std::string shapes_library(const std::string& variant) {
    return std::string(PINCHECK_CALL_SHAPES) + "/libcall_shapes_" + variant + ".so";
}

// Stays loaded, since libunwind would not notice that it went.
class ShapesLibrary {
  public:
    explicit ShapesLibrary(const std::string& variant)
        : ShapesLibrary(dlopen(shapes_library(variant).c_str(), RTLD_NOW)) {}

    void call(Tally& tally, std::uint64_t seed, int depth, bool only_small_frames = true) const {
        call({&probe, &tally, seed, only_small_frames}, depth);
    }
    void call(Shapes shapes, int depth) const { function_(&shapes, depth); }

  protected:
    explicit ShapesLibrary(void* handle) : handle_(handle) {
        EXPECT_NE(handle_, nullptr) << dlerror();
        function_ = reinterpret_cast<CallShapes>(dlsym(handle_, "call_shapes"));
    }
    void* handle_;

  private:
    CallShapes function_ = nullptr;
};

// A copy, which is unloaded again.
class PassingLibrary : public ShapesLibrary {
  public:
    explicit PassingLibrary(const std::string& variant) : ShapesLibrary(open_copy(variant)) {}
    ~PassingLibrary() { dlclose(handle_); }
    PassingLibrary(const PassingLibrary&) = delete;
    PassingLibrary& operator=(const PassingLibrary&) = delete;

  private:
    static void* open_copy(const std::string& variant) {
        const auto copy = std::filesystem::path(testing::TempDir()) / ("passing_" + std::to_string(getpid()) + ".so");
        std::filesystem::copy_file(shapes_library(variant), copy);
        void* handle = dlopen(copy.c_str(), RTLD_NOW);
        std::filesystem::remove(copy);
        return handle;
    }
};

class StackWalk : public testing::Test {
  protected:
    void SetUp() override { ASSERT_NE(unw_backtrace(), nullptr) << "libunwind.so.8 is missing"; }
    Tally tally_;
};

constexpr int kRuns = 300;

class StackWalkOfShapes : public StackWalk, public testing::WithParamInterface<const char*> {};

TEST_P(StackWalkOfShapes, IsThatOfLibunwind) {
    const ShapesLibrary shapes(GetParam());
    for (int seed = 0; seed < kRuns; ++seed) {
        shapes.call(tally_, static_cast<std::uint64_t>(seed), 3 + seed % 60);
    }
    expect_all_answered(tally_);
    EXPECT_EQ(tally_.deepest, kMaxDepth);
    EXPECT_GT(tally_.unchanged, 0);
    EXPECT_GT(tally_.changed, 0);
}

TEST_P(StackWalkOfShapes, LeavesFramesOfManyPagesToLibunwind) {
    const ShapesLibrary shapes(GetParam());
    for (int seed = 0; seed < kRuns; ++seed) {
        shapes.call(tally_, static_cast<std::uint64_t>(seed), 3 + seed % 60, false);
    }
    expect_right(tally_);
    EXPECT_GT(tally_.answered, 0);
}

TEST_P(StackWalkOfShapes, IsRightInThreads) {
    const ShapesLibrary shapes(GetParam());
    constexpr int kThreads = 8;
    std::vector<Tally> tallies(kThreads);
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back([&, i] {
            for (int seed = 0; seed < kRuns / kThreads; ++seed) {
                shapes.call(tallies[static_cast<std::size_t>(i)], static_cast<std::uint64_t>(1000 * i + seed), 40);
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    for (const Tally& tally : tallies) {
        expect_all_answered(tally);
    }
}

INSTANTIATE_TEST_SUITE_P(Flags, StackWalkOfShapes,
                         testing::Values("O0", "O2", "O3", "Os", "frame_pointer", "no_frame_pointer", "c_like"),
                         [](const auto& name) { return std::string(name.param); });

// Vendors' libraries may have no tables at all.
TEST_F(StackWalk, GivesUpWithoutTables) {
    const ShapesLibrary shapes("no_tables");
    for (int seed = 0; seed < kRuns; ++seed) {
        shapes.call(tally_, static_cast<std::uint64_t>(seed), 3 + seed % 20);
    }
    EXPECT_EQ(tally_.answered, 0);
    // What libunwind then guesses is its own affair: the first address is known.
    EXPECT_GT(tally_.walks, 0);
}

// Libraries are unloaded and others loaded at their addresses. What was known is forgotten in time (then each walk gets
// to the outermost frame), or not yet: then a walk may be wrong or give up, and nothing worse happens.
constexpr const char* kOneAfterAnother[] = {"O2", "no_frame_pointer", "O3", "frame_pointer", "Os", "O0", "O2", "O3"};
TEST_F(StackWalk, ForgetsLibrariesThatAreGone) {
    for (const char* variant : kOneAfterAnother) {
        const PassingLibrary shapes(variant);
        forget_frames();
        for (std::uint64_t seed = 0; seed < kRuns; ++seed) {
            shapes.call({&only_walk, &tally_, seed, true}, 40);
        }
    }
    expect_all_answered(tally_);
}
TEST_F(StackWalk, SurvivesRulesOfLibrariesThatAreGone) {
    for (const char* variant : kOneAfterAnother) {
        const PassingLibrary shapes(variant);
        for (std::uint64_t seed = 0; seed < kRuns; ++seed) {
            shapes.call({&only_walk, &tally_, seed, true}, 40);
        }
    }
    EXPECT_LT(tally_.answered, tally_.walks);  // they were mapped where the ones before had been
    forget_frames();
}

extern "C" {
void frame_without_table(void (*probe)(void*), void* context);
void frame_from_rbx(void (*probe)(void*), void* context);
void frame_pointer_saved_far(void (*probe)(void*), void* context);
void frame_pointer_misused(void (*probe)(void*), void* context);
void frame_return_address_moved(void (*probe)(void*), void* context);
void frame_remembered(void (*probe)(void*), void* context);
void frame_outermost(void (*probe)(void*), void* context);
}

TEST_F(StackWalk, OfUsualFramesWrittenByHand) {
    frame_pointer_misused(&probe, &tally_);
    frame_remembered(&probe, &tally_);
    expect_all_answered(tally_);
}
TEST_F(StackWalk, EndsWhereTheTableSaysSo) {
    frame_outermost(&probe, &tally_);
    expect_all_answered(tally_);
    EXPECT_EQ(tally_.deepest, 1u);
}
TEST_F(StackWalk, GivesUpAtUnusualFrames) {
    for (auto* function : {&frame_from_rbx, &frame_pointer_saved_far, &frame_return_address_moved}) {
        function(&probe, &tally_);
    }
    expect_right(tally_);
    EXPECT_EQ(tally_.answered, 0);
}
TEST_F(StackWalk, GivesUpAtCodeWithoutTable) {
    frame_without_table(&probe, &tally_);
    EXPECT_EQ(tally_.answered, 0);
}

// Code made at run time: mov rax, rdi; mov rdi, rsi; sub rsp, 8; call rax; add rsp, 8; ret.
TEST_F(StackWalk, GivesUpAtCodeMadeAtRunTime) {
    static const unsigned char kCode[] = {0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0x48, 0x83, 0xec,
                                          0x08, 0xff, 0xd0, 0x48, 0x83, 0xc4, 0x08, 0xc3};
    void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    std::memcpy(memory, kCode, sizeof(kCode));
    reinterpret_cast<void (*)(void (*)(void*), void*)>(memory)(&probe, &tally_);
    EXPECT_EQ(tally_.answered, 0);
    EXPECT_GT(tally_.walks, 0);
    munmap(memory, 4096);
}

Tally* g_tally;
void on_signal(int) {
    probe(g_tally);
}
TEST_F(StackWalk, LeavesSignalFramesToLibunwind) {
    g_tally = &tally_;
    struct sigaction action {};
    action.sa_handler = &on_signal;
    sigaction(SIGUSR1, &action, nullptr);
    raise(SIGUSR1);
    expect_right(tally_);
    EXPECT_EQ(tally_.answered, 0);
}
TEST_F(StackWalk, LeavesAlternateSignalStacksToLibunwind) {
    g_tally = &tally_;
    std::vector<char> memory(1 << 17);
    stack_t stack{};
    stack.ss_sp = memory.data();
    stack.ss_size = memory.size();
    ASSERT_EQ(sigaltstack(&stack, nullptr), 0);
    struct sigaction action {};
    action.sa_handler = &on_signal;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, nullptr);
    raise(SIGUSR1);
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, nullptr);
    expect_right(tally_);
    EXPECT_EQ(tally_.answered, 0);
}

// A coroutine's stack, with and without a guard page below the thread's own.
ucontext_t g_outside;
ucontext_t g_inside;
const ShapesLibrary& ordinary_shapes() {
    static const ShapesLibrary library("O2");
    return library;
}
void in_coroutine() {
    for (int seed = 0; seed < 20; ++seed) {
        ordinary_shapes().call(*g_tally, static_cast<std::uint64_t>(seed), 30);
    }
}
void run_coroutine(void* stack, std::size_t bytes) {
    getcontext(&g_inside);
    g_inside.uc_stack.ss_sp = stack;
    g_inside.uc_stack.ss_size = bytes;
    g_inside.uc_link = &g_outside;
    makecontext(&g_inside, &in_coroutine, 0);
    swapcontext(&g_outside, &g_inside);
}
TEST_F(StackWalk, LeavesCoroutinesToLibunwind) {
    g_tally = &tally_;
    constexpr std::size_t kBytes = 1 << 22;
    for (const bool in_thread : {false, true}) {
        const auto run = [&] {
            void* stack = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            ordinary_shapes().call(tally_, 1, 3);
            tally_ = {};
            run_coroutine(stack, kBytes);
            munmap(stack, kBytes);
        };
        if (in_thread) {
            std::thread(run).join();
        } else {
            run();
        }
        expect_right(tally_);
        EXPECT_EQ(tally_.answered, 0);
    }
}

// The program may provide a thread's stack.
TEST_F(StackWalk, OfAStackThatTheProgramProvides) {
    constexpr std::size_t kBytes = 1 << 22;
    void* stack = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, kBytes);
    g_tally = &tally_;
    pthread_t thread;
    ASSERT_EQ(pthread_create(
                  &thread, &attributes,
                  [](void*) -> void* {
                      in_coroutine();
                      return nullptr;
                  },
                  nullptr),
              0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    munmap(stack, kBytes);
    expect_all_answered(tally_);
}

// From the depth of a stack that was never looked at before, and from higher up afterwards.
__attribute__((noinline)) void recurse(int depth, void (*last)(void*), void* context) {
    volatile char page[4096];
    page[0] = 0;
    if (depth > 0) {
        recurse(depth - 1, last, context);
    } else {
        last(context);
    }
    page[1] = page[0];
}
TEST_F(StackWalk, OfADeepStack) {
    std::thread([&] {
        recurse(1000, &probe, &tally_);
        probe(&tally_);
        recurse(1500, &probe, &tally_);
    }).join();
    recurse(1500, &probe, &tally_);
    expect_all_answered(tally_);
    EXPECT_EQ(tally_.deepest, kMaxDepth);
}

// A frame that is none: the walk says so and reads nothing outside the stack.
TEST_F(StackWalk, RefusesFramesThatAreNone) {
    std::uintptr_t found[kMaxDepth];
    std::size_t count = 0;
    std::uintptr_t zeros[2] = {0, 0};
    int heap_like = 0;
    void* far = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (const std::uintptr_t frame :
         {std::uintptr_t{0}, std::uintptr_t{8}, ~std::uintptr_t{0} - 7, reinterpret_cast<std::uintptr_t>(zeros),
          reinterpret_cast<std::uintptr_t>(&heap_like) & ~std::uintptr_t{7}, reinterpret_cast<std::uintptr_t>(far)}) {
        StackWords words;
        EXPECT_FALSE(walk_stack({0x1234, frame}, 6, t_bounds, found, count, words));
        EXPECT_EQ(words.count, 0u);
        EXPECT_EQ(count, 1u);
        EXPECT_EQ(found[0], 0x1234u);
    }
    munmap(far, 4096);
}

}  // namespace
}  // namespace pincheck
