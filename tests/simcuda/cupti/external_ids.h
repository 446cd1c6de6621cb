// Numbers of the program's own that it pushes and pops, by thread and kind.
#pragma once

#include "activity_buffers.h"

namespace simcupti {

// A record for each kind whose stack is not empty, if such records are wanted.
void append_external_ids(Queue& queue, std::uint32_t correlation);

}  // namespace simcupti
