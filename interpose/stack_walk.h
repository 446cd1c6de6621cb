// The calling thread's return addresses by rules that are looked up once for each of them (x86-64): what a call at a
// known site can afford. Gives what libunwind gives, or nothing: a stack with a frame that needs more than a rule
// (a signal's, code without unwind tables) is libunwind's as a whole, so that one call path has one key.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "stack.h"

namespace pincheck {

// The part of a thread's stack that was found to be mapped: [low, high). A thread's own stack stays mapped while it
// runs, so no address in it needs a look before it is read, whatever a wrong table or a rule of a library that is gone
// says. Other stacks (coroutines, alternate signal stacks) have no such bounds and are not walked.
struct StackBounds {
    std::uintptr_t low = 0;
    std::uintptr_t high = 0;
};

// The words that a walk went by: as long as they stay as they were, so does its result.
struct StackWords {
    static constexpr std::uint32_t kMost = 20;
    struct Word {
        std::uintptr_t address;
        std::uintptr_t value;
    };
    std::uint32_t epoch;  // of the rules
    std::uint32_t count;  // 0: there are too many, or the walk did not get to its end
    std::uintptr_t frame;
    Word words[kMost];

    void add(std::uintptr_t address, std::uintptr_t value) noexcept {
        if (count < kMost) {
            words[count] = {address, value};
        }
        ++count;
    }
};

// Changes when rules are forgotten.
extern std::atomic<std::uint32_t> g_frames_epoch;

// True when a walk from `caller` would go by the same words again. The words were those of the calling thread's stack.
inline bool is_unchanged(const StackWords& words, const Caller& caller) noexcept {
    if (words.frame != caller.frame || words.count == 0 ||
        words.epoch != g_frames_epoch.load(std::memory_order_relaxed)) {
        return false;
    }
    for (const StackWords::Word *word = words.words, *end = word + words.count; word != end; ++word) {
        if (*reinterpret_cast<const std::uintptr_t*>(word->address) != word->value) {
            return false;
        }
    }
    return true;
}

// Frames from `caller` outwards, at most `depth` (at least 1). False: not possible; `count` addresses are right all the
// same. `bounds` are the calling thread's and kept between its calls. No lock, no system call for a known path; errno
// is kept.
bool walk_stack(const Caller& caller, std::size_t depth, StackBounds& bounds, std::uintptr_t* addresses,
                std::size_t& count, StackWords& words) noexcept;

// The registers of a thread that was stopped at an instruction.
struct Registers {
    std::uintptr_t instruction;
    std::uintptr_t stack;
    std::uintptr_t frame;  // rbp
};
// The same from the instruction outwards, of the calling thread, in a signal's handler. The first address is one past
// the instruction's, as if it were a call that returns there: whoever looks for its line goes back by one.
bool walk_stack(const Registers& registers, std::size_t depth, StackBounds& bounds, std::uintptr_t* addresses,
                std::size_t& count) noexcept;

// The first address above the calling thread's own frames.
std::uintptr_t stack_top() noexcept;

// Objects were unmapped: their addresses may mean other code.
void forget_frames() noexcept;

}  // namespace pincheck
