// The one subscriber of the process and the callbacks that it has enabled.
#pragma once

#include "library.h"

namespace simcupti {

bool callback_enabled(CUpti_CallbackDomain domain, CUpti_CallbackId id);
// Calls the subscriber's function if it has enabled this one, and not from inside a function of the program's.
void call_back(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data);

void unsubscribe_all();

}  // namespace simcupti
