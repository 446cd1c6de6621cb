// Wrapper bodies of copies, memset and prefetch (see wrappers.h).
#pragma once

#include "hook_copy.h"
#include "log.h"
#include "real.h"
#include "shapes.h"

namespace pincheck {

using report::Direction;
using report::MemoryClass;
using report::SiteKind;

inline std::uintptr_t address_of(const void* pointer) noexcept {
    return reinterpret_cast<std::uintptr_t>(pointer);
}

// Right before the driver's call: the copy's host memory may be watched from here on (watched_copies.h).
__attribute__((always_inline)) inline void watch_copy(Api api) noexcept {
    if (t_thread.watches) [[unlikely]] {
        begin_watch(api);
    }
}

// `describe` gives the CopyArguments; it is not asked for a call that is part of another: most of the driver's are
// parts of a runtime's.
template <class Function, class Describe, class... Arguments>
inline __attribute__((always_inline)) int copy_through(Api api, Caller caller, Describe describe,
                                                       Arguments... arguments) {
    const CallerRule rule = caller_rule(caller.return_address);
    Function* real = real_function<Function>(api, rule);
    if (real == nullptr) [[unlikely]] {
        return kNoCuda;
    }
    if (Hook::is_part_of_another(caller, rule)) {
        watch_copy(api);
        return real(arguments...);
    }
    CopyHook hook(api, caller, rule);
    const CopyArguments facts = describe();
    if (!hook.before(facts)) [[unlikely]] {
        return real(arguments...);
    }
    watch_copy(api);
    const int status = real(arguments...);
    hook.after(status);
    return status;
}

// A call between a copy and its wait. Starts the tool like every CUDA call.
template <class... Arguments>
inline __attribute__((always_inline)) int pass_on(Api api, Arguments... arguments) {
    auto* real = reinterpret_cast<int (*)(Arguments...)>(driver_function(api));
    if (real == nullptr) {
        return kNoCuda;
    }
    state_or_start();
    t_thread.last_copy = nullptr;
    return real(arguments...);
}

// ---- One range

inline CopyArguments copy_of(std::uintptr_t dst, std::uintptr_t src, std::uint64_t bytes, Direction direction) {
    CopyArguments copy;
    copy.destination = dst;
    copy.source = src;
    copy.bytes = bytes;
    copy.direction = direction;
    return copy;
}
inline CopyArguments async_of(CopyArguments copy, void* stream) {
    copy.async = true;
    copy.stream = stream;
    return copy;
}
inline CopyArguments async_copy_of(std::uintptr_t dst, std::uintptr_t src, std::uint64_t bytes, Direction direction,
                                   void* stream) {
    return async_of(copy_of(dst, src, bytes, direction), stream);
}

inline __attribute__((always_inline)) int hook_runtime_copy(Api api, Caller caller, void* dst, const void* src,
                                                            std::size_t bytes, int kind) {
    return copy_through<int(void*, const void*, std::size_t, int)>(
        api, caller, [&] { return copy_of(address_of(dst), address_of(src), bytes, direction_of_kind(kind)); }, dst,
        src, bytes, kind);
}
inline __attribute__((always_inline)) int hook_runtime_copy_async(Api api, Caller caller, void* dst, const void* src,
                                                                  std::size_t bytes, int kind, void* stream) {
    return copy_through<int(void*, const void*, std::size_t, int, void*)>(
        api, caller,
        [&] { return async_copy_of(address_of(dst), address_of(src), bytes, direction_of_kind(kind), stream); }, dst,
        src, bytes, kind, stream);
}

template <class Address, class Size>
inline __attribute__((always_inline)) int hook_h2d(Api api, Caller caller, Address dst, const void* src, Size bytes) {
    return copy_through<int(Address, const void*, Size)>(
        api, caller, [&] { return copy_of(dst, address_of(src), bytes, Direction::host_to_device); }, dst, src, bytes);
}
template <class Address, class Size>
inline __attribute__((always_inline)) int hook_h2d_async(Api api, Caller caller, Address dst, const void* src,
                                                         Size bytes, void* stream) {
    return copy_through<int(Address, const void*, Size, void*)>(
        api, caller, [&] { return async_copy_of(dst, address_of(src), bytes, Direction::host_to_device, stream); }, dst,
        src, bytes, stream);
}
template <class Address, class Size>
inline __attribute__((always_inline)) int hook_d2h(Api api, Caller caller, void* dst, Address src, Size bytes) {
    return copy_through<int(void*, Address, Size)>(
        api, caller, [&] { return copy_of(address_of(dst), src, bytes, Direction::device_to_host); }, dst, src, bytes);
}
template <class Address, class Size>
inline __attribute__((always_inline)) int hook_d2h_async(Api api, Caller caller, void* dst, Address src, Size bytes,
                                                         void* stream) {
    return copy_through<int(void*, Address, Size, void*)>(
        api, caller, [&] { return async_copy_of(address_of(dst), src, bytes, Direction::device_to_host, stream); }, dst,
        src, bytes, stream);
}
template <class Address, class Size>
inline __attribute__((always_inline)) int hook_d2d(Api api, Caller caller, Address dst, Address src, Size bytes) {
    return copy_through<int(Address, Address, Size)>(
        api, caller, [&] { return copy_of(dst, src, bytes, Direction::unknown); }, dst, src, bytes);
}
template <class Address, class Size>
inline __attribute__((always_inline)) int hook_d2d_async(Api api, Caller caller, Address dst, Address src, Size bytes,
                                                         void* stream) {
    return copy_through<int(Address, Address, Size, void*)>(
        api, caller, [&] { return async_copy_of(dst, src, bytes, Direction::unknown, stream); }, dst, src, bytes,
        stream);
}

// Arrays are named by their handle; the offset is in bytes.
inline CopyArguments array_copy(std::uintptr_t dst, std::uintptr_t src, std::uint64_t bytes, Direction direction,
                                bool to_array, bool from_array) {
    CopyArguments copy = copy_of(dst, src, bytes, direction);
    copy.destination_is = to_array ? MemoryClass::array : MemoryClass::none;
    copy.source_is = from_array ? MemoryClass::array : MemoryClass::none;
    return copy;
}
template <class Address, class Size>
inline int hook_d2a(Api api, Caller caller, void* array, Size offset, Address src, Size bytes) {
    return copy_through<int(void*, Size, Address, Size)>(
        api, caller, [&] { return array_copy(address_of(array), src, bytes, Direction::unknown, true, false); }, array,
        offset, src, bytes);
}
template <class Address, class Size>
inline int hook_a2d(Api api, Caller caller, Address dst, void* array, Size offset, Size bytes) {
    return copy_through<int(Address, void*, Size, Size)>(
        api, caller, [&] { return array_copy(dst, address_of(array), bytes, Direction::unknown, false, true); }, dst,
        array, offset, bytes);
}
template <class Size>
inline int hook_h2a(Api api, Caller caller, void* array, Size offset, const void* src, Size bytes) {
    return copy_through<int(void*, Size, const void*, Size)>(
        api, caller,
        [&] { return array_copy(address_of(array), address_of(src), bytes, Direction::host_to_device, true, false); },
        array, offset, src, bytes);
}
template <class Size>
inline int hook_h2a_async(Api api, Caller caller, void* array, Size offset, const void* src, Size bytes, void* stream) {
    return copy_through<int(void*, Size, const void*, Size, void*)>(
        api, caller,
        [&] {
            return async_of(
                array_copy(address_of(array), address_of(src), bytes, Direction::host_to_device, true, false), stream);
        },
        array, offset, src, bytes, stream);
}
template <class Size>
inline int hook_a2h(Api api, Caller caller, void* dst, void* array, Size offset, Size bytes) {
    return copy_through<int(void*, void*, Size, Size)>(
        api, caller,
        [&] { return array_copy(address_of(dst), address_of(array), bytes, Direction::device_to_host, false, true); },
        dst, array, offset, bytes);
}
template <class Size>
inline int hook_a2h_async(Api api, Caller caller, void* dst, void* array, Size offset, Size bytes, void* stream) {
    return copy_through<int(void*, void*, Size, Size, void*)>(
        api, caller,
        [&] {
            return async_of(
                array_copy(address_of(dst), address_of(array), bytes, Direction::device_to_host, false, true), stream);
        },
        dst, array, offset, bytes, stream);
}
template <class Size>
inline int hook_a2a(Api api, Caller caller, void* dst, Size dst_offset, void* src, Size src_offset, Size bytes) {
    return copy_through<int(void*, Size, void*, Size, Size)>(
        api, caller,
        [&] { return array_copy(address_of(dst), address_of(src), bytes, Direction::device_to_device, true, true); },
        dst, dst_offset, src, src_offset, bytes);
}

// A body for several shapes of the same arguments.
#define PINCHECK_SAME(shape, body)                                                           \
    template <class... A>                                                                    \
    inline __attribute__((always_inline)) int hook_##shape(Api api, Caller caller, A... a) { \
        return body(api, caller, a...);                                                      \
    }
