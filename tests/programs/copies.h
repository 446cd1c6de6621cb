// The body of every `copies_*` program: a known number of copies of every kind, each at its own call site, all data
// checked, and a ledger of what was done on stdout. Include api_runtime.h or api_driver.h first.
//
// Must be recorded: exactly the rows of the ledger (sites, counts, bytes, failures, copies followed at once by a wait)
// and, live at exit, the two ranges that are never released.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "ledger.h"

// Out of line, so that the return address of the call lies in a function of this name.
#define COPIES_SITE __attribute__((noinline))

inline constexpr std::size_t kBytes = 24 * 1024;
inline constexpr std::uint64_t kRepeats = 3;
inline volatile std::uint64_t repeats = kRepeats;  // volatile: an unrolled loop would be several call sites
inline constexpr const char* kDefaultStream = api::kPerThread ? "per_thread_default" : "legacy_default";

inline Ledger ledger;

inline void check(api::Status status, const char* what) {
    if (status != 0) {
        std::fprintf(stderr, "%s failed: %d\n", what, status);
        std::exit(3);
    }
}

// A pin, release or wait that succeeded.
inline void did(const char* type, const char* function, const char* name, const char* kind, std::uint64_t bytes = 0,
                const char* stream = "none") {
    LedgerRow row;
    row.function = std::string(type) + function;
    row.api = name;
    row.kind = kind;
    row.stream = stream;
    row.calls = 1;
    row.bytes = bytes;
    ledger.add(row);
}

// ---- Host memory of each kind. allocate and release are call sites of their own.

struct Pageable {
    static constexpr const char* kType = "Pageable";
    static constexpr LedgerMemory memory() { return {"pageable", 0}; }
    static void* allocate(std::size_t bytes) { return std::malloc(bytes); }
    static void release(void* p) { std::free(p); }
};

struct Pinned {
    static constexpr const char* kType = "Pinned";
    static LedgerMemory memory() { return {"pinned", 0}; }
    COPIES_SITE static void* allocate(std::size_t bytes) {
        void* p = nullptr;
        check(api::pin_default(&p, bytes), "pin");
        did(kType, "::allocate", api::kPinDefault, "allocate", bytes);
        return p;
    }
    COPIES_SITE static void release(void* p) {
        check(api::unpin(p), "unpin");
        did(kType, "::release", api::kUnpin, "release");
    }
};

// cudaHostAlloc and cuMemHostAlloc share the bits: portable 1, mapped 2, write-combined 4.
template <unsigned kFlags>
struct PinnedWith {
    static constexpr const char* kType = kFlags == 0   ? "PinnedWith<0u>"
                                         : kFlags == 1 ? "PinnedWith<1u>"
                                         : kFlags == 2 ? "PinnedWith<2u>"
                                                       : "PinnedWith<4u>";
    static LedgerMemory memory() { return {"pinned", static_cast<int>(kFlags)}; }
    COPIES_SITE static void* allocate(std::size_t bytes) {
        void* p = nullptr;
        check(api::pin(&p, bytes, kFlags), "pin");
        did(kType, "::allocate", api::kPin, "allocate", bytes);
        return p;
    }
    COPIES_SITE static void release(void* p) {
        check(api::unpin(p), "unpin");
        did(kType, "::release", api::kUnpin, "release");
    }
};
using PinnedPlain = PinnedWith<0>;
using Portable = PinnedWith<1>;
using Mapped = PinnedWith<2>;
using WriteCombined = PinnedWith<4>;

inline void* page_aligned(std::size_t bytes) {
    void* p = nullptr;
    check(posix_memalign(&p, 4096, bytes), "posix_memalign");
    return p;
}

