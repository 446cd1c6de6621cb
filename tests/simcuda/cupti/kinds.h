// Which kinds of records are wanted: everywhere, and by context.
#pragma once

#include "library.h"

namespace simcupti {

// `context` is an id; 0 where the record belongs to none. What was said for a context goes before what was said for all
// (cupti_activity.h, cuptiActivityEnableContext).
bool wanted(CUpti_ActivityKind kind, std::uint32_t context = 0);
// Whether any kind is wanted whose times are kept in device memory, in any context.
bool device_kinds_wanted();

void forget_kinds();

}  // namespace simcupti
