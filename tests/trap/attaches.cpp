// Preloaded after libpincheck-trap.so, into programs that know nothing of it: attaches before they begin.
#include "guards.h"

namespace {

__attribute__((constructor)) void begin() {
    guards::memory();
    if (!guards::attach()) {
        guards::note("not attached\n");
    }
}

}  // namespace