template <unsigned kFlags>
struct RegisteredWith {
    static constexpr const char* kType = kFlags == 0 ? "RegisteredWith<0u>" : "RegisteredWith<8u>";
    static LedgerMemory memory() { return {"registered", static_cast<int>(kFlags)}; }
    COPIES_SITE static void* allocate(std::size_t bytes) {
        void* const p = page_aligned(bytes);
        check(api::register_host(p, bytes, kFlags), "register");
        did(kType, "::allocate", api::kRegister, "allocate", bytes);
        return p;
    }
    COPIES_SITE static void release(void* p) {
        check(api::unregister_host(p), "unregister");
        did(kType, "::release", api::kUnregister, "release");
        std::free(p);
    }
};
using Registered = RegisteredWith<0>;
using ReadOnly = RegisteredWith<8>;

struct Managed {
    static constexpr const char* kType = "Managed";
    static LedgerMemory memory() { return {"managed", -1}; }
    COPIES_SITE static void* allocate(std::size_t bytes) {
        void* p = nullptr;
        check(api::managed_alloc(&p, bytes), "managed");
        did(kType, "::allocate", api::kManaged, "allocate", bytes);
        return p;
    }
    static void release(void* p) { check(api::managed_free(p), "free managed"); }
};

// ---- Copies

struct Lane {
    void* device = nullptr;
    void* device2 = nullptr;
    api::Stream stream = nullptr;
    api::Event event = nullptr;
};

inline const LedgerMemory kDevice{"device", -1};

inline void copied(const std::string& function, const char* name, const char* direction, const char* stream,
                   const LedgerMemory& destination, const LedgerMemory& source, std::uint64_t calls,
                   std::uint64_t then_synchronized = 0) {
    ledger.add(
        {function, name, "copy", direction, stream, destination, source, calls, 0, calls * kBytes, then_synchronized});
}

template <class M>
std::string of(const char* function) {
    return std::string(function) + "<" + M::kType + ">";
}

// Not waited for by the next call: an event record lies between.
template <class M>
COPIES_SITE void upload_async(const Lane& lane, const void* host) {
    for (std::uint64_t i = 0; i < repeats; ++i) {
        check(api::upload_async(lane.device, host, kBytes, lane.stream), "upload_async");
        check(api::event_record(lane.event, lane.stream), "event_record");
    }
    copied(of<M>("upload_async"), api::kUploadAsync, "host_to_device", "created", kDevice, M::memory(), kRepeats);
}

template <class M>
COPIES_SITE void download_async(const Lane& lane, void* host) {
    for (std::uint64_t i = 0; i < repeats; ++i) {
        check(api::download_async(host, lane.device, kBytes, lane.stream), "download_async");
        check(api::event_record(lane.event, lane.stream), "event_record");
    }
    copied(of<M>("download_async"), api::kDownloadAsync, "device_to_host", "created", M::memory(), kDevice, kRepeats);
}

// Waited for at once, by the stream's synchronisation.
template <class M>
COPIES_SITE void upload_then_wait(const Lane& lane, const void* host) {
    check(api::upload_async(lane.device, host, kBytes, lane.stream), "upload_async");
    check(api::stream_sync(lane.stream), "stream_sync");
    const std::string function = of<M>("upload_then_wait");
    copied(function, api::kUploadAsync, "host_to_device", "created", kDevice, M::memory(), 1, 1);
    did("", function.c_str(), api::kStreamSync, "synchronize", 0, "created");
}

template <class M>
COPIES_SITE void download_then_wait(const Lane& lane, void* host) {
    check(api::download_async(host, lane.device, kBytes, lane.stream), "download_async");
    check(api::stream_sync(lane.stream), "stream_sync");
    const std::string function = of<M>("download_then_wait");
    copied(function, api::kDownloadAsync, "device_to_host", "created", M::memory(), kDevice, 1, 1);
    did("", function.c_str(), api::kStreamSync, "synchronize", 0, "created");
}

template <class M>
COPIES_SITE void upload(const Lane& lane, const void* host) {
    check(api::upload(lane.device, host, kBytes), "upload");
    check(api::event_record(lane.event, lane.stream), "event_record");
    copied(of<M>("upload"), api::kUpload, "host_to_device", kDefaultStream, kDevice, M::memory(), 1);
}

