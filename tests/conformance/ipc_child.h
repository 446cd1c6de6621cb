// The other process of the tests of IPC memory: this program once more, in a role that an environment variable names.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <optional>

namespace conformance {

// The bytes of the memory before the child has had it, and after.
constexpr char before_child(std::size_t i) {
    return static_cast<char>(i * 131 + (i >> 8));
}
constexpr char after_child(std::size_t i) {
    return static_cast<char>(i * 29 + 7 + (i >> 10));
}

enum class Role {
    exchange,    // finds before_child in the memory, leaves after_child there
    open_twice,  // opens the handle twice and closes it twice
    wait,        // copies behind a kernel
};

// Runs the role in a new process, with the handle of memory of `size` bytes. 0 when it found everything as it should
// be; otherwise it said on stderr what was not. -1 when the process did not come to be or did not end by itself.
int run_child(Role role, const cudaIpcMemHandle_t& handle, std::size_t size);

// For main: the status to end with when the process was started for a role.
std::optional<int> play_role();

}  // namespace conformance
