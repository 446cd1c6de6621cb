// Events.
#pragma once

#include <memory>

#include "capture.h"
#include "stream.h"

namespace simcuda {

struct Event {
    Context* context = nullptr;
    unsigned flags = 0;
    CompletionPtr recorded;                 // null: never recorded, which counts as complete
    std::shared_ptr<Capture> capture;       // of a record in a capturing stream
    std::vector<GraphNode*> captured_tail;  // the nodes that the record stands for
};
using EventPtr = std::shared_ptr<Event>;

EventPtr find_event(CUevent handle);

}  // namespace simcuda
