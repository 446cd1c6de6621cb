// Copies, memsets and kernels between the call that issued them and their end.
#pragma once

#include "library.h"

namespace simcupti {

// For the observer's table (../observer.h).
bool work_issued(SimcudaWork* work);
void work_done(SimcudaWork* work);

// Until each work that has ended has its record. Not from inside the program's own functions: a record may wait for
// them.
void wait_for_records();

// Records without times for everything that has not ended; its end makes no record any more
// (CUPTI_ACTIVITY_FLAG_FLUSH_FORCED: "including the ones which have one or more incomplete activity records").
void give_up_works();
void forget_works();

}  // namespace simcupti
