// The device memory that the library takes in every context to keep the times of copies and kernels in
// (cupti_activity.h, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE).
#pragma once

#include "library.h"

namespace simcupti {

// In contexts that have none yet.
void take_memory_everywhere();
void give_back_memory();

// False: the context had no room, and its records have no times.
bool has_memory(std::uint32_t context);

// For the observer's table (../observer.h).
void context_created(const SimcudaContextName* context);
void context_destroyed(const SimcudaContextName* context);

}  // namespace simcupti
