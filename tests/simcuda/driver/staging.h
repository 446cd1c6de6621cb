// The driver's staging memory: how many pageable host-to-device copies of which size may be on their way at once.
#pragma once

#include <cstddef>
#include <memory>

namespace simcuda {

class StagingClassUse;

class StagingTicket {
 public:
  explicit StagingTicket(StagingClassUse* use) : use_(use) {}
  void release();

 private:
  StagingClassUse* use_;
};
using StagingSlot = std::shared_ptr<StagingTicket>;

// Waits for a slot of the copy's size class. Null when copies of this size are never staged.
StagingSlot acquire_staging(std::size_t bytes);

}  // namespace simcuda
