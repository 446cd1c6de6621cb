#include "staging.h"

#include <condition_variable>
#include <mutex>

#include "settings.h"

namespace simcuda {
namespace {

constexpr std::size_t kOverhead =
    192;  // of a small copy in the ring; with the ring's size it gives the measured counts

struct Staging {
    std::mutex mutex;
    std::condition_variable freed;
    std::size_t ring = 0;
    int slots = 0;
    std::size_t large = 0;
};

Staging& staging() {
    static Staging& instance = *new Staging;
    return instance;
}

}  // namespace

bool acquire_staging(std::size_t bytes) {
    const Settings& limits = settings();
    const bool small = bytes <= kSmallStaged;
    if (bytes > limits.staging_limit)
        return false;
    if (small ? bytes + kOverhead > limits.staging_bytes : limits.staging_slots <= 0)
        return false;
    Staging& now = staging();
    std::unique_lock lock(now.mutex);
    now.freed.wait(lock, [&] {
        return small ? now.ring + bytes + kOverhead <= limits.staging_bytes
                     : now.slots < limits.staging_slots && now.large + bytes <= limits.staging_limit;
    });
    if (small) {
        now.ring += bytes + kOverhead;
    } else {
        ++now.slots;
        now.large += bytes;
    }
    return true;
}

void release_staging(std::size_t bytes) {
    Staging& now = staging();
    std::lock_guard lock(now.mutex);
    if (bytes <= kSmallStaged) {
        now.ring -= bytes + kOverhead;
    } else {
        --now.slots;
        now.large -= bytes;
    }
    now.freed.notify_all();
}

}  // namespace simcuda
