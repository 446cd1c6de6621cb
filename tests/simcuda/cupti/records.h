// Activity records, laid out as cupti_activity.h says; those that grew with CUPTI 13 are shorter when
// SIMCUDA_CUPTI_VERSION says that this is an older one.
#pragma once

#include <cstddef>
#include <span>

#include "library.h"

namespace simcupti {

constexpr std::size_t kLargestRecord = sizeof(CUpti_ActivityKernel10);

// Bytes of a record of the kind; 0 for kinds that this library does not produce.
std::size_t size_of(CUpti_ActivityKind kind);

class Record {
  public:
    // A copy, memset or kernel.
    explicit Record(const SimcudaWork& work, CUpti_ActivityKind kind);
    // A call of an API function.
    Record(const SimcudaCall& call, std::uint32_t cbid, std::uint64_t end, int result);
    // A wait of the synchronisation functions.
    Record(const SimcudaWait& wait, CUpti_ActivitySynchronizationType type);
    // Time that a call lost.
    Record(CUpti_ActivityOverheadKind kind, std::uint32_t correlation, std::uint64_t start, std::uint64_t end);
    Record(CUpti_ExternalCorrelationKind kind, std::uint64_t id, std::uint32_t correlation);

    std::span<const std::byte> bytes() const { return {data_, size_}; }

  private:
    template <typename Struct>
    Struct& as(CUpti_ActivityKind kind);

    alignas(8) std::byte data_[kLargestRecord]{};
    std::size_t size_ = 0;
};

}  // namespace simcupti
