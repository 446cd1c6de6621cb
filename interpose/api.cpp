#include "api.h"

#include "elf_objects.h"

namespace pincheck {

int row_for_name(const char* name, int version, bool per_thread) noexcept {
    if (version > kNewestVersion) {
        return -1;  // a newer function may have another argument list
    }
    int best = -1;
    for (std::size_t i = 0; i < kApiCount; ++i) {
        const ApiInfo& row = kApis[i];
        if (row.side != Side::driver || row.since > version || !same_text(row.lookup, name)) {
            continue;
        }
        const Variant wanted = per_thread ? Variant::per_thread : Variant::legacy;
        if (row.variant != Variant::none && row.variant != wanted) {
            continue;
        }
        if (best < 0 || kApis[best].since < row.since) {
            best = static_cast<int>(i);
        }
    }
    return best;
}

}  // namespace pincheck
