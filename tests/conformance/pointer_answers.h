// Everything the driver and the runtime say about a pointer, as one line of text to compare.
#pragma once

#include <cstddef>
#include <string>

namespace conformance {

// Addresses are named: "pointer" for the pointer itself, "base" for `offset` bytes before it, "some" for contexts and
// pools. "-": the driver succeeded and wrote nothing. Numbers are hexadecimal. The tests that compare lines hold what
// an H200 with driver 580.159.04 said.
std::string said_of(const void* pointer, std::size_t offset = 0);

}  // namespace conformance
