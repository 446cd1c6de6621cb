// Calls of API functions: callbacks of the driver and runtime domains, and the records of calls.
#pragma once

#include "library.h"
#include "subscriber.h"

namespace simcupti {

// For the observer's table (../observer.h).
void call_begins(SimcudaCall* call);
void call_ends(SimcudaCall* call, int result);

}  // namespace simcupti
