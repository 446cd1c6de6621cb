// Host memory of every kind, freed at the end of a test.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <ostream>

namespace conformance {

enum class Kind { pageable, pinned, mapped, write_combined, registered, managed };

inline std::ostream& operator<<(std::ostream& out, Kind kind) {
    static const char* const names[] = {"pageable", "pinned", "mapped", "write_combined", "registered", "managed"};
    return out << names[static_cast<int>(kind)];
}

class HostMemory {
  public:
    HostMemory(Kind kind, std::size_t size);
    ~HostMemory();
    HostMemory(const HostMemory&) = delete;
    HostMemory& operator=(const HostMemory&) = delete;

    char* data() const { return data_; }
    char& operator[](std::size_t i) const { return data_[i]; }

  private:
    Kind kind_;
    char* data_ = nullptr;
};

// A stream that the legacy default stream does not order.
class Stream {
  public:
    Stream() { cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking); }
    ~Stream() { cudaStreamDestroy(stream_); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    operator cudaStream_t() const { return stream_; }

  private:
    cudaStream_t stream_ = nullptr;
};

class DeviceMemory {
  public:
    explicit DeviceMemory(std::size_t size) { cudaMalloc(reinterpret_cast<void**>(&data_), size); }
    ~DeviceMemory() { cudaFree(data_); }
    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;
    operator char*() const { return data_; }

  private:
    char* data_ = nullptr;
};

}  // namespace conformance
