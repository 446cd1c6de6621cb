// Call stacks of every shape that compilers make, for tests that walk them. The same source is built with different
// flags into libraries of which each has one function, `call_shapes`.
#pragma once

#include <cstdint>

struct Shapes {
    void (*probe)(void* context);  // called again and again, from deeper and deeper
    void* context;
    std::uint64_t seed;      // chooses the shapes
    bool only_small_frames;  // none above 64 KiB
};

using CallShapes = void (*)(Shapes* shapes, int depth);
