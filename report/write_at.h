// The one way a snapshot reaches the file. A unit of its own so that a test can put another in its place and stop, cut
// or refuse any single write.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pincheck::report {

// As pwrite: bytes written, or -1 with errno set.
long write_at(int descriptor, const void* data, std::size_t bytes, std::uint64_t offset) noexcept;

}  // namespace pincheck::report
