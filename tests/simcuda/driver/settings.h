// What the simulated device is like: SIMCUDA_* environment variables, read once at the first use.
// tests/simcuda/README.md lists them.
#pragma once

#include <cstddef>
#include <string>

namespace simcuda {

struct Settings {
    int driver_version;
    int devices;
    std::size_t device_memory;
    int copy_engines;  // CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT
    bool pageable_access;
    bool host_page_tables;
    bool integrated;
    bool low_addresses;  // device memory below 4 GiB, for the 32-bit entry points of CUDA 2 and 3.0
    std::size_t queue_depth;
    std::size_t staging_bytes;  // for pageable uploads up to 64 KiB
    int staging_slots;          // for larger ones
    std::size_t staging_limit;  // larger uploads are not staged, and the larger ones together take no more
    double h2d_gbps;            // 0: as fast as the machine copies
    double d2h_gbps;
    double d2d_gbps;
    double missing_kernel_us;  // duration of a kernel without a host function
    double load_us;            // what a kernel's first launch takes longer
    double speed;              // divides every simulated duration
    std::string kernels;
    std::string counts_file;
    std::string fail;  // symbol:result[:after] list
};

const Settings& settings();

}  // namespace simcuda
