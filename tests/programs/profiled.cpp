// A program with a profiler of its own: a client of CUPTI, as PyTorch's and JAX's profilers are, by references (built
// with PROFILED_LINKED) or by dlsym. Makes 10 + 10 uploads, then 7 + 7, then waits for them.
//
//   profiled WHEN [HOW] [END]
//   WHEN  never
//         cramped  never, and the first CUDA calls come from a thread with a small stack
//         before   the first CUDA call
//         within   that call is made inside cuptiSubscribe (by dlsym only; first_call_cupti.cpp)
//         after    the first uploads
//         busy     after them, while four other threads upload
//   HOW   subscribe, subscribe_v2, or activity (buffer callbacks without a subscription)
//   END   return (the default); wait: for a line on stdin before the end
//
// Prints what each CUPTI call returned and how many copies its own records had.
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "small.h"

namespace {

struct Functions {
    decltype(&cuptiSubscribe) subscribe;
    decltype(&cuptiSubscribe_v2) subscribe_v2;
    decltype(&cuptiUnsubscribe) unsubscribe;
    decltype(&cuptiActivityRegisterCallbacks) register_callbacks;
    decltype(&cuptiActivityEnable) enable;
    decltype(&cuptiActivityDisable) disable;
    decltype(&cuptiActivityFlushAll) flush;
    decltype(&cuptiActivityGetNextRecord) next_record;
};
Functions cupti;

void find_functions() {
#ifdef PROFILED_LINKED
    cupti = {&cuptiSubscribe,      &cuptiSubscribe_v2,    &cuptiUnsubscribe,      &cuptiActivityRegisterCallbacks,
             &cuptiActivityEnable, &cuptiActivityDisable, &cuptiActivityFlushAll, &cuptiActivityGetNextRecord};
#else
    const std::string name = "libcupti.so." + std::to_string(CUDART_VERSION / 1000);
    void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    const auto find = [&](auto& function, const char* symbol) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)> >(
            library != nullptr ? dlsym(library, symbol) : nullptr);
        if (function == nullptr) {
            std::printf("no %s\n", symbol);
            std::exit(3);
        }
    };
    find(cupti.subscribe, "cuptiSubscribe");
    find(cupti.subscribe_v2, "cuptiSubscribe_v2");
    find(cupti.unsubscribe, "cuptiUnsubscribe");
    find(cupti.register_callbacks, "cuptiActivityRegisterCallbacks");
    find(cupti.enable, "cuptiActivityEnable");
    find(cupti.disable, "cuptiActivityDisable");
    find(cupti.flush, "cuptiActivityFlushAll");
    find(cupti.next_record, "cuptiActivityGetNextRecord");
#endif
}

// Takes cuptiSubscribe from the library beside the program.
void find_subscribe_that_calls_cuda(const std::string& program) {
    const std::string path = program.substr(0, program.rfind('/') + 1) + "libcupti-first.so";
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    cupti.subscribe =
        reinterpret_cast<decltype(cupti.subscribe)>(library != nullptr ? dlsym(library, "cuptiSubscribe") : nullptr);
    if (cupti.subscribe == nullptr) {
        std::printf("no %s\n", path.c_str());
        std::exit(3);
    }
}

std::atomic<int> records{0};
std::atomic<int> foreign_buffers{0};
constexpr std::size_t kBuffer = 64 * 1024;
constexpr std::size_t kMark = 64;  // in front of every buffer: a stranger's has none
constexpr char kMarkText[] = "profiled.cpp";

