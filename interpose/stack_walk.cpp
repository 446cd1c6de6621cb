#include "stack_walk.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "address_cache.h"
#include "elf_objects.h"
#include "frame_rule.h"
#include "log.h"
#include "unwinder_memory.h"

// Where the program's stack begins: the argument count, above every frame (glibc, part of its ABI).
extern "C" void* __libc_stack_end;

namespace pincheck {
namespace {

constexpr std::uintptr_t kPage = 4096;
// A stack deeper than that is not looked for. The main thread's and those that mmap gives are further apart (Linux
// keeps at least 128 MiB), so a look for one's end never makes the other grow.
constexpr std::uintptr_t kMaxStack = std::uintptr_t{64} << 20;

AddressCache<FrameRule::kBits, 8192> g_rules;

std::uintptr_t word_at(std::uintptr_t address) noexcept {
    return *reinterpret_cast<const std::uintptr_t*>(address);
}

__attribute__((noinline)) std::uint64_t find_rule_slowly(std::uintptr_t return_address) noexcept {
    std::uint64_t word = 0;
    if (g_rules.find(return_address, word)) {
        return word;
    }
    const KeepErrno keep;
    FrameRule rule = FrameRule::complex();
    for_each_object([&](const ElfObject& object) {
        if (!object.contains(return_address)) {
            return false;
        }
        rule = find_frame_rule(object, return_address);
        return true;
    });
    g_rules.insert(return_address, rule.bits());
    return rule.bits();
}

// Widens the bounds down to `frame`, if all that lies between is mapped.
__attribute__((noinline)) bool reach(std::uintptr_t frame, StackBounds& bounds) noexcept {
    const KeepErrno keep;
    if (bounds.high == 0) {
        bounds.high = stack_top();
        bounds.low = bounds.high & ~(kPage - 1);
    }
    if (frame >= bounds.high || bounds.high - frame > kMaxStack) {
        return false;
    }
    while (frame < bounds.low) {
        if (!can_be_read(reinterpret_cast<const void*>(bounds.low - kPage))) {
            return false;
        }
        bounds.low -= kPage;
    }
    return true;
}

// From code at `address`, whose stack pointer is `stack`; the word at `frame_pointer_at` is its frame pointer.
inline __attribute__((always_inline)) bool walk_on(std::uintptr_t address, std::uintptr_t stack,
                                                   std::uintptr_t frame_pointer_at, std::size_t depth,
                                                   std::uintptr_t high, std::uintptr_t* addresses, std::size_t& count,
                                                   StackWords& words) noexcept {
    while (count < depth) {
        std::uint64_t word = 0;
        if (!g_rules.find_first(address, word)) {
            word = find_rule_slowly(address);
        }
        const FrameRule rule(word);
        std::uintptr_t end = stack;  // of the frame: its CFA
        std::uintptr_t frame_pointer = 0;
        if (!rule.is_plain() || rule.from_frame_pointer()) {
            frame_pointer = word_at(frame_pointer_at);
            words.add(frame_pointer_at, frame_pointer);
            end = frame_pointer;
        }
        if (rule.is_plain()) [[likely]] {
            end += rule.offset();
            frame_pointer_at = rule.is_saved() ? end - rule.saved_below() : frame_pointer_at;
        } else if (rule.is_aligned()) {
            const std::uintptr_t slot = frame_pointer - rule.aligned_below();
            if (slot < stack || frame_pointer < slot || frame_pointer > high - 8) {
                return false;
            }
            end = word_at(slot);
            words.add(slot, end);
            frame_pointer_at = frame_pointer;
        } else {
            return rule.is_end();
        }
        if (end <= stack || end > high) {
            return false;
        }
        address = word_at(end - 8);
        words.add(end - 8, address);
        stack = end;
        addresses[count++] = address;
    }
    return true;
}

inline __attribute__((always_inline)) bool walk(const Caller& caller, std::size_t depth, StackBounds& bounds,
                                                std::uintptr_t* addresses, std::size_t& count,
                                                StackWords& words) noexcept {
    addresses[0] = caller.return_address;
    count = 1;
    const std::uintptr_t frame = caller.frame;
    if ((frame < bounds.low || frame >= bounds.high) && !reach(frame, bounds)) {
        return false;
    }
    // A hook's frame begins with the caller's frame pointer and the return address (PINCHECK_CALLER sees to that).
    std::uintptr_t address = word_at(frame + 8);
    if (address != caller.return_address) {
        return false;
    }
    words.add(frame + 8, address);
    // Nothing is read below `stack` but what a prologue pushed, which lies above this function's own frame.
    return walk_on(address, frame + 16, frame, depth, bounds.high, addresses, count, words);
}

}  // namespace

// The first address above the thread's own frames. glibc puts a thread's descriptor, which pthread_self() is the
// address of, at the upper end of its stack, in one the program provides too; not so for the main thread.
std::uintptr_t stack_top() noexcept {
    const bool is_main = syscall(SYS_gettid) == getpid();
    return is_main ? reinterpret_cast<std::uintptr_t>(__libc_stack_end) : static_cast<std::uintptr_t>(pthread_self());
}

std::atomic<std::uint32_t> g_frames_epoch{0};

bool walk_stack(const Caller& caller, std::size_t depth, StackBounds& bounds, std::uintptr_t* addresses,
                std::size_t& count, StackWords& words) noexcept {
    words.epoch = g_frames_epoch.load(std::memory_order_acquire);
    words.frame = caller.frame;
    words.count = 0;
    const bool answered = walk(caller, depth, bounds, addresses, count, words);
    if (!answered || words.count > StackWords::kMost) {
        words.count = 0;
    }
    return answered;
}

bool walk_stack(const Registers& registers, std::size_t depth, StackBounds& bounds, std::uintptr_t* addresses,
                std::size_t& count) noexcept {
    addresses[0] = registers.instruction + 1;
    count = 1;
    StackWords words{};
    return ((registers.stack >= bounds.low && registers.stack < bounds.high) || reach(registers.stack, bounds)) &&
           walk_on(addresses[0], registers.stack, reinterpret_cast<std::uintptr_t>(&registers.frame), depth,
                   bounds.high, addresses, count, words);
}

void forget_frames() noexcept {
    g_rules.clear();
    g_frames_epoch.fetch_add(1, std::memory_order_release);
}

}  // namespace pincheck
