// The slots of reads by the host from write-combined memory that were caught (slots.h, ReadSlot).
//
// Thread rules: any thread, in signal handlers too, where no member is below them on the stack. One lock. No heap.
#pragma once

#include "access_trap.h"
#include "hash_table.h"
#include "report/image.h"
#include "report/mutex.h"

namespace pincheck {

class CombinedReads {
  public:
    explicit CombinedReads(report::Image& image) noexcept : image_(image) {}
    CombinedReads(const CombinedReads&) = delete;
    CombinedReads& operator=(const CombinedReads&) = delete;

    // Once a sample and place.
    void add(const SampledRead& read) noexcept;

  private:
    report::Image& image_;
    Mutex mutex_;
    HashTable<report::ReadSlot*> slots_;
};

}  // namespace pincheck
