// Executable graphs: which copies a launch does (GraphBook), and counting them when it is launched.
#pragma once

#include "copy_shape.h"
#include "hook_simple.h"

namespace pincheck {

class GraphHook : public SimpleHook {
  public:
    using SimpleHook::SimpleHook;

    // Between before() and after() of a call that succeeded. `graph` was instantiated as, or updated into,
    // `executable`.
    void instantiated(void* executable, void* graph) noexcept;
    void updated(void* executable, void* graph) noexcept;
    // One node of `executable` got other parameters.
    void node_changed(void* executable, void* node, const CopyArguments& work) noexcept;
    void node_enabled(void* executable, void* node, bool enabled) noexcept;
    void child_changed(void* executable, void* node, void* graph) noexcept;
    // Before the launch: is it executed, or does it become part of a graph? After it: every copy and fill that it does
    // is counted. The launch's time goes to those that make it wait (pageable and managed memory), shared evenly.
    // Returns the bytes that the copies move.
    bool is_executed(void* stream) const noexcept;
    std::uint64_t now() const noexcept;
    // Around the real launch: CUPTI's records of what the graph copies are of the launch.
    void device_call_begins() noexcept;
    void device_call_ends(std::uint64_t end_ns) noexcept;
    std::uint64_t launched(void* executable, std::uint64_t end_ns) noexcept;
};

}  // namespace pincheck