PINCHECK_SAME(driver_h2d, hook_h2d)
PINCHECK_SAME(driver_h2d_v1, hook_h2d)
PINCHECK_SAME(driver_h2d_async, hook_h2d_async)
PINCHECK_SAME(driver_h2d_async_v1, hook_h2d_async)
PINCHECK_SAME(driver_d2h, hook_d2h)
PINCHECK_SAME(driver_d2h_v1, hook_d2h)
PINCHECK_SAME(driver_d2h_async, hook_d2h_async)
PINCHECK_SAME(driver_d2h_async_v1, hook_d2h_async)
PINCHECK_SAME(driver_d2d, hook_d2d)
PINCHECK_SAME(driver_d2d_v1, hook_d2d)
PINCHECK_SAME(driver_d2d_async, hook_d2d_async)
PINCHECK_SAME(driver_d2d_async_v1, hook_d2d_async)
PINCHECK_SAME(driver_d2a, hook_d2a)
PINCHECK_SAME(driver_d2a_v1, hook_d2a)
PINCHECK_SAME(driver_a2d, hook_a2d)
PINCHECK_SAME(driver_a2d_v1, hook_a2d)
PINCHECK_SAME(driver_h2a, hook_h2a)
PINCHECK_SAME(driver_h2a_v1, hook_h2a)
PINCHECK_SAME(driver_h2a_async, hook_h2a_async)
PINCHECK_SAME(driver_h2a_async_v1, hook_h2a_async)
PINCHECK_SAME(driver_a2h, hook_a2h)
PINCHECK_SAME(driver_a2h_v1, hook_a2h)
PINCHECK_SAME(driver_a2h_async, hook_a2h_async)
PINCHECK_SAME(driver_a2h_async_v1, hook_a2h_async)
PINCHECK_SAME(driver_a2a, hook_a2a)
PINCHECK_SAME(driver_a2a_v1, hook_a2a)

