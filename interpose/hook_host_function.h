// Host functions in streams: the program's function is called through one of ours, since its start tells the host that
// everything before it in its stream is complete, and its end that work behind it may run (Streams::gate_opened).
//
// Not in a capture: there the function becomes a node, whose parameters the program may ask for.
#pragma once

#include <cstdint>

#include "hook_stream.h"

namespace pincheck {

using HostFunction = void (*)(void* data);
using StreamCallback = void (*)(void* stream, int status, void* data);

// One host function that was put into a stream, until it has run and the call that put it in has returned.
struct HostCall;

// Null: pass the program's own function on (nothing is followed here, or no memory).
HostCall* new_host_call(const StreamCall& call, HostFunction function, StreamCallback callback, void* data) noexcept;
// After the real call.
void host_call_issued(StreamCall& call, HostCall* host, int status) noexcept;

void run_host_function(void* host_call);
void run_stream_callback(void* stream, int status, void* host_call);

}  // namespace pincheck
