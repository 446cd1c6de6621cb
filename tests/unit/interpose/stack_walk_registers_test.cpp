// The walk from the registers of a stopped thread against libunwind's, at every single instruction of code of every
// shape: prologues and epilogues, the C library's code and what lies between. Where both get to the end, both answer
// the same; where one cannot, what it has found is the beginning of the other's answer.
#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <libunwind.h>
#include <signal.h>
#include <ucontext.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "call_shapes.h"
#include "interpose/elf_objects.h"
#include "interpose/stack_walk.h"
#include "interpose/unwind_table.h"

namespace pincheck {
namespace {

constexpr std::size_t kDepth = 32;

struct Libunwind {
    int (*init)(unw_cursor_t*, unw_context_t*, int) = nullptr;
    int (*step)(unw_cursor_t*) = nullptr;
    int (*get_register)(unw_cursor_t*, int, unw_word_t*) = nullptr;
};
Libunwind g_libunwind;

bool open_libunwind() {
    process_started();
    void* library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
    const auto find = [&](auto& function, const char* name) {
        function =
            library != nullptr ? reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name)) : nullptr;
        return function != nullptr;
    };
    return find(g_libunwind.init, "_ULx86_64_init_local2") && find(g_libunwind.step, "_ULx86_64_step") &&
           find(g_libunwind.get_register, "_ULx86_64_get_reg");
}

struct Tally {
    long instructions = 0;
    long answered = 0;
    long ended = 0;  // by libunwind
    long wrong = 0;
    std::size_t deepest = 0;
};
Tally g_tally;
StackBounds g_bounds;
std::uintptr_t g_outermost;  // return address of the thread's first function, from the first instruction stopped at

bool is_start_of_function(std::uintptr_t address) {
    bool is_start = false;
    for_each_object([&](const ElfObject& object) {
        UnwindEntry entry;
        is_start = object.contains(address) && find_unwind_entry(object, address, entry) && entry.begin == address;
        return object.contains(address);
    });
    return is_start;
}

// The instruction pointers from the stopped one outwards; the first as if it were a return address. `ended`: the last
// is the thread's first function, or they are as many as were asked for. That there are no more is not enough: while an
// exception's handler is being entered, its address has replaced the one that says where the frame lies. From a stopped
// thread libunwind 1.6.2 looks for the code at return addresses, instead of in front of them, and so in the next
// function where a call that never returns is the last of its own: what it makes of that is no answer.
std::size_t by_libunwind(ucontext_t& stopped, std::uintptr_t* addresses, bool& ended) {
    ended = false;
    unw_cursor_t cursor;
    if (g_libunwind.init(&cursor, &stopped, UNW_INIT_SIGNAL_FRAME) != 0) {
        return 0;
    }
    std::size_t count = 0;
    int step = 0;
    do {
        unw_word_t address = 0;
        if (g_libunwind.get_register(&cursor, UNW_REG_IP, &address) != 0 || address == 0) {
            step = 0;
            break;
        }
        if (count != 0 && is_start_of_function(address)) {
            addresses[count++] = address;
            return count;
        }
        addresses[count] = address + (count == 0 ? 1 : 0);
        ++count;
    } while (count < kDepth && (step = g_libunwind.step(&cursor)) > 0);
    if (g_outermost == 0 && step == 0 && count != 0) {
        g_outermost = addresses[count - 1];
    }
    ended = step > 0 || (count != 0 && addresses[count - 1] == g_outermost);
    return count;
}