inline __attribute__((always_inline)) int hook_driver_copy(Api api, Caller caller, std::uint64_t dst, std::uint64_t src,
                                                           std::size_t bytes) {
    return copy_through<int(std::uint64_t, std::uint64_t, std::size_t)>(
        api, caller, [&] { return copy_of(dst, src, bytes, Direction::unknown); }, dst, src, bytes);
}
inline __attribute__((always_inline)) int hook_driver_copy_async(Api api, Caller caller, std::uint64_t dst,
                                                                 std::uint64_t src, std::size_t bytes, void* stream) {
    return copy_through<int(std::uint64_t, std::uint64_t, std::size_t, void*)>(
        api, caller, [&] { return async_copy_of(dst, src, bytes, Direction::unknown, stream); }, dst, src, bytes,
        stream);
}

inline int hook_driver_peer(Api api, Caller caller, std::uint64_t dst, void* dst_context, std::uint64_t src,
                            void* src_context, std::size_t bytes) {
    return copy_through<int(std::uint64_t, void*, std::uint64_t, void*, std::size_t)>(
        api, caller, [&] { return copy_of(dst, src, bytes, Direction::unknown); }, dst, dst_context, src, src_context,
        bytes);
}
inline int hook_driver_peer_async(Api api, Caller caller, std::uint64_t dst, void* dst_context, std::uint64_t src,
                                  void* src_context, std::size_t bytes, void* stream) {
    return copy_through<int(std::uint64_t, void*, std::uint64_t, void*, std::size_t, void*)>(
        api, caller, [&] { return async_copy_of(dst, src, bytes, Direction::unknown, stream); }, dst, dst_context, src,
        src_context, bytes, stream);
}

// ---- Strided ranges

// A struct that is not there fails in the real function; it is counted as a copy of nothing.
template <class Copy>
inline int hook_strided(Api api, Caller caller, const Copy* copy) {
    return copy_through<int(const Copy*)>(
        api, caller, [&] { return copy != nullptr ? describe(*copy) : CopyArguments{}; }, copy);
}
template <class Copy>
inline int hook_strided_async(Api api, Caller caller, const Copy* copy, void* stream) {
    return copy_through<int(const Copy*, void*)>(
        api, caller, [&] { return async_of(copy != nullptr ? describe(*copy) : CopyArguments{}, stream); }, copy,
        stream);
}
PINCHECK_SAME(driver_2d, hook_strided)
PINCHECK_SAME(driver_2d_v1, hook_strided)
PINCHECK_SAME(driver_2d_async, hook_strided_async)
PINCHECK_SAME(driver_2d_async_v1, hook_strided_async)
PINCHECK_SAME(driver_3d, hook_strided)
PINCHECK_SAME(driver_3d_v1, hook_strided)
PINCHECK_SAME(driver_3d_async, hook_strided_async)
PINCHECK_SAME(driver_3d_async_v1, hook_strided_async)

