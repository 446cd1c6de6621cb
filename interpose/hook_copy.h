// Copies: facts before the call, counters after it. Both halves are out of line; the wrapper keeps only the real call.
#pragma once

#include <cstdint>

#include "hook.h"
#include "pointer_class.h"
#include "recorder.h"

namespace pincheck {

struct CopyArguments {
    std::uintptr_t destination;
    std::uintptr_t source;
    std::uint64_t bytes;
    report::Direction direction;  // unknown: worked out from the pointers
    bool async;
    void* stream;  // null where the function takes none
};

class CopyHook : public Hook {
  public:
    using Hook::Hook;
    // False: pass on unrecorded. `arguments` must live until after().
    bool before(const CopyArguments& arguments) noexcept;
    void after(int status) noexcept;

  private:
    void classify_sides() noexcept;
    void ask_both_sides(bool may_ask) noexcept;
    void classify_after_all() noexcept;
    void find_counters() noexcept;

    SiteFacts facts_{};
    const CopyArguments* arguments_ = nullptr;
    report::CounterSlot* counters_ = nullptr;
    std::uint32_t allocation_site_ = 0;
    bool ask_again_ = false;
    std::uint64_t start_ns_ = 0;
};

// cudaMemcpyKind: 0 host to host, 1 host to device, 2 device to host, 3 device to device, 4 default.
report::Direction direction_of_kind(int kind) noexcept;
// What a stream argument means. Handles 1 and 2 are the legacy and the per-thread default stream.
report::StreamKind stream_kind(Api api, void* stream) noexcept;
// The same stream under one number, whatever handle names it.
std::uintptr_t stream_identity(Api api, void* stream) noexcept;

}  // namespace pincheck