void on_step(int, siginfo_t*, void* context) {
    auto& stopped = *static_cast<ucontext_t*>(context);
    const auto& registers = stopped.uc_mcontext.gregs;
    std::uintptr_t found[kDepth];
    std::size_t count = 0;
    const bool answered = walk_stack(
        Registers{static_cast<std::uintptr_t>(registers[REG_RIP]), static_cast<std::uintptr_t>(registers[REG_RSP]),
                  static_cast<std::uintptr_t>(registers[REG_RBP])},
        kDepth, g_bounds, found, count);
    std::uintptr_t expected[kDepth] = {};
    bool ended = false;
    const std::size_t right = by_libunwind(stopped, expected, ended);
    ++g_tally.instructions;
    g_tally.answered += answered ? 1 : 0;
    g_tally.deepest = std::max(g_tally.deepest, count);
    g_tally.ended += ended ? 1 : 0;
    const bool right_count = answered && ended ? count == right : answered ? count >= right : !ended || count <= right;
    // What says that it got to the end got there.
    const bool right_end = !answered || count == kDepth || found[count - 1] == g_outermost;
    g_tally.wrong += right_count && right_end && std::equal(found, found + std::min(count, right), expected) ? 0 : 1;
}

// One instruction after the other stops the thread (bit 8 of the flags: the trap flag).
[[gnu::noinline]] void start_stepping() {
    asm volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::: "cc", "memory");
}
[[gnu::noinline]] void stop_stepping() {
    asm volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" ::: "cc", "memory");
}

class StackWalkOfInstructions : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        ASSERT_TRUE(open_libunwind()) << "libunwind.so.8 is missing";
        struct sigaction action {};
        action.sa_sigaction = &on_step;
        action.sa_flags = SA_SIGINFO;
        sigaction(SIGTRAP, &action, &before_);
        g_tally = Tally{};
        g_outermost = 0;
    }
    void TearDown() override { sigaction(SIGTRAP, &before_, nullptr); }

  private:
    struct sigaction before_ {};
};
INSTANTIATE_TEST_SUITE_P(Of, StackWalkOfInstructions,
                         testing::Values("O0", "O2", "O3", "Os", "frame_pointer", "no_frame_pointer", "c_like"));

// Uses the C library: text and memory, by whatever the processor has.
void use_libc(void*) {
    static char text[256];
    static char copy[256];
    std::snprintf(text, sizeof text, "%s %d %.3f", "a", 17, 2.5);
    std::memcpy(copy, text, sizeof copy);
}

TEST_P(StackWalkOfInstructions, IsThatOfLibunwindAtEachOfThem) {
    const std::string path = std::string(PINCHECK_CALL_SHAPES) + "/libcall_shapes_" + GetParam() + ".so";
    void* library = dlopen(path.c_str(), RTLD_NOW);
    ASSERT_NE(library, nullptr) << dlerror();
    const auto call = reinterpret_cast<CallShapes>(dlsym(library, "call_shapes"));
    ASSERT_NE(call, nullptr);
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
        Shapes shapes{&use_libc, nullptr, seed, true};
        call(&shapes, 3);  // what the loader binds lazily is bound
        start_stepping();
        call(&shapes, 3 + static_cast<int>(seed));
        stop_stepping();
    }
    EXPECT_GT(g_tally.instructions, 1000);
    EXPECT_EQ(g_tally.wrong, 0);
    EXPECT_GT(g_tally.ended, g_tally.instructions / 2);
    // Not answered: inside frames that need more than a rule.
    EXPECT_GT(g_tally.answered, g_tally.instructions / 2);
    EXPECT_GT(g_tally.deepest, 8u);
}

TEST(StackWalkOfRegisters, stacks_that_are_not_the_threads_own_are_left_alone) {
    process_started();
    char elsewhere[64] = {};
    StackBounds bounds;
    std::uintptr_t found[kDepth];
    std::size_t count = 0;
    const auto code = reinterpret_cast<std::uintptr_t>(&use_libc);
    for (const std::uintptr_t stack : {std::uintptr_t{0}, std::uintptr_t{8}, ~std::uintptr_t{7}}) {
        EXPECT_FALSE(walk_stack(Registers{code, stack, reinterpret_cast<std::uintptr_t>(elsewhere)}, kDepth, bounds,
                                found, count));
        EXPECT_EQ(count, 1u);
        EXPECT_EQ(found[0], code + 1);
    }
}

}  // namespace
}  // namespace pincheck
