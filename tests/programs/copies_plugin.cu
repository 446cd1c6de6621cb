// The body of copies.h in a plugin whose DT_NEEDED names the shared runtime; plugin_host opens it RTLD_LOCAL.
#include "api_runtime.h"
// Comes after the API.
#include "copies.h"

extern "C" int plugin_main() {
    return copies_main();
}