// ---- Batches

// Each copy of a batch is counted as one; a batch that failed as one failed copy. The lists are read after the call:
// the program may not change them before it returns.
template <class Function, class Record, class... Arguments>
inline int batch_through(Api api, Caller caller, std::size_t count, Record&& record, Arguments... arguments) {
    CopyHook hook(api, caller);
    Function* real = hook.real<Function>();
    if (real == nullptr) {
        return kNoCuda;
    }
    if (!hook.before_batch()) {
        return real(arguments...);
    }
    const int status = real(arguments...);
    hook.after_batch(status);
    const KeepErrno keep;
    if (status == 0) {
        for (std::size_t i = 0; i < count; ++i) {
            hook.record(record(i), count);
        }
    } else {
        hook.record(CopyArguments{}, 1);
    }
    hook.leave_batch();
    return status;
}

// Entry `i` of a list whose entry k holds for the elements from first[k] on (CUDA Driver API, cuMemcpyBatchAsync,
// attrsIdxs; cuMemPrefetchBatchAsync, prefetchLocIdxs). `k` is where the search for the element before ended.
inline std::size_t advance_to(const std::size_t* first, std::size_t entries, std::size_t i, std::size_t k) {
    while (first != nullptr && k + 1 < entries && first[k + 1] <= i) {
        ++k;
    }
    return k;
}

template <class Function, class... Failed>
inline int batch_of_ranges(Api api, Caller caller, const std::uint64_t* dsts, const std::uint64_t* srcs,
                           const std::size_t* sizes, std::size_t count, const cuda_abi::CopyAttributes* attributes,
                           const std::size_t* first, std::size_t attribute_count, void* stream, Failed... failed) {
    std::size_t k = 0;
    const auto record = [&](std::size_t i) {
        CopyArguments copy = async_copy_of(dsts[i], srcs[i], sizes[i], Direction::unknown, stream);
        k = advance_to(first, attribute_count, i, k);
        if (attributes != nullptr && attribute_count > 0) {
            copy.source_order = report::source_order(attributes[k].source_access_order);
        }
        return copy;
    };
    return batch_through<Function>(api, caller, count, record, dsts, srcs, sizes, count, attributes, first,
                                   attribute_count, failed..., stream);
}
inline int hook_driver_batch(Api api, Caller caller, const std::uint64_t* dsts, const std::uint64_t* srcs,
                             const std::size_t* sizes, std::size_t count, const cuda_abi::CopyAttributes* attributes,
                             const std::size_t* first, std::size_t attribute_count, void* stream) {
    return batch_of_ranges<int PINCHECK_PARAMS_driver_batch>(api, caller, dsts, srcs, sizes, count, attributes, first,
                                                             attribute_count, stream);
}
inline int hook_driver_batch_v1(Api api, Caller caller, const std::uint64_t* dsts, const std::uint64_t* srcs,
                                const std::size_t* sizes, std::size_t count, const cuda_abi::CopyAttributes* attributes,
                                const std::size_t* first, std::size_t attribute_count, std::size_t* failed,
                                void* stream) {
    return batch_of_ranges<int PINCHECK_PARAMS_driver_batch_v1>(api, caller, dsts, srcs, sizes, count, attributes,
                                                                first, attribute_count, stream, failed);
}

inline CopyArguments batch_box(const cuda_abi::BatchCopy3D& copy, void* stream) {
    return async_of(describe(copy, element_bytes_of(copy)), stream);
}
inline int hook_driver_3d_batch(Api api, Caller caller, std::size_t count, const cuda_abi::BatchCopy3D* copies,
                                std::uint64_t flags, void* stream) {
    const auto record = [&](std::size_t i) { return batch_box(copies[i], stream); };
    return batch_through<int PINCHECK_PARAMS_driver_3d_batch>(api, caller, count, record, count, copies, flags, stream);
}
inline int hook_driver_3d_batch_v1(Api api, Caller caller, std::size_t count, const cuda_abi::BatchCopy3D* copies,
                                   std::size_t* failed, std::uint64_t flags, void* stream) {
    const auto record = [&](std::size_t i) { return batch_box(copies[i], stream); };
    return batch_through<int PINCHECK_PARAMS_driver_3d_batch_v1>(api, caller, count, record, count, copies, failed,
                                                                 flags, stream);
}

