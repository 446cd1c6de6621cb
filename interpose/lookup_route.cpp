#include "lookup_route.h"

#include <atomic>

#include "bypass.h"
#include "coverage.h"
#include "elf_objects.h"
#include "exports.h"
#include "lifecycle.h"
#include "log.h"
#include "real.h"

namespace pincheck {
namespace {

// CUDA Driver API, cuGetProcAddress: CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM.
constexpr std::uint64_t kPerThreadFlag = 1u << 1;

int row_in(const Driver& driver, const void* address) noexcept {
    for (std::size_t i = 0; i < kApiCount; ++i) {
        if (driver.functions[i] == address) {
            return static_cast<int>(i);
        }
    }
    return -1;
}

bool is_listed(const char* name) noexcept {
    for (const ApiInfo& row : kApis) {
        if (row.side == Side::driver && same_text(row.lookup, name)) {
            return true;
        }
    }
    return false;
}

const char* listed_name(const char* name) noexcept {
    for (const ApiInfo& row : kApis) {
        if (row.side == Side::driver && same_text(row.lookup, name)) {
            return row.lookup;
        }
    }
    return name;
}

}  // namespace

int row_for_address(const void* address) noexcept {
    const Driver* known = driver();
    const int row = known != nullptr ? row_in(*known, address) : -1;
    if (row >= 0) {
        return row;
    }
    // Perhaps the driver was unloaded and loaded anew.
    const Driver* current = find_driver_again();
    return current != nullptr && current != known ? row_in(*current, address) : -1;
}

int replace_looked_up(int status, const Lookup& lookup) noexcept {
    if (status != 0 || lookup.function == nullptr || *lookup.function == nullptr || lookup.name == nullptr) {
        return status;
    }
    const KeepErrno keep;
    process_started();
    // Hundreds of look-ups in a row come from one place.
    static std::atomic<std::uintptr_t> last_caller{0};
    if (last_caller.exchange(lookup.caller.return_address, std::memory_order_relaxed) != lookup.caller.return_address) {
        note_lookup_from(lookup.caller.return_address);
        note_asker(lookup.caller.return_address);
    }
    if (!is_listed(lookup.name)) {
        if (moves_memory(lookup.name)) {
            note_unlisted(lookup.name);
        }
        return status;
    }
    int row = row_for_address(*lookup.function);
    if (row < 0) {
        const Driver* known = driver();
        row = row_for_name(lookup.name, lookup.version, (lookup.flags & kPerThreadFlag) != 0);
        // Without the function's own export in this driver there would be nothing to call.
        if (row < 0 || known == nullptr || known->functions[row] == nullptr) {
            note_unknown_address(listed_name(lookup.name));
            return status;
        }
    }
    *lookup.function = wrapper_of(static_cast<Api>(row));
    note_route(Route::lookup);
    return status;
}

}  // namespace pincheck
