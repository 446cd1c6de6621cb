// The functions that nvcc makes of a kernel for `kernel<<<…>>>()`: they lie in the user's own module, and the innermost
// of the user's source lines is the kernel's first line instead of the launch.
#pragma once

#include <vector>

#include "capture.h"

namespace pincheck {

// Marks the kernel's host function (SourceLine::launch_stub) where the stub that it calls is on the stack: in the same
// frame or, where it was not inlined, in the one before.
void mark_launch_stubs(std::vector<CaptureFrame>& stack);

}  // namespace pincheck
