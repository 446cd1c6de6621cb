// Numbers of the API functions (cupti_driver_cbid.h, cupti_runtime_cbid.h) and names of everything.
#pragma once

#include <string_view>

#include "library.h"

namespace simcupti {

// Of the function that the driver or the runtime exports under this name; 0 for one without a number. The runtime's
// have a version in the header's names only; the newest counts.
std::uint32_t id_of(CUpti_CallbackDomain domain, std::string_view symbol);

}  // namespace simcupti
