// What makes a finding the same one in another run, on another machine, of another build.
#pragma once

#include <string>
#include <string_view>

#include "capture.h"
#include "origin.h"

namespace pincheck {

struct Finding;

// `fingerprint` ("v1:" and 16 hexadecimal digits) is made from the rule, the cause, the API, the direction and the
// classes of a copy's memory, and the names of the innermost user's functions and their modules; of races from both
// parties. It has no address, line number, build-id, path or counter in it, so that it survives edits elsewhere in a
// file, rebuilds, address randomisation, and the order and number of processes.
//
// `place` tells findings of one fingerprint apart (two copies in one function) by file names and lines, or by offsets
// in modules without debug information. It changes when lines shift. Findings of one fingerprint and place are one.
//
// Only frames that the recorder tells sites apart by count: of sites that are not exact_stack the stack is the first
// call's. Not told apart, or not the same again: overloads and instantiations of one function (one fingerprint);
// functions without a name (all of a stripped module are one fingerprint: its copies are then told apart by their
// number alone); functions that were renamed, moved to another module, or, without debug information, inlined
// differently.
struct Identity {
    std::string fingerprint;
    std::string place;
};

Identity identity_of(const Capture& capture, const Finding& finding, const Origins& origins);

// "ns::copy<float>(float*) [clone .cold]" and "ns::copy.part.0": "ns::copy".
std::string stable_function(std::string_view function);
// "/opt/lib/libfoo-1.2.so.3.4 (deleted)": "libfoo".
std::string stable_module(std::string_view path);
// "cuMemcpyHtoDAsync_v2_ptsz": "cuMemcpyHtoDAsync".
std::string stable_api(std::string_view api);

}  // namespace pincheck
