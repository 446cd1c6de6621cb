// Device times in the report: what CUPTI said of copies, added up by site and size; and the kernels that calls waited
// for, where it tells them (cupti=full).
#pragma once

#include <cstdint>

#include "device_work.h"
#include "hash_table.h"
#include "report/records.h"
#include "state.h"

namespace pincheck {

// The tool's thread alone.
class Transfers {
  public:
    explicit Transfers(State& state) noexcept : state_(state) {}
    Transfers(const Transfers&) = delete;
    Transfers& operator=(const Transfers&) = delete;

    DeviceSink sink() noexcept;
    void add(const DeviceWork& work) noexcept;
    void add_kernel(const char* name, std::uint64_t start_ns, std::uint64_t end_ns) noexcept;
    // Of calls that held the host and are no copies: the kernel that ended last while they lasted, whatever its stream.
    // After each look for records, since those may come later than the call.
    void name_kernels() noexcept;
    // Of races whose access has a time: whether the copy had ended by then. At the same time.
    void judge_accesses() noexcept;

  private:
    // The calls that made the latest copies: one that made several counts once.
    static constexpr unsigned kCalls = 4096;
    struct Call {
        std::uint32_t correlation;
        std::uint64_t completed_ns;  // as counted in `slot` so far
        report::TransferSlot* slot;
    };

    static constexpr unsigned kCopies = 4096;
    struct Copy {
        CopyCall call;
        std::uint64_t start_ns;
        std::uint64_t end_ns;
    };

    static constexpr unsigned kKernels = 1024;
    struct Kernel {
        std::uint32_t name;  // string id; 0: none, or no room
        std::uint64_t start_ns;
        std::uint64_t end_ns;
    };

    std::uint32_t text_of(const char* kernel) noexcept;
    report::TransferSlot* slot_of(const DeviceWork& work) noexcept;
    const Copy* copy_of(const CopyCall& call) const noexcept;
    void name_kernel_of(const DeviceWork& work) noexcept;
    void add_call(const DeviceWork& work, report::TransferSlot& slot) noexcept;

    State& state_;
    HashTable<report::TransferSlot*> slots_;
    HashTable<std::uint32_t> names_;  // of kernels, by address -> string id
    Kernel* kernels_ = nullptr;       // the latest
    unsigned next_kernel_ = 0;
    Call* calls_ = nullptr;
    Copy* copies_ = nullptr;  // the latest
    unsigned next_copy_ = 0;
};

}  // namespace pincheck
