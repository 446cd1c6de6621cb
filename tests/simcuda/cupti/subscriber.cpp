#include "subscriber.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "names.h"

// As the header leaves it to the library.
struct CUpti_Subscriber_st {
    CUpti_CallbackFunc function;
    void* data;
};

namespace simcupti {
namespace {

constexpr CUpti_CallbackId kIds[CUPTI_CB_DOMAIN_SIZE] = {0,
                                                         CUPTI_DRIVER_TRACE_CBID_SIZE,
                                                         CUPTI_RUNTIME_TRACE_CBID_SIZE,
                                                         CUPTI_CBID_RESOURCE_SIZE,
                                                         CUPTI_CBID_SYNCHRONIZE_SIZE,
                                                         CUPTI_CBID_NVTX_SIZE,
                                                         CUPTI_CBID_STATE_SIZE};
constexpr std::size_t kMostIds = *std::max_element(std::begin(kIds), std::end(kIds));

std::mutex g_mutex;  // guards subscribing
// Subscribers stay allocated: another thread may be about to call one that has gone.
std::atomic<CUpti_SubscriberHandle> g_subscriber{nullptr};
std::string& subscribers_name() {
    static std::string& name = *new std::string;
    return name;
}
std::atomic<bool> g_enabled[CUPTI_CB_DOMAIN_SIZE][kMostIds];

bool known(CUpti_CallbackDomain domain) {
    return domain > CUPTI_CB_DOMAIN_INVALID && domain < CUPTI_CB_DOMAIN_SIZE;
}
bool known(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
    return known(domain) && id > 0 && id < kIds[domain];
}
bool current(CUpti_SubscriberHandle subscriber) {
    return subscriber && subscriber == g_subscriber;
}

void enable(CUpti_CallbackDomain domain, bool value) {
    for (CUpti_CallbackId id = 1; id < kIds[domain]; ++id)
        g_enabled[domain][id] = value;
}

// SIMCUDA_CUPTI_REFUSE, the result of every attempt to subscribe; CUPTI_SUCCESS without it.
CUptiResult refusal() {
    const char* text = std::getenv("SIMCUDA_CUPTI_REFUSE");
    return text && *text ? static_cast<CUptiResult>(std::strtol(text, nullptr, 10)) : CUPTI_SUCCESS;
}

CUptiResult subscribe(CUpti_SubscriberHandle* out, CUpti_CallbackFunc function, void* data, const char* name,
                      CUpti_SubscriberParams* params) {
    if (!out)
        return finish(CUPTI_ERROR_INVALID_PARAMETER);
    if (const CUptiResult refused = refusal(); refused != CUPTI_SUCCESS)
        return finish(refused);
    // Measured: CUPTI 13.0 on a machine without a driver.
    if (!connect())
        return finish(CUPTI_ERROR_UNKNOWN);
    std::lock_guard lock(g_mutex);
    if (g_subscriber) {
        if (params && params->oldSubscriberName && params->oldSubscriberSize > 0) {
            const std::size_t size = std::min(params->oldSubscriberSize - 1, subscribers_name().size());
            std::memcpy(params->oldSubscriberName, subscribers_name().data(), size);
            params->oldSubscriberName[size] = '\0';
        }
        return finish(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    }
    subscribers_name() = name ? std::string("CUPTI for ") + name : "CUPTI";
    *out = new CUpti_Subscriber_st{function, data};
    g_subscriber = *out;
    return CUPTI_SUCCESS;
}

}  // namespace

bool callback_enabled(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
    return known(domain, id) && g_subscriber.load(std::memory_order_relaxed) && g_enabled[domain][id] &&
           !InsideProgram::here();
}

void call_back(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
    if (!callback_enabled(domain, id))
        return;
    const CUpti_SubscriberHandle subscriber = g_subscriber;
    if (!subscriber || !subscriber->function)
        return;
    InsideProgram inside;
    subscriber->function(subscriber->data, domain, id, data);
}

void unsubscribe_all() {
    std::lock_guard lock(g_mutex);
    g_subscriber = nullptr;
    for (int domain = 1; domain < CUPTI_CB_DOMAIN_SIZE; ++domain)
        enable(static_cast<CUpti_CallbackDomain>(domain), false);
}

}  // namespace simcupti

using namespace simcupti;

SIM_EXPORT CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* out, CUpti_CallbackFunc function, void* data) {
    return subscribe(out, function, data, nullptr, nullptr);
}

SIM_EXPORT CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* out, CUpti_CallbackFunc function, void* data,
                                         CUpti_SubscriberParams* params) {
    if (params && params->structSize < CUpti_SubscriberParams_STRUCT_SIZE)
        return finish(CUPTI_ERROR_INVALID_PARAMETER);
    return subscribe(out, function, data, params ? params->subscriberName : nullptr, params);
}

SIM_EXPORT CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
    if (!current(subscriber))
        return finish(CUPTI_ERROR_INVALID_PARAMETER);
    unsubscribe_all();
    return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiGetCallbackState(uint32_t* out, CUpti_SubscriberHandle subscriber,
                                             CUpti_CallbackDomain domain, CUpti_CallbackId id) {
    if (!out || !current(subscriber) || !known(domain, id))
        return finish(CUPTI_ERROR_INVALID_PARAMETER);
    *out = g_enabled[domain][id];
    return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiEnableCallback(uint32_t value, CUpti_SubscriberHandle subscriber,
                                           CUpti_CallbackDomain domain, CUpti_CallbackId id) {
    if (!current(subscriber) || !known(domain, id))
        return finish(CUPTI_ERROR_INVALID_PARAMETER);
    g_enabled[domain][id] = value != 0;
    return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiEnableDomain(uint32_t value, CUpti_SubscriberHandle subscriber,
                                         CUpti_CallbackDomain domain) {
    if (!current(subscriber) || !known(domain))
        return finish(CUPTI_ERROR_INVALID_PARAMETER);
    enable(domain, value != 0);
    return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiEnableAllDomains(uint32_t value, CUpti_SubscriberHandle subscriber) {
    if (!current(subscriber))
        return finish(CUPTI_ERROR_INVALID_PARAMETER);
    for (int domain = 1; domain < CUPTI_CB_DOMAIN_SIZE; ++domain)
        enable(static_cast<CUpti_CallbackDomain>(domain), value != 0);
    return CUPTI_SUCCESS;
}
