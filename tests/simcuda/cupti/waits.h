// Waits of the host: records of synchronisation and overhead, and the callbacks of the synchronisation domain.
#pragma once

#include "activity_buffers.h"
#include "library.h"

namespace simcupti {

// For the observer's table (../observer.h).
void waited(const SimcudaWait* wait);

void report_buffer_request(Queue& queue, std::uint64_t start, std::uint64_t end);

}  // namespace simcupti
