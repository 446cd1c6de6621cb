// Says when somebody opens the CUDA driver's library, so that a process that uses it without the tool is looked at
// right then and not only if it lives until the next round.
#pragma once

namespace pincheck {

class DriverWatch {
  public:
    // Watches libcuda.so.1 where the loader would look for it, as far as the kernel allows.
    DriverWatch();
    ~DriverWatch();
    DriverWatch(const DriverWatch&) = delete;
    DriverWatch& operator=(const DriverWatch&) = delete;
    // Can be read when it was opened; -1 when nothing is watched.
    int descriptor() const { return descriptor_; }

  private:
    int descriptor_ = -1;
};

}  // namespace pincheck
