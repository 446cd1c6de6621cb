// The second opinion: counts the copies and memsets that CUPTI reports, by kind, in the very run that the tool records.
// Loaded by the driver through CUDA_INJECTION64_PATH; writes one JSON object a process to CUPTI_COUNT_OUT (%p: process
// id) at exit.
//
// libcupti is opened at run time, so that the library loads everywhere; without it the file says why.
#include <cupti.h>
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>

namespace {

// The first fields of CUpti_ActivityMemcpy, and of CUpti_ActivityMemcpyPtoP, the same in all their versions.
struct MemcpyPrefix {
    CUpti_ActivityKind kind;
    std::uint8_t copy_kind;
    std::uint8_t source_kind;
    std::uint8_t destination_kind;
    std::uint8_t flags;
    std::uint64_t bytes;
};

constexpr int kKinds = 16;
constexpr int kMemoryKinds = 8;
std::atomic<std::uint64_t> copies[kKinds];
std::atomic<std::uint64_t> bytes[kKinds];
// Host side of uploads and downloads, by CUpti_ActivityMemoryKind: 1 pageable, 2 pinned, 5 managed.
std::atomic<std::uint64_t> host_side[3][kMemoryKinds];
std::atomic<std::uint64_t> memsets{0};
std::atomic<std::uint64_t> dropped{0};
std::string problem;

struct Cupti {
    decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
    decltype(&cuptiActivityEnable) enable = nullptr;
    decltype(&cuptiActivityFlushAll) flush = nullptr;
    decltype(&cuptiActivityGetNextRecord) next_record = nullptr;
    decltype(&cuptiActivityGetNumDroppedRecords) dropped_records = nullptr;
};
Cupti cupti;

void CUPTIAPI buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
    constexpr std::size_t kSize = std::size_t{1} << 20;
    *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, kSize));
    *size = *buffer != nullptr ? kSize : 0;
    *max_records = 0;
}

void CUPTIAPI buffer_completed(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t,
                               std::size_t valid) {
    CUpti_Activity* record = nullptr;
    while (cupti.next_record(buffer, valid, &record) == CUPTI_SUCCESS) {
        if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
            memsets += 1;
            continue;
        }
        // Copies between two devices have a record of their own.
        if (record->kind != CUPTI_ACTIVITY_KIND_MEMCPY && record->kind != CUPTI_ACTIVITY_KIND_MEMCPY2) {
            continue;
        }
        const auto* const copy = reinterpret_cast<const MemcpyPrefix*>(record);
        const int kind = copy->copy_kind < kKinds ? copy->copy_kind : 0;
        copies[kind] += 1;
        bytes[kind] += copy->bytes;
        if ((kind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD || kind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOA) &&
            copy->source_kind < kMemoryKinds) {
            host_side[1][copy->source_kind] += 1;
        }
        if ((kind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH || kind == CUPTI_ACTIVITY_MEMCPY_KIND_ATOH) &&
            copy->destination_kind < kMemoryKinds) {
            host_side[2][copy->destination_kind] += 1;
        }
    }
    std::size_t lost = 0;
    if (cupti.dropped_records(context, stream, &lost) == CUPTI_SUCCESS) {
        dropped += lost;
    }
    std::free(buffer);
}