template <class M>
COPIES_SITE void download(const Lane& lane, void* host) {
    check(api::download(host, lane.device, kBytes), "download");
    check(api::event_record(lane.event, lane.stream), "event_record");
    copied(of<M>("download"), api::kDownload, "device_to_host", kDefaultStream, M::memory(), kDevice, 1);
}

// Kind Default: the direction follows from what the pointers are.
template <class M>
COPIES_SITE void upload_default(const Lane& lane, const void* host) {
    check(api::copy_async(lane.device, host, kBytes, lane.stream), "copy_async");
    check(api::event_record(lane.event, lane.stream), "event_record");
    copied(of<M>("upload_default"), api::kCopyAsync, "host_to_device", "created", kDevice, M::memory(), 1);
}

template <class M>
COPIES_SITE void download_default(const Lane& lane, void* host) {
    check(api::copy_async(host, lane.device, kBytes, lane.stream), "copy_async");
    check(api::event_record(lane.event, lane.stream), "event_record");
    copied(of<M>("download_default"), api::kCopyAsync, "device_to_host", "created", M::memory(), kDevice, 1);
}

// Both ends are host memory, which the program's author did not notice.
COPIES_SITE inline void copy_between_hosts(const Lane& lane, void* to, const void* from) {
    check(api::copy(to, from, kBytes), "copy");
    check(api::event_record(lane.event, lane.stream), "event_record");
    copied("copy_between_hosts", api::kCopy, "host_to_host", kDefaultStream, Pageable::memory(), Pageable::memory(), 1);
}

COPIES_SITE inline void copy_on_device(const Lane& lane) {
    check(api::device_copy_async(lane.device2, lane.device, kBytes, lane.stream), "device_copy_async");
    check(api::event_record(lane.event, lane.stream), "event_record");
    copied("copy_on_device", api::kDeviceCopyAsync, "device_to_device", "created", kDevice, kDevice, 1);
}

template <class M>
COPIES_SITE void upload_null_stream(const Lane& lane, const void* host) {
    check(api::upload_async(lane.device, host, kBytes, nullptr), "upload_async");
    check(api::stream_sync(nullptr), "stream_sync");
    const std::string function = of<M>("upload_null_stream");
    copied(function, api::kUploadAsync, "host_to_device", kDefaultStream, kDevice, M::memory(), 1, 1);
    did("", function.c_str(), api::kStreamSync, "synchronize", 0, kDefaultStream);
}

template <class M>
COPIES_SITE void upload_legacy_stream(const Lane& lane, const void* host) {
    check(api::upload_async(lane.device, host, kBytes, api::kStreamLegacy), "upload_async");
    check(api::event_record(lane.event, lane.stream), "event_record");
    copied(of<M>("upload_legacy_stream"), api::kUploadAsync, "host_to_device", "legacy_default", kDevice, M::memory(),
           1);
}

template <class M>
COPIES_SITE void upload_per_thread_stream(const Lane& lane, const void* host) {
    check(api::upload_async(lane.device, host, kBytes, api::kStreamPerThread), "upload_async");
    check(api::event_record(lane.event, lane.stream), "event_record");
    copied(of<M>("upload_per_thread_stream"), api::kUploadAsync, "host_to_device", "per_thread_default", kDevice,
           M::memory(), 1);
}

// The range straddles the end of a registration: CUDA refuses it, and the tool must not count bytes for it.
COPIES_SITE inline void upload_straddling(const Lane& lane, const void* host) {
    const api::Status status = api::upload_async(lane.device, host, kBytes, lane.stream);
    check(api::event_record(lane.event, lane.stream), "event_record");
    check(status == 1 ? 0 : 1, "upload of a partly registered range to be refused");
    ledger.add({"upload_straddling",
                api::kUploadAsync,
                "copy",
                "host_to_device",
                "created",
                kDevice,
                {"partly_registered", -1},
                1,
                1,
                0,
                0});
}

