#pragma once

namespace pincheck::trap {

// No thread of this process but the calling one blocks SIGSEGV in the kernel, as far as /proc tells; false where it
// cannot be read. No allocation.
bool every_other_thread_takes_signal() noexcept;

}  // namespace pincheck::trap
