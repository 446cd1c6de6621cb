// What the stand-in driver tells the stand-in profiler library. A private interface, versioned: both sides come from
// one build, and a library of another build is refused. All functions may be called by any thread; none is called with
// a lock of the driver held, and none throws.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

constexpr std::uint32_t kSimcudaObserverVersion = 1;

// Values of CUpti_CallbackDomain.
enum SimcudaDomain : std::uint32_t { kSimcudaDriver = 1, kSimcudaRuntime = 2 };

// Handles are the driver's; ids count from 1 and are never used again.
struct SimcudaContextName {
    void* handle;  // CUcontext, null: none
    std::uint32_t id;
    int device;
};
struct SimcudaStreamName {
    void* handle;  // CUstream
    std::uint32_t id;
    std::uint32_t padding;
};

// One call of an API function, on the caller's stack while it lasts.
struct SimcudaCall {
    std::uint32_t domain;
    // Counts from 1. A driver call inside a runtime call has the runtime call's number.
    std::uint32_t correlation;
    const char* symbol;  // as exported; lives as long as the process
    SimcudaContextName context;
    std::uint64_t started;  // the observer's, from begin to end
    std::uint64_t data;     // the observer's
    SimcudaCall* outer;     // the driver's: the thread's call around this one
};

// Values of CUpti_ActivityMemoryKind.
enum SimcudaMemory : std::uint8_t {
    kSimcudaPageable = 1,
    kSimcudaPinned = 2,
    kSimcudaDevice = 3,
    kSimcudaArray = 4,
    kSimcudaManaged = 5,
};

enum class SimcudaWorkKind : std::uint8_t { copy, fill, kernel };

// A copy, memset or kernel on its way through an engine.
struct SimcudaWork {
    SimcudaWorkKind kind;
    bool asynchronous;  // as its entry point is called
    SimcudaMemory to;   // of a memset and a copy
    SimcudaMemory from;
    SimcudaContextName context;
    SimcudaContextName to_context;  // of device memory at that end, else with a null handle
    SimcudaContextName from_context;
    SimcudaStreamName stream;
    std::uint32_t correlation;  // of the call that issued it; a graph's launch for what is in the graph
    std::uint32_t value;        // of a memset
    std::uint64_t bytes;
    std::uint64_t start;  // by the observer's clock; 0: has not begun
    std::uint64_t end;
    const char* kernel;  // mangled name
    std::uint32_t grid[3];
    std::uint32_t block[3];
    std::uint32_t shared_bytes;
    void* record;  // the observer's, from issued to done
};

enum class SimcudaWaitKind : std::uint8_t {
    queue_full,      // for a slot in the stream's queue
    module_loading,  // at a kernel's first launch
    event,           // cuEventSynchronize
    stream_event,    // cuStreamWaitEvent, which does not wait
    stream,
    context,
};

// Time that the host spent inside a call.
struct SimcudaWait {
    SimcudaWaitKind kind;
    SimcudaContextName context;
    SimcudaStreamName stream;  // of the context's kind none
    std::uint32_t correlation;
    std::uint64_t start;
    std::uint64_t end;
    int result;  // CUresult
};

struct SimcudaObserver {
    std::uint64_t (*now)();
    void (*call_begins)(SimcudaCall* call);
    void (*call_ends)(SimcudaCall* call, int result);
    // Before the work can begin. False: the observer does not want it, and is not told of its end.
    bool (*work_issued)(SimcudaWork* work);
    // By an engine's or the caller's thread, before anybody can learn that the work is done; with no start for work
    // that was not done after all.
    void (*work_done)(SimcudaWork* work);
    void (*waited)(const SimcudaWait* wait);
    void (*context_created)(const SimcudaContextName* context);
    void (*context_destroyed)(const SimcudaContextName* context);
};

// What the driver does for the observer.
struct SimcudaDriver {
    // Null stops the calls; those of other threads that are under way still arrive. The table stays the caller's, and
    // must live as long as the process.
    void (*observe)(const SimcudaObserver* observer);
    // Calls `each` for every context that is alive.
    void (*contexts)(void (*each)(const SimcudaContextName* context, void* data), void* data);
    // The id of a context or stream of the current or given context; 0 for a handle that is none.
    std::uint32_t (*context_id)(void* context);
    std::uint32_t (*stream_id)(void* context, void* stream, bool per_thread);
    // Device memory without an address. False when there is not enough.
    bool (*take_memory)(int device, std::size_t bytes);
    void (*give_memory)(int device, std::size_t bytes);
};

// What the driver does for the stand-in runtime, by cuGetExportTable.
struct SimcudaRuntimeCalls {
    std::size_t size;  // of this table, as in every table of cuGetExportTable
    // False: nobody observes, and `end` must not be called.
    bool (*begin)(SimcudaCall* call, const char* symbol);
    void (*end)(SimcudaCall* call, int result);
};
constexpr unsigned char kSimcudaRuntimeCallsId[16] = {'s', 'i', 'm', 'c', 'u', 'd', 'a', 'r',
                                                      't', 'c', 'a', 'l', 'l', 's', 0,   1};

// Exported by libcuda.so.1; null for another version.
const SimcudaDriver* simcuda_driver(std::uint32_t version);
}
