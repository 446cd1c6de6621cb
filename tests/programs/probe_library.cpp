// probe.h in a shared library: linked at start-up (lazy or BIND_NOW) or opened as a plugin.
#include "probe.h"

#ifndef PROBE_ENTRY
#define PROBE_ENTRY probe_in_library
#endif

extern "C" void PROBE_ENTRY(const char* who) {
    probe_weak(who);
    probe_by_name(who);
}