COPIES_SITE inline void download_straddling(const Lane& lane, void* host) {
    const api::Status status = api::download_async(host, lane.device, kBytes, lane.stream);
    check(api::event_record(lane.event, lane.stream), "event_record");
    check(status == 1 ? 0 : 1, "download to a partly registered range to be refused");
    ledger.add({"download_straddling",
                api::kDownloadAsync,
                "copy",
                "device_to_host",
                "created",
                {"partly_registered", -1},
                kDevice,
                1,
                1,
                0,
                0});
}

// One call site reached from two callers.
template <class M>
COPIES_SITE void shared_upload(const Lane& lane, const void* host) {
    check(api::upload_async(lane.device, host, kBytes, lane.stream), "upload_async");
    check(api::event_record(lane.event, lane.stream), "event_record");
    copied(of<M>("shared_upload"), api::kUploadAsync, "host_to_device", "created", kDevice, M::memory(), 1);
}

template <class M>
COPIES_SITE void first_caller(const Lane& lane, const void* host) {
    shared_upload<M>(lane, host);
    asm volatile("" ::: "memory");
}

template <class M>
COPIES_SITE void second_caller(const Lane& lane, const void* host) {
    shared_upload<M>(lane, host);
    asm volatile("" ::: "memory");
}

template <class M>
COPIES_SITE void thread_upload(const Lane& lane, const void* host) {
    for (std::uint64_t i = 0; i < repeats; ++i) {
        check(api::upload_async(lane.device, host, kBytes, lane.stream), "upload_async");
        check(api::event_record(lane.event, lane.stream), "event_record");
    }
    copied(of<M>("thread_upload"), api::kUploadAsync, "host_to_device", "created", kDevice, M::memory(), kRepeats);
}

// ---- The program

inline unsigned char pattern(std::size_t i, unsigned seed) {
    return static_cast<unsigned char>(i * 131 + seed * 29 + (i >> 8));
}

inline void fill(void* p, unsigned seed) {
    auto* const bytes = static_cast<unsigned char*>(p);
    for (std::size_t i = 0; i < kBytes; ++i) {
        bytes[i] = pattern(i, seed);
    }
}

inline bool holds(const void* p, unsigned seed) {
    const auto* const bytes = static_cast<const unsigned char*>(p);
    for (std::size_t i = 0; i < kBytes; ++i) {
        if (bytes[i] != pattern(i, seed)) {
            return false;
        }
    }
    return true;
}

inline Lane make_lane() {
    Lane lane;
    check(api::device_alloc(&lane.device, kBytes), "device_alloc");
    check(api::device_alloc(&lane.device2, kBytes), "device_alloc");
    check(api::stream_create(&lane.stream), "stream_create");
    check(api::event_create(&lane.event), "event_create");
    return lane;
}

inline void end_lane(const Lane& lane) {
    check(api::event_destroy(lane.event), "event_destroy");
    check(api::stream_destroy(lane.stream), "stream_destroy");
    check(api::device_free(lane.device), "device_free");
    check(api::device_free(lane.device2), "device_free");
}

// Up and down, asynchronous and synchronous, with and without a wait. True when every byte came back.
template <class M>
bool round_trips(const Lane& lane, unsigned seed) {
    void* const up = M::allocate(kBytes);
    void* const down = M::allocate(kBytes);
    bool ok = true;
    fill(up, seed);
    std::memset(down, 0, kBytes);
    upload_async<M>(lane, up);
    check(api::device_sync(), "device_sync");
    download_async<M>(lane, down);
    check(api::device_sync(), "device_sync");
    ok = ok && holds(down, seed);
    fill(up, seed + 1);
    upload_then_wait<M>(lane, up);
    download_then_wait<M>(lane, down);
    ok = ok && holds(down, seed + 1);
    fill(up, seed + 2);
    upload<M>(lane, up);
    check(api::device_sync(), "device_sync");
    download<M>(lane, down);
    ok = ok && holds(down, seed + 2);
    M::release(up);
    M::release(down);
    return ok;
}

