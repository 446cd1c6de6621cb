// Copies of every kind through the driver API; see copies.h. Built once for each way of finding the driver's functions,
// which api_driver.h lists.
#include "api_driver.h"
// Comes after the API.
#include "copies.h"

int main() {
    return copies_main();
}
