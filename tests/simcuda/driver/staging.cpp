#include "staging.h"

#include <condition_variable>
#include <mutex>
#include <vector>

#include "settings.h"

namespace simcuda {

class StagingClassUse {
 public:
  std::mutex mutex;
  std::condition_variable freed;
  int used = 0;
};

void StagingTicket::release() {
  std::lock_guard lock(use_->mutex);
  --use_->used;
  use_->freed.notify_one();
}

StagingSlot acquire_staging(std::size_t bytes) {
  const auto& classes = settings().staging;
  static auto& uses = *new std::vector<StagingClassUse>(classes.size());
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (bytes > classes[i].bytes) continue;
    if (classes[i].slots <= 0) return nullptr;
    std::unique_lock lock(uses[i].mutex);
    uses[i].freed.wait(lock, [&] { return uses[i].used < classes[i].slots; });
    ++uses[i].used;
    return std::make_shared<StagingTicket>(&uses[i]);
  }
  return nullptr;
}

}  // namespace simcuda
