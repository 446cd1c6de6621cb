// Which kernels were launched, so that a first launch is known: it may load the kernel (CUDA C++ Programming Guide,
// "Lazy Loading"), which takes milliseconds and waits for nothing.
//
// A handle of an unloaded kernel that comes back counts as known, and so does every kernel once the set is full: then a
// first launch that took long has no cause, and never a wrong one.
//
// Thread rules: any thread, any time; no lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace pincheck {

class KernelSet {
  public:
    // True for the first call with this handle.
    bool is_first(std::uintptr_t kernel) noexcept {
        std::size_t slot = (kernel * 0x9e3779b97f4a7c15ull) >> (64 - kBits);
        for (std::size_t i = 0; i < kProbes; ++i, slot = (slot + 1) & (kSlots - 1)) {
            std::uintptr_t seen = kernels_[slot].load(std::memory_order_relaxed);
            if (seen == kernel) [[likely]] {
                return false;
            }
            if (seen == 0 && kernels_[slot].compare_exchange_strong(seen, kernel, std::memory_order_relaxed)) {
                return true;
            }
            if (seen == kernel) {
                return false;
            }
        }
        return false;
    }

  private:
    static constexpr std::size_t kBits = 13;
    static constexpr std::size_t kSlots = std::size_t{1} << kBits;
    static constexpr std::size_t kProbes = 16;
    std::atomic<std::uintptr_t> kernels_[kSlots] = {};
};

}  // namespace pincheck
