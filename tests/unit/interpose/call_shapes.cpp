#include "call_shapes.h"

#include <alloca.h>
#include <setjmp.h>

#include <cstdarg>
#include <cstdlib>
#include <cstring>

#define NOINLINE __attribute__((noinline))

namespace {

NOINLINE void step(Shapes& shapes, int depth);

std::uint64_t random_below(Shapes& shapes, std::uint64_t limit) {
    shapes.seed = shapes.seed * 6364136223846793005u + 1442695040888963407u;
    return (shapes.seed >> 33) % limit;
}

// Keeps a frame from being optimised away, and its address from being known.
NOINLINE void use(volatile void* memory) {
    asm volatile("" : : "r"(memory) : "memory");
}

NOINLINE void small_frame(Shapes& shapes, int depth) {
    volatile int local = depth;
    step(shapes, depth);
    use(&local);
}
template <std::size_t kBytes>
NOINLINE void frame_of(Shapes& shapes, int depth) {
    char local[kBytes];
    use(local);
    step(shapes, depth);
    use(local);
}
NOINLINE void dynamic_frame(Shapes& shapes, int depth) {
    void* local = alloca(random_below(shapes, 500) + 1);
    use(local);
    step(shapes, depth);
    use(local);
}
template <std::size_t kAlignment>
NOINLINE void aligned_frame(Shapes& shapes, int depth) {
    alignas(kAlignment) char local[2 * kAlignment];
    use(local);
    step(shapes, depth);
    use(local);
}
NOINLINE void aligned_dynamic_frame(Shapes& shapes, int depth) {
    alignas(64) char local[64];
    use(local);
    use(alloca(random_below(shapes, 300) + 1));
    step(shapes, depth);
    use(local);
}
NOINLINE std::uint64_t many_registers(Shapes& shapes, int depth, std::uint64_t a, std::uint64_t b, std::uint64_t c,
                                      std::uint64_t d, std::uint64_t e, std::uint64_t f, std::uint64_t g) {
    const std::uint64_t x = a * b + c, y = d * e + f, z = g ^ a, w = b ^ c;
    step(shapes, depth);
    return x ^ (y * a) ^ (z + b) ^ (w * c) ^ d ^ e ^ f ^ g;
}
NOINLINE void pushed_arguments(Shapes& shapes, int depth) {
    const std::uint64_t a = random_below(shapes, 100);
    std::uint64_t result = many_registers(shapes, depth, a, a + 1, a + 2, a + 3, a + 4, a + 5, a + 6);
    result += many_registers(shapes, -1, a, 1, a, 2, a, 3, a);
    use(&result);
}
NOINLINE void variadic(Shapes& shapes, int depth, ...) {
    va_list arguments;
    va_start(arguments, depth);
    volatile int first = va_arg(arguments, int);
    va_end(arguments);
    step(shapes, depth);
    use(&first);
}

// Through libc, whose own frames lie between.
thread_local Shapes* t_shapes;
thread_local int t_depth;
int compare(const void* a, const void* b) {
    const int depth = t_depth;
    t_depth = -1;
    if (depth >= 0) {
        step(*t_shapes, depth);
    }
    return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}
NOINLINE void through_libc(Shapes& shapes, int depth) {
    int numbers[] = {3, 1, 2};
    t_shapes = &shapes;
    t_depth = depth;
    std::qsort(numbers, 3, sizeof(int), &compare);
    use(numbers);
}

// The call is the last instruction: its return address lies behind the function.
[[noreturn]] NOINLINE void does_not_return(Shapes& shapes, int depth, jmp_buf& back) {
    step(shapes, depth);
    longjmp(back, 1);
}
[[noreturn]] NOINLINE void ends_in_a_call(Shapes& shapes, int depth, jmp_buf& back) {
    volatile int local = depth;
    use(&local);
    does_not_return(shapes, depth, back);
}
NOINLINE void left_by_a_jump(Shapes& shapes, int depth) {
    jmp_buf back;
    if (setjmp(back) == 0) {
        ends_in_a_call(shapes, depth, back);
    }
}

struct Large {
    std::uint64_t words[9];
};
NOINLINE Large returns_much(Shapes& shapes, int depth) {
    Large large;
    std::memset(&large, depth, sizeof(large));
    use(&large);
    step(shapes, depth);
    return large;
}

#ifdef __EXCEPTIONS
struct Steps {
    Shapes& shapes;
    int depth;
    ~Steps() { step(shapes, depth); }
};
NOINLINE void in_a_handler(Shapes& shapes, int depth) {
    try {
        const Steps in_cleanup{shapes, depth / 2};
        use(&shapes);
        throw depth;
    } catch (int thrown) {
        step(shapes, thrown);
    }
}
#endif

// A sibling call: this function's frame is gone when the next one runs.
NOINLINE void tail(Shapes& shapes, int depth) {
    return step(shapes, depth);
}

NOINLINE void step(Shapes& shapes, int depth) {
    if (depth < 0) {
        return;
    }
    if (depth == 0 || random_below(shapes, 4) == 0) {
        shapes.probe(shapes.context);
    }
    if (depth == 0) {
        return;
    }
    const int next = depth - 1;
    switch (random_below(shapes, 14)) {
        case 0:
            return frame_of<24>(shapes, next);
        case 1:
            return frame_of<8000>(shapes, next);
        case 2:
            return shapes.only_small_frames ? frame_of<60000>(shapes, next) : frame_of<100000>(shapes, next);
        case 3:
            return dynamic_frame(shapes, next);
        case 4:
            return aligned_frame<32>(shapes, next);
        case 5:
            return aligned_frame<128>(shapes, next);
        case 6:
            return aligned_dynamic_frame(shapes, next);
        case 7:
            return pushed_arguments(shapes, next);
        case 8:
            return variadic(shapes, next, 1, 2.0, "3");
        case 9:
            return through_libc(shapes, next);
        case 10:
            return left_by_a_jump(shapes, next);
        case 11: {
            Large large = returns_much(shapes, next);
            return use(&large);
        }
#ifdef __EXCEPTIONS
        case 12:
            return in_a_handler(shapes, next);
#endif
        case 13:
            return tail(shapes, next);
        default:
            return small_frame(shapes, next);
    }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void call_shapes(Shapes* shapes, int depth) {
    step(*shapes, depth);
}