// ---- Memset

template <class Value>
inline CopyArguments fill_of(std::uint64_t dst, std::uint64_t pitch, std::uint64_t width, std::uint64_t height) {
    return describe(cuda_abi::MemsetNode{dst, pitch, 0, sizeof(Value), width, height});
}
template <class Address, class Value, class Size>
inline int hook_set(Api api, Caller caller, Address dst, Value value, Size count) {
    return copy_through<int(Address, Value, Size)>(
        api, caller, [&] { return fill_of<Value>(dst, 0, count, 1); }, dst, value, count);
}
template <class Address, class Value, class Size>
inline int hook_set_async(Api api, Caller caller, Address dst, Value value, Size count, void* stream) {
    return copy_through<int(Address, Value, Size, void*)>(
        api, caller, [&] { return async_of(fill_of<Value>(dst, 0, count, 1), stream); }, dst, value, count, stream);
}
template <class Address, class Value, class Size>
inline int hook_set_2d(Api api, Caller caller, Address dst, Size pitch, Value value, Size width, Size height) {
    return copy_through<int(Address, Size, Value, Size, Size)>(
        api, caller, [&] { return fill_of<Value>(dst, pitch, width, height); }, dst, pitch, value, width, height);
}
template <class Address, class Value, class Size>
inline int hook_set_2d_async(Api api, Caller caller, Address dst, Size pitch, Value value, Size width, Size height,
                             void* stream) {
    return copy_through<int(Address, Size, Value, Size, Size, void*)>(
        api, caller, [&] { return async_of(fill_of<Value>(dst, pitch, width, height), stream); }, dst, pitch, value,
        width, height, stream);
}
#define PINCHECK_SET(bits)                                  \
    PINCHECK_SAME(driver_set##bits, hook_set)               \
    PINCHECK_SAME(driver_set##bits##_v1, hook_set)          \
    PINCHECK_SAME(driver_set##bits##_async, hook_set_async) \
    PINCHECK_SAME(driver_set##bits##_2d, hook_set_2d)       \
    PINCHECK_SAME(driver_set##bits##_2d_v1, hook_set_2d)    \
    PINCHECK_SAME(driver_set##bits##_2d_async, hook_set_2d_async)
PINCHECK_SET(8)
PINCHECK_SET(16)
PINCHECK_SET(32)

// ---- Prefetch

inline CopyArguments prefetch_of(std::uint64_t pointer, std::uint64_t bytes, bool to_device, void* stream) {
    CopyArguments prefetch =
        async_copy_of(pointer, 0, bytes, to_device ? Direction::host_to_device : Direction::device_to_host, stream);
    prefetch.kind = SiteKind::prefetch;
    return prefetch;
}
inline int hook_prefetch_v1(Api api, Caller caller, std::uint64_t pointer, std::size_t bytes, int device,
                            void* stream) {
    return copy_through<int PINCHECK_PARAMS_prefetch_v1>(
        api, caller, [&] { return prefetch_of(pointer, bytes, device >= 0, stream); }, pointer, bytes, device, stream);
}
inline int hook_prefetch(Api api, Caller caller, std::uint64_t pointer, std::size_t bytes, cuda_abi::Location location,
                         unsigned flags, void* stream) {
    return copy_through<int PINCHECK_PARAMS_prefetch>(
        api, caller, [&] { return prefetch_of(pointer, bytes, location.type == cuda_abi::kLocationDevice, stream); },
        pointer, bytes, location, flags, stream);
}
inline int hook_prefetch_batch(Api api, Caller caller, const std::uint64_t* pointers, const std::size_t* sizes,
                               std::size_t count, const cuda_abi::Location* locations, const std::size_t* first,
                               std::size_t location_count, std::uint64_t flags, void* stream) {
    std::size_t k = 0;
    const auto record = [&](std::size_t i) {
        k = advance_to(first, location_count, i, k);
        return prefetch_of(pointers[i], sizes[i], locations[k].type == cuda_abi::kLocationDevice, stream);
    };
    return batch_through<int PINCHECK_PARAMS_prefetch_batch>(api, caller, count, record, pointers, sizes, count,
                                                             locations, first, location_count, flags, stream);
}

}  // namespace pincheck
