// Device times in the report: what CUPTI said of copies, added up by site and size.
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

  private:
    // The calls that made the latest copies: one that made several counts once.
    static constexpr unsigned kCalls = 4096;
    struct Call {
        std::uint32_t correlation;
        std::uint64_t completed_ns;  // as counted in `slot` so far
        report::TransferSlot* slot;
    };

    report::TransferSlot* slot_of(const DeviceWork& work) noexcept;
    void name_kernel_of(const DeviceWork& work) noexcept;
    void add_call(const DeviceWork& work, report::TransferSlot& slot) noexcept;

    State& state_;
    HashTable<report::TransferSlot*> slots_;
    HashTable<std::uint32_t> kernels_;  // names, by address -> string id
    Call* calls_ = nullptr;
};

}  // namespace pincheck
