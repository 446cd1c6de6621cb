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

// "4096:966,65536:63": bytes and slots, ascending.
std::vector<StagingClass> staging_classes(const char* list) {
  std::vector<StagingClass> classes;
  while (*list) {
    char* end = nullptr;
    const std::size_t bytes = std::strtoull(list, &end, 0);
    const int slots = *end == ':' ? static_cast<int>(std::strtol(end + 1, &end, 0)) : 0;
    classes.push_back({bytes, slots});
    list = *end == ',' ? end + 1 : end + std::strlen(end);
  }
  return classes;
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
  // Measured: H200, driver 580.159.04: 966 copies of 4 KiB, 63 of 64 KiB, 2 of 256 KiB and 2 of 1 MiB fit behind a busy
  // stream; 2 MiB still returned at once, 4 MiB waited.
  s.staging = staging_classes(text("SIMCUDA_STAGING", "4096:966,65536:63,262144:2,2097152:2"));
  s.h2d_gbps = number("SIMCUDA_H2D_GBPS", 0);
  s.d2h_gbps = number("SIMCUDA_D2H_GBPS", 0);
  s.d2d_gbps = number("SIMCUDA_D2D_GBPS", 0);
  s.missing_kernel_us = number("SIMCUDA_KERNEL_US", 0);
  s.speed = number("SIMCUDA_SPEED", 1);
  s.kernels = text("SIMCUDA_KERNELS", "");
  s.counts_file = text("SIMCUDA_COUNTS_FILE", "");
  s.fail = text("SIMCUDA_FAIL", "");
  if (s.speed <= 0) s.speed = 1;
  return s;
}

}  // namespace

const Settings& settings() {
  // Never destroyed: engine threads outlive static destructors.
  static const Settings& instance = *new Settings(read_environment());
  return instance;
}

}  // namespace simcuda