template <class M>
bool variations(const Lane& lane, unsigned seed) {
    void* const host = M::allocate(kBytes);
    fill(host, seed);
    upload_default<M>(lane, host);
    check(api::device_sync(), "device_sync");
    std::memset(host, 0, kBytes);
    download_default<M>(lane, host);
    check(api::device_sync(), "device_sync");
    const bool ok = holds(host, seed);
    upload_null_stream<M>(lane, host);
    upload_legacy_stream<M>(lane, host);
    upload_per_thread_stream<M>(lane, host);
    check(api::device_sync(), "device_sync");
    first_caller<M>(lane, host);
    second_caller<M>(lane, host);
    check(api::device_sync(), "device_sync");
    M::release(host);
    return ok;
}

inline bool read_only(const Lane& lane, unsigned seed) {
    void* const host = page_aligned(kBytes);
    fill(host, seed);
    std::free(host);
    void* const source = ReadOnly::allocate(kBytes);
    fill(source, seed);
    upload_then_wait<ReadOnly>(lane, source);
    void* const back = Pageable::allocate(kBytes);
    download_then_wait<Pageable>(lane, back);
    const bool ok = holds(back, seed);
    ReadOnly::release(source);
    Pageable::release(back);
    return ok;
}

COPIES_SITE inline void straddling(const Lane& lane) {
    auto* const block = static_cast<unsigned char*>(page_aligned(2 * kBytes));
    fill(block, 1);
    check(api::register_host(block, kBytes, 0), "register");
    did("", "straddling", api::kRegister, "allocate", kBytes);
    upload_straddling(lane, block + kBytes / 2);
    download_straddling(lane, block + kBytes / 2);
    check(api::unregister_host(block), "unregister");
    did("", "straddling", api::kUnregister, "release");
    std::free(block);
}

inline bool between_hosts(const Lane& lane) {
    void* const from = Pageable::allocate(kBytes);
    void* const to = Pageable::allocate(kBytes);
    fill(from, 77);
    copy_between_hosts(lane, to, from);
    const bool ok = holds(to, 77);
    Pageable::release(from);
    Pageable::release(to);
    return ok;
}

inline void thread_body(int) {
    check(api::start_thread(), "start_thread");
    const Lane lane = make_lane();
    void* const pinned = Pinned::allocate(kBytes);
    void* const pageable = Pageable::allocate(kBytes);
    fill(pinned, 5);
    fill(pageable, 6);
    thread_upload<Pinned>(lane, pinned);
    thread_upload<Pageable>(lane, pageable);
    check(api::device_sync(), "device_sync");
    Pinned::release(pinned);
    Pageable::release(pageable);
    end_lane(lane);
}

inline int copies_main() {
    check(api::start(), "start");
    const Lane lane = make_lane();
    bool ok = true;
    ok = round_trips<Pageable>(lane, 1) && ok;
    ok = round_trips<Pinned>(lane, 4) && ok;
    ok = round_trips<PinnedPlain>(lane, 7) && ok;
    ok = round_trips<Portable>(lane, 10) && ok;
    ok = round_trips<Mapped>(lane, 13) && ok;
    ok = round_trips<WriteCombined>(lane, 16) && ok;
    ok = round_trips<Registered>(lane, 19) && ok;
    ok = round_trips<Managed>(lane, 22) && ok;
    ok = read_only(lane, 25) && ok;
    ok = variations<Pageable>(lane, 28) && ok;
    ok = variations<Pinned>(lane, 31) && ok;
    ok = between_hosts(lane) && ok;
    copy_on_device(lane);
    check(api::device_sync(), "device_sync");
    straddling(lane);

    std::thread one(thread_body, 1);
    std::thread two(thread_body, 2);
    one.join();
    two.join();
    for (int i = 0; i < 3; ++i) {
        ledger.used_thread();
    }

    // Never released: live when the program ends.
    Portable::allocate(kBytes / 2);
    Registered::allocate(kBytes / 4);
    ledger.live({"pinned", kBytes / 2, 1});
    ledger.live({"registered", kBytes / 4, 0});

    end_lane(lane);
    ledger.print(ok);
    return ok ? 0 : 1;
}
