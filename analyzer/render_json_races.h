// The lists `races` and `reads` of the JSON export.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "capture.h"

namespace pincheck {

nlohmann::ordered_json races_json(const Capture& capture);
nlohmann::ordered_json reads_json(const Capture& capture);

}  // namespace pincheck
