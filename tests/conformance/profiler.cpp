#include "profiler.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>

namespace conformance {
namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 20;

struct Seen {
    std::mutex mutex;
    std::vector<std::vector<char>> records;  // each begins with its kind
    std::vector<Call> calls;
    int synchronisations = 0;
};
Seen& seen() {
    static Seen& instance = *new Seen;  // CUPTI may call after the end of main
    return instance;
}

std::atomic<std::size_t> g_buffer_size{kBuffer};
std::atomic<std::size_t> g_buffer_records{0};
std::atomic<int> g_given{0};
std::atomic<int> g_returned{0};

void CUPTIAPI requested(std::uint8_t** buffer, std::size_t* size, std::size_t* records) {
    *size = g_buffer_size;
    *records = g_buffer_records;
    *buffer = *size ? static_cast<std::uint8_t*>(std::aligned_alloc(8, (*size + 7) / 8 * 8)) : nullptr;
    g_given += *buffer != nullptr;
}

void CUPTIAPI completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
    ++g_returned;
    std::vector<const char*> begins;
    CUpti_Activity* record = nullptr;
    while (valid > 0 && cupti()->cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
        begins.push_back(reinterpret_cast<const char*>(record));
    begins.push_back(reinterpret_cast<const char*>(buffer) + valid);
    std::lock_guard lock(seen().mutex);
    for (std::size_t i = 0; i + 1 < begins.size(); ++i)
        seen().records.emplace_back(begins[i], begins[i + 1]);
    std::free(buffer);
}

void CUPTIAPI called(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
    std::lock_guard lock(seen().mutex);
    if (domain == CUPTI_CB_DOMAIN_SYNCHRONIZE)
        ++seen().synchronisations;
    if (domain != CUPTI_CB_DOMAIN_DRIVER_API && domain != CUPTI_CB_DOMAIN_RUNTIME_API)
        return;
    const auto& call = *static_cast<const CUpti_CallbackData*>(data);
    const bool exit = call.callbackSite == CUPTI_API_EXIT;
    if (!exit)
        *call.correlationData = call.correlationId + 1000;
    seen().calls.push_back({domain, id, call.callbackSite, call.functionName, call.correlationId,
                            exit ? *static_cast<const int*>(call.functionReturnValue) : 0,
                            exit ? *call.correlationData : 0});
}

Cupti open_library(std::string* why) {
    Cupti found;
    void* library = nullptr;
    for (const char* name : {CUPTI_LIBRARY_NAME, "libcupti.so"})
        library = library ? library : dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        *why = std::string("no ") + CUPTI_LIBRARY_NAME + " in the library path";
        return found;
    }
#define CUPTI_FUNCTION(name)                                                    \
    found.name = reinterpret_cast<decltype(found.name)>(dlsym(library, #name)); \
    if (!found.name)                                                            \
        *why = CUPTI_LIBRARY_NAME " has no " #name;
#include "cupti_functions.def"
#undef CUPTI_FUNCTION
    return found;
}

}  // namespace

const Cupti* cupti(std::string* why) {
    static std::string& problem = *new std::string;
    static const Cupti& library = *new Cupti(open_library(&problem));
    if (why)
        *why = problem;
    return problem.empty() ? &library : nullptr;
}

Profiler::Profiler(std::initializer_list<CUpti_ActivityKind> kinds) : kinds_(kinds) {
    give_buffers(kBuffer);
    forget();
    EXPECT_EQ(cupti()->cuptiSubscribe(&subscriber_, called, nullptr), CUPTI_SUCCESS);
    EXPECT_EQ(cupti()->cuptiActivityRegisterCallbacks(requested, completed), CUPTI_SUCCESS);
    for (const CUpti_ActivityKind kind : kinds_)
        EXPECT_EQ(cupti()->cuptiActivityEnable(kind), CUPTI_SUCCESS) << kind;
}

Profiler::~Profiler() {
    EXPECT_EQ(cupti()->cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), CUPTI_SUCCESS);
    for (const CUpti_ActivityKind kind : kinds_)
        EXPECT_EQ(cupti()->cuptiActivityDisable(kind), CUPTI_SUCCESS) << kind;
    EXPECT_EQ(cupti()->cuptiUnsubscribe(subscriber_), CUPTI_SUCCESS);
}

void Profiler::enable(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
    EXPECT_EQ(cupti()->cuptiEnableCallback(1, subscriber_, domain, id), CUPTI_SUCCESS);
}

void Profiler::enable(CUpti_CallbackDomain domain) {
    EXPECT_EQ(cupti()->cuptiEnableDomain(1, subscriber_, domain), CUPTI_SUCCESS);
}

void Profiler::flush(std::uint32_t flag) {
    EXPECT_EQ(cupti()->cuptiActivityFlushAll(flag), CUPTI_SUCCESS);
}

std::vector<std::vector<char>> Profiler::of_kind(CUpti_ActivityKind kind) {
    std::lock_guard lock(seen().mutex);
    std::vector<std::vector<char>> found;
    for (const auto& bytes : seen().records) {
        CUpti_ActivityKind its = CUPTI_ACTIVITY_KIND_INVALID;
        std::memcpy(&its, bytes.data(), sizeof its);
        if (its == kind)
            found.push_back(bytes);
    }
    return found;
}

std::vector<Call> Profiler::calls() const {
    std::lock_guard lock(seen().mutex);
    return seen().calls;
}

int Profiler::synchronisations() const {
    std::lock_guard lock(seen().mutex);
    return seen().synchronisations;
}

void Profiler::forget() {
    std::lock_guard lock(seen().mutex);
    seen().records.clear();
    seen().calls.clear();
    seen().synchronisations = 0;
}

void Profiler::give_buffers(std::size_t size, std::size_t records) {
    g_buffer_size = size;
    g_buffer_records = records;
}

int Profiler::buffers_given() {
    return g_given;
}

int Profiler::buffers_returned() {
    return g_returned;
}

}  // namespace conformance