void write_result() {
    if (cupti.flush != nullptr) {
        cupti.flush(1);  // CUPTI_ACTIVITY_FLAG_FLUSH_FORCED
    }
    const char* const pattern = std::getenv("CUPTI_COUNT_OUT");
    std::string path = pattern != nullptr ? pattern : "cupti-%p.json";
    const std::size_t place = path.find("%p");
    if (place != std::string::npos) {
        path.replace(place, 2, std::to_string(getpid()));
    }
    std::FILE* const file = std::fopen(path.c_str(), "w");
    if (file == nullptr) {
        std::perror(path.c_str());
        return;
    }
    // Arrays are device memory, and so are peers.
    const auto sum = [](const std::atomic<std::uint64_t>* of, std::initializer_list<int> kinds) {
        unsigned long long total = 0;
        for (const int kind : kinds) {
            total += of[kind].load();
        }
        return total;
    };
    static constexpr std::initializer_list<int> kUploads = {CUPTI_ACTIVITY_MEMCPY_KIND_HTOD,
                                                            CUPTI_ACTIVITY_MEMCPY_KIND_HTOA};
    static constexpr std::initializer_list<int> kDownloads = {CUPTI_ACTIVITY_MEMCPY_KIND_DTOH,
                                                              CUPTI_ACTIVITY_MEMCPY_KIND_ATOH};
    static constexpr std::initializer_list<int> kInside = {
        CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, CUPTI_ACTIVITY_MEMCPY_KIND_ATOA, CUPTI_ACTIVITY_MEMCPY_KIND_ATOD,
        CUPTI_ACTIVITY_MEMCPY_KIND_DTOA, CUPTI_ACTIVITY_MEMCPY_KIND_PTOP};
    std::fprintf(file, "{\"pid\": %d, \"problem\": \"%s\", \"dropped\": %llu,\n", static_cast<int>(getpid()),
                 problem.c_str(), static_cast<unsigned long long>(dropped.load()));
    std::fprintf(file, " \"htod\": %llu, \"dtoh\": %llu, \"dtod\": %llu, \"htoh\": %llu, \"memsets\": %llu,\n",
                 sum(copies, kUploads), sum(copies, kDownloads), sum(copies, kInside),
                 sum(copies, {CUPTI_ACTIVITY_MEMCPY_KIND_HTOH}), static_cast<unsigned long long>(memsets.load()));
    std::fprintf(file, " \"other_kinds\": %llu,\n", sum(copies, {CUPTI_ACTIVITY_MEMCPY_KIND_UNKNOWN}));
    std::fprintf(file, " \"htod_bytes\": %llu, \"dtoh_bytes\": %llu, \"dtod_bytes\": %llu,\n", sum(bytes, kUploads),
                 sum(bytes, kDownloads), sum(bytes, kInside));
    for (const int direction : {1, 2}) {
        std::fprintf(file, " \"%s_host\": {\"pageable\": %llu, \"pinned\": %llu, \"managed\": %llu}%s\n",
                     direction == 1 ? "htod" : "dtoh", static_cast<unsigned long long>(host_side[direction][1].load()),
                     static_cast<unsigned long long>(host_side[direction][2].load()),
                     static_cast<unsigned long long>(host_side[direction][5].load()), direction == 1 ? "," : "}");
    }
    std::fclose(file);
}

template <class Function>
bool find(void* library, Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
}

}  // namespace

// The driver calls this when it is initialised.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
    static std::atomic<bool> done{false};
    if (done.exchange(true)) {
        return 1;
    }
    std::atexit(write_result);
    void* library = nullptr;
    for (const char* name : {CUPTI_LIBRARY_NAME, "libcupti.so"}) {
        library = library != nullptr ? library : dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    if (library == nullptr) {
        problem = "libcupti was not found";
        return 1;
    }
    if (!find(library, cupti.register_callbacks, "cuptiActivityRegisterCallbacks") ||
        !find(library, cupti.enable, "cuptiActivityEnable") || !find(library, cupti.flush, "cuptiActivityFlushAll") ||
        !find(library, cupti.next_record, "cuptiActivityGetNextRecord") ||
        !find(library, cupti.dropped_records, "cuptiActivityGetNumDroppedRecords")) {
        problem = "libcupti lacks a function";
        return 1;
    }
    CUptiResult result = cupti.register_callbacks(buffer_requested, buffer_completed);
    for (const CUpti_ActivityKind kind :
         {CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET}) {
        result = result == CUPTI_SUCCESS ? cupti.enable(kind) : result;
    }
    if (result != CUPTI_SUCCESS) {
        problem = "CUPTI refused: " + std::to_string(static_cast<int>(result));
    }
    return 1;
}
