// A CUPTI client for tests: subscribes, collects records and calls, and goes away again at the end of its scope. The
// library is found at run time, so that a program that uses it runs on machines without CUPTI.
#pragma once

#include <cupti.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

namespace conformance {

struct Cupti {
#define CUPTI_FUNCTION(name) decltype(&::name) name = nullptr;
#include "cupti_functions.def"
#undef CUPTI_FUNCTION
};

// Null, and why, when there is no libcupti.
const Cupti* cupti(std::string* why = nullptr);

// A callback of the driver or runtime domain.
struct Call {
    CUpti_CallbackDomain domain{};
    CUpti_CallbackId id = 0;
    CUpti_ApiCallbackSite site{};
    std::string name;
    std::uint32_t correlation = 0;
    int result = 0;             // at the exit
    std::uint64_t carried = 0;  // what the entry callback left for the exit one
};

class Profiler {
  public:
    // Subscribes and enables the kinds; one at a time. What went wrong is a failure of the test.
    explicit Profiler(std::initializer_list<CUpti_ActivityKind> kinds);
    ~Profiler();  // flushes, disables the kinds, unsubscribes
    Profiler(const Profiler&) = delete;
    Profiler& operator=(const Profiler&) = delete;

    void enable(CUpti_CallbackDomain domain, CUpti_CallbackId id);
    void enable(CUpti_CallbackDomain domain);

    // Hands over what is complete; the caller has synchronised. Records and calls come in the order of their arrival.
    void flush(std::uint32_t flag = 0);
    template <typename Record>
    std::vector<Record> records(CUpti_ActivityKind kind) {
        std::vector<Record> found;
        for (const auto& bytes : of_kind(kind)) {
            Record record{};
            std::memcpy(&record, bytes.data(), std::min(sizeof record, bytes.size()));
            found.push_back(record);
        }
        return found;
    }
    std::vector<CUpti_ActivityMemcpy6> copies() { return records<CUpti_ActivityMemcpy6>(CUPTI_ACTIVITY_KIND_MEMCPY); }
    std::vector<Call> calls() const;
    // Of calls and synchronisations: how often the synchronisation domain called.
    int synchronisations() const;
    void forget();

    CUpti_SubscriberHandle subscriber() const { return subscriber_; }

    // What the buffers are that it gives to CUPTI from now on: their size, 0 for none, and how many records go into
    // one.
    static void give_buffers(std::size_t size, std::size_t records = 0);
    // How often CUPTI asked for a buffer and handed one back.
    static int buffers_given();
    static int buffers_returned();

  private:
    std::vector<std::vector<char>> of_kind(CUpti_ActivityKind kind);

    std::vector<CUpti_ActivityKind> kinds_;
    CUpti_SubscriberHandle subscriber_ = nullptr;
};

}  // namespace conformance
