// The body of copies.h in a plugin that is linked with the driver; plugin_host opens it.
#include "api_driver.h"
// Comes after the API.
#include "copies.h"

extern "C" int plugin_main() {
    return copies_main();
}
