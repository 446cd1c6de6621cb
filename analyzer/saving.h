// What page-locked memory would save a site, estimated from what page-locked copies cost in the same run. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "copy_times.h"

namespace pincheck {

struct Saving {
    enum class State {
        none,       // nothing to save: no finding about pageable memory
        given,      // `ns` at most
        withheld,   // cannot be told; `text` says why
        not_worth,  // page-locking costs more than it saves; `text` says how much
    };
    State state = State::none;
    std::uint64_t ns = 0;              // given
    std::uint64_t pinned_call_ns = 0;  // half of the page-locked calls took less; 0 when not known
    std::uint64_t pinned_size = 0;     // bytes of such a call: the least of its size class
    // given: what it assumes. withheld, not_worth: why.
    std::string text;
};

// Of a site that copies pageable memory asynchronously. `waited_for`: the thread's next call always waits for the copy.
// Such a copy, and every download, still takes the host the copy's own time; an upload only the call's.
Saving saving_of(const Capture& capture, const CopyTimesTable& times, const CaptureSite& site, bool waited_for);

}  // namespace pincheck
