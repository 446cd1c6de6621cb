#include "settings.h"

#include <cstdlib>
#include <cstring>

namespace simcuda {
namespace {

const char* text(const char* name, const char* fallback) {
    const char* value = std::getenv(name);
    return value && *value ? value : fallback;
}

double number(const char* name, double fallback) {
    const char* value = text(name, nullptr);
    return value ? std::strtod(value, nullptr) : fallback;
}

Settings read_environment() {
    Settings s;
    s.driver_version = static_cast<int>(number("SIMCUDA_DRIVER_VERSION", 13000));
    s.devices = static_cast<int>(number("SIMCUDA_DEVICES", 1));
    s.device_memory = static_cast<std::size_t>(number("SIMCUDA_DEVICE_MEMORY", 16.0 * (1ull << 30)));
    s.copy_engines = static_cast<int>(number("SIMCUDA_COPY_ENGINES", 3));
    s.pageable_access = number("SIMCUDA_PAGEABLE_ACCESS", 0) != 0;
    s.host_page_tables = number("SIMCUDA_HOST_PAGE_TABLES", 0) != 0;
    s.integrated = number("SIMCUDA_INTEGRATED", 0) != 0;
    s.low_addresses = number("SIMCUDA_LOW_ADDRESSES", 0) != 0;
    s.queue_depth = static_cast<std::size_t>(number("SIMCUDA_QUEUE_DEPTH", 1021));
    // Measured: H200, driver 580.159.04: behind a busy stream 966 to 985 copies of 4 KiB fit, 485 of 8 KiB, 62 or 63 of
    // 64 KiB (a ring of nearly 4 MiB), 2 of every larger size up to 1 MiB, 1 of 2 MiB; 2 MiB + 4 KiB waited.
    s.staging_bytes = static_cast<std::size_t>(number("SIMCUDA_STAGING_BYTES", 4144000));
    s.staging_slots = static_cast<int>(number("SIMCUDA_STAGING_SLOTS", 2));
    s.staging_limit = static_cast<std::size_t>(number("SIMCUDA_STAGING_LIMIT", 2 << 20));
    s.h2d_gbps = number("SIMCUDA_H2D_GBPS", 0);
    s.d2h_gbps = number("SIMCUDA_D2H_GBPS", 0);
    s.d2d_gbps = number("SIMCUDA_D2D_GBPS", 0);
    s.missing_kernel_us = number("SIMCUDA_KERNEL_US", 0);
    s.load_us = number("SIMCUDA_LOAD_US", 0);
    s.speed = number("SIMCUDA_SPEED", 1);
    s.kernels = text("SIMCUDA_KERNELS", "");
    s.counts_file = text("SIMCUDA_COUNTS_FILE", "");
    s.fail = text("SIMCUDA_FAIL", "");
    if (s.speed <= 0)
        s.speed = 1;
    return s;
}

}  // namespace

const Settings& settings() {
    // Never destroyed: engine threads outlive static destructors.
    static const Settings& instance = *new Settings(read_environment());
    return instance;
}

}  // namespace simcuda