void CUPTIAPI on_callback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}
void CUPTIAPI requested(std::uint8_t** buffer, std::size_t* size, std::size_t* most) {
    auto* memory = static_cast<std::uint8_t*>(std::aligned_alloc(kMark, kMark + kBuffer));
    std::memcpy(memory, kMarkText, sizeof kMarkText);
    *buffer = memory + kMark;
    *size = kBuffer;
    *most = 0;
}
void CUPTIAPI completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t size, std::size_t valid) {
    if (size != kBuffer || std::memcmp(buffer - kMark, kMarkText, sizeof kMarkText) != 0) {
        ++foreign_buffers;
        return;
    }
    CUpti_Activity* record = nullptr;
    while (cupti.next_record(buffer, valid, &record) == CUPTI_SUCCESS) {
        records += record->kind == CUPTI_ACTIVITY_KIND_MEMCPY ? 1 : 0;
    }
    std::free(buffer - kMark);
}

// On a thread whose stack is smaller than what CUPTI may need.
Small start_on_a_small_stack() {
    Small small;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 * 1024);
    pthread_t thread;
    const auto start = [](void* to) -> void* {
        *static_cast<Small*>(to) = small_start();
        return nullptr;
    };
    if (pthread_create(&thread, &attributes, start, &small) != 0) {
        std::exit(3);
    }
    pthread_join(thread, nullptr);
    return small;
}

CUpti_SubscriberHandle subscriber = nullptr;

void begin(const std::string& how) {
    int result = 0;
    if (how == "subscribe") {
        result = cupti.subscribe(&subscriber, reinterpret_cast<CUpti_CallbackFunc>(on_callback), nullptr);
    } else if (how == "subscribe_v2") {
        CUpti_SubscriberParams parameters{};
        parameters.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
        parameters.subscriberName = "profiled";
        result =
            cupti.subscribe_v2(&subscriber, reinterpret_cast<CUpti_CallbackFunc>(on_callback), nullptr, &parameters);
    }
    std::printf("%s %d\n", how.c_str(), result);
    std::printf("register %d\n", cupti.register_callbacks(requested, completed));
    std::printf("enable %d\n", cupti.enable(CUPTI_ACTIVITY_KIND_MEMCPY));
}

void end() {
    std::printf("disable %d\n", cupti.disable(CUPTI_ACTIVITY_KIND_MEMCPY));
    std::printf("flush %d\n", cupti.flush(1));
    if (subscriber != nullptr) {
        std::printf("unsubscribe %d\n", cupti.unsubscribe(subscriber));
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::string when = argc > 1 ? argv[1] : "never";
    const std::string how = argc > 2 ? argv[2] : "subscribe";
    const std::string ending = argc > 3 ? argv[3] : "return";
    const bool profiles = when != "never" && when != "cramped";
    if (profiles) {
        find_functions();
    }
    if (when == "within") {
        find_subscribe_that_calls_cuda(argv[0]);
    }
    if (when == "before" || when == "within") {
        begin(how);
    }
    const Small small = when == "cramped" ? start_on_a_small_stack() : small_start();
    int failed = small_uploads(small, 10);
    std::atomic<bool> stop{false};
    std::atomic<int> failed_elsewhere{0};
    std::vector<std::thread> threads;
    for (int i = 0; when == "busy" && i < 4; ++i) {
        threads.emplace_back([&] {
            while (!stop) {
                failed_elsewhere += small_uploads(small, 1);
            }
        });
    }
    if (when == "after" || when == "busy") {
        begin(how);
    }
    failed += small_uploads(small, 7);
    stop = true;
    for (std::thread& thread : threads) {
        thread.join();
    }
    failed += cudaDeviceSynchronize() != cudaSuccess ? 1 : 0;
    if (profiles) {
        end();
        if (when == "busy") {
            std::printf("records %s\n", records >= 14 ? "of the uploads after it at least" : "missing");
        } else {
            std::printf("records %d\n", records.load());
        }
        std::printf("foreign buffers %d\n", foreign_buffers.load());
    }
    std::printf("failed %d\n", failed + failed_elsewhere.load());
    std::fflush(stdout);
    if (ending == "wait") {
        std::puts("waiting");
        std::fflush(stdout);
        std::getchar();
    }
    small_end(small);
    return 0;
}
