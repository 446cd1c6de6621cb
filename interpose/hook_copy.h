// Copies, fills (memset) and prefetches: facts before the call, counters after it. Both halves are out of line; the
// wrapper keeps only the real call.
#pragma once

#include <cstdint>

#include "copy_shape.h"
#include "hook.h"
#include "pointer_class.h"
#include "recorder.h"

namespace pincheck {

class CopyHook : public Hook {
  public:
    using Hook::Hook;
    // False: pass on unrecorded. `arguments` must live until after().
    bool before(const CopyArguments& arguments) noexcept;
    void after(int status) noexcept;

    // The same for a call that makes many copies: enter, the real call, one record() a copy, and leave. The call's time
    // is shared out evenly.
    bool before_batch() noexcept;
    void after_batch(int status) noexcept;
    void record(const CopyArguments& arguments, std::uint64_t copies_of_call) noexcept;
    void leave_batch() noexcept;

  private:
    void set_facts(const CopyArguments& arguments) noexcept;
    bool is_simple(const CopyArguments& arguments) const noexcept;
    PointerClass classify_host(const CopyArguments& arguments) const noexcept;
    FactWords simple_facts(const CopyArguments& arguments, report::Memory host) const noexcept;
    void find_simple(const CopyArguments& arguments, report::Memory host) noexcept;
    void leave_facts(const CopyArguments& arguments) noexcept;
    void show_in_call() noexcept;
    void find_simple_anew(const CopyArguments& arguments, report::Memory host, std::uint64_t what) noexcept;
    void remember_captured() noexcept;
    void lose_unclassified(std::uint64_t end_ns) noexcept;
    void tell_device_call(std::uint64_t end_ns) noexcept;
    void run_errands(int status, std::uint64_t end_ns) noexcept;
    void count(int status, std::uint64_t end_ns) noexcept;
    void held(int status, std::uint64_t end_ns) noexcept;
    void classify_sides() noexcept;
    void ask_both_sides(bool may_ask) noexcept;
    void classify_after_all() noexcept;
    void find_counters() noexcept;
    void add_to_batch(const CopyArguments& arguments) noexcept;
    void describe_new_site() noexcept;

    // From before() on.
    SiteFacts facts_;
    const CopyArguments* arguments_;
    report::CounterSlot* counters_;
    std::uint32_t allocation_site_;
    bool ask_again_;
    std::uint64_t start_ns_;
    std::uint64_t own_ns_;  // ThreadState::own_ns then
    std::uint64_t end_ns_;
    int status_;
};

// Asks the driver which device the thread copies on, once. False: it could not be asked yet.
bool ask_device(State& state) noexcept;

// Starts to watch the host memory of the copy whose facts the thread has, if the function is the driver's and the copy
// one to be watched.
void begin_watch(Api api) noexcept;

// The classes and the direction of a copy between two pointers, for those that are not known yet. Returns the site that
// page-locked the host's side; 0: none or not known. `ask_again`: the driver is not initialised yet.
struct AskedSides {
    report::Direction direction;
    report::Memory destination;
    report::Memory source;
    std::uint32_t allocation_site = 0;
    bool ask_again = false;
};
AskedSides ask_sides(const State& state, const CopyArguments& arguments, bool may_ask) noexcept;

// The memory that a copy of `bytes` spans: more where it is strided.
constexpr std::uint64_t span_or(std::uint64_t span, std::uint64_t bytes) noexcept {
    return span != 0 ? span : bytes;
}

// Sites worth an own stack a call: what may be reported. Page-locked copies are only counted.
bool is_offender(const report::Memory& destination, const report::Memory& source) noexcept;

// Bytes of an element of the array that takes part in the copy, asked from the driver; 1 where none does, and where it
// is not known: the copy counts with fewer bytes than it has.
std::uint64_t element_bytes_of(const cuda_abi::BatchCopy3D& copy) noexcept;

// cudaMemcpyKind: 0 host to host, 1 host to device, 2 device to host, 3 device to device, 4 default. The last two are
// worked out from the pointers.
report::Direction direction_of_kind(int kind) noexcept;
// What a stream argument means. Handles 1 and 2 are the legacy and the per-thread default stream.
inline report::StreamKind stream_kind(Api api, void* stream) noexcept {
    const auto handle = reinterpret_cast<std::uintptr_t>(stream);
    if (handle > 2) [[likely]] {
        return report::StreamKind::created;
    }
    return handle == 2 || (handle == 0 && info(api).variant == Variant::per_thread)
               ? report::StreamKind::per_thread_default
               : report::StreamKind::legacy_default;
}
// The same stream under one number, whatever handle names it.
inline std::uintptr_t stream_identity(Api api, void* stream) noexcept {
    const auto handle = reinterpret_cast<std::uintptr_t>(stream);
    return handle != 0 ? handle : info(api).variant == Variant::per_thread ? 2 : 1;
}

}  // namespace pincheck
