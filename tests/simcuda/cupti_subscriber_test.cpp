// The subscriber of the stand-in libcupti.so.N and its callbacks.
#include <cstring>

#include "cupti_fixture.h"

using conformance::cupti;
using conformance::Profiler;

namespace {

TEST_F(Cupti, HasOneSubscriberAtATime) {
    CUpti_SubscriberHandle second = nullptr;
    {
        Profiler first{};
        EXPECT_EQ(cupti()->cuptiSubscribe(&second, nullptr, nullptr), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
        EXPECT_EQ(cupti()->cuptiGetLastError(), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
        EXPECT_EQ(cupti()->cuptiGetLastError(), CUPTI_SUCCESS);
    }
    EXPECT_EQ(cupti()->cuptiSubscribe(&second, nullptr, nullptr), CUPTI_SUCCESS);
    EXPECT_EQ(cupti()->cuptiUnsubscribe(second), CUPTI_SUCCESS);
    EXPECT_EQ(cupti()->cuptiUnsubscribe(second), CUPTI_ERROR_INVALID_PARAMETER);
}

TEST_F(Cupti, TellsWhoTheOtherSubscriberIs) {
    CUpti_SubscriberHandle first = nullptr, second = nullptr;
    char other[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN] = "";
    CUpti_SubscriberParams params{CUpti_SubscriberParams_STRUCT_SIZE, "test", other, sizeof other};
    ASSERT_EQ(cupti()->cuptiSubscribe_v2(&first, nullptr, nullptr, &params), CUPTI_SUCCESS);
    params.subscriberName = nullptr;
    EXPECT_EQ(cupti()->cuptiSubscribe_v2(&second, nullptr, nullptr, &params),
              CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    EXPECT_STREQ(other, "CUPTI for test");
    params.structSize = 0;
    EXPECT_EQ(cupti()->cuptiSubscribe_v2(&second, nullptr, nullptr, &params), CUPTI_ERROR_INVALID_PARAMETER);
    EXPECT_EQ(cupti()->cuptiUnsubscribe(first), CUPTI_SUCCESS);
}

TEST_F(Cupti, CallsBackAtEntryAndExitWithTheRecordsNumber) {
    Profiler profiler{CUPTI_ACTIVITY_KIND_MEMCPY};
    profiler.enable(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2);
    upload();
    EXPECT_EQ(cuMemcpyHtoDAsync_v2(0, pinned_, kSize, stream_), CUDA_ERROR_INVALID_VALUE);
    synchronise();
    profiler.flush();
    const auto calls = profiler.calls();
    const auto copies = profiler.copies();
    ASSERT_EQ(calls.size(), 4u) << "cuStreamSynchronize is not enabled";
    ASSERT_EQ(copies.size(), 1u);
    EXPECT_EQ(calls[0].site, CUPTI_API_ENTER);
    EXPECT_EQ(calls[0].id, CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2);
    EXPECT_EQ(calls[0].name, "cuMemcpyHtoDAsync_v2");
    EXPECT_EQ(calls[0].correlation, copies[0].correlationId);
    EXPECT_EQ(calls[1].site, CUPTI_API_EXIT);
    EXPECT_EQ(calls[1].correlation, calls[0].correlation);
    EXPECT_EQ(calls[1].result, CUDA_SUCCESS);
    EXPECT_EQ(calls[1].carried, calls[0].correlation + 1000) << "left there by the entry's callback";
    EXPECT_EQ(calls[3].result, CUDA_ERROR_INVALID_VALUE);
    EXPECT_NE(calls[2].correlation, calls[0].correlation);
}

TEST_F(Cupti, CallbacksCanBeSwitchedOneByOneAndByDomain) {
    Profiler profiler{};
    const auto domain = CUPTI_CB_DOMAIN_DRIVER_API;
    const auto copy = CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2;
    std::uint32_t enabled = 1;
    ASSERT_EQ(cupti()->cuptiGetCallbackState(&enabled, profiler.subscriber(), domain, copy), CUPTI_SUCCESS);
    EXPECT_EQ(enabled, 0u);
    profiler.enable(domain);
    ASSERT_EQ(cupti()->cuptiGetCallbackState(&enabled, profiler.subscriber(), domain, copy), CUPTI_SUCCESS);
    EXPECT_EQ(enabled, 1u);
    ASSERT_EQ(cupti()->cuptiEnableCallback(0, profiler.subscriber(), domain, copy), CUPTI_SUCCESS);
    upload();
    synchronise();
    const auto calls = profiler.calls();
    ASSERT_EQ(calls.size(), 2u);
    EXPECT_EQ(calls[0].name, "cuStreamSynchronize");
    EXPECT_EQ(cupti()->cuptiEnableCallback(1, profiler.subscriber(), domain, CUPTI_DRIVER_TRACE_CBID_SIZE),
              CUPTI_ERROR_INVALID_PARAMETER);
    EXPECT_EQ(cupti()->cuptiEnableDomain(1, nullptr, domain), CUPTI_ERROR_INVALID_PARAMETER);
}

TEST_F(Cupti, UnsubscribedIsSilent) {
    {
        Profiler profiler{CUPTI_ACTIVITY_KIND_MEMCPY};
        profiler.enable(CUPTI_CB_DOMAIN_DRIVER_API);
        upload();
        synchronise();
    }
    Profiler profiler{};
    upload();
    synchronise();
    profiler.flush();
    EXPECT_TRUE(profiler.calls().empty());
    EXPECT_TRUE(profiler.copies().empty());
}

TEST_F(Cupti, ACallFromInsideACallbackHasNoCallback) {
    CUpti_SubscriberHandle subscriber = nullptr;
    static int depth, deepest, calls;
    depth = deepest = calls = 0;
    const auto callback = [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {
        deepest = std::max(deepest, ++depth);
        ++calls;
        std::size_t available = 0, total = 0;
        EXPECT_EQ(cuMemGetInfo_v2(&available, &total), CUDA_SUCCESS);
        --depth;
    };
    ASSERT_EQ(cupti()->cuptiSubscribe(&subscriber, callback, nullptr), CUPTI_SUCCESS);
    ASSERT_EQ(cupti()->cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API), CUPTI_SUCCESS);
    synchronise();
    EXPECT_EQ(cupti()->cuptiUnsubscribe(subscriber), CUPTI_SUCCESS);
    EXPECT_EQ(calls, 2);
    EXPECT_EQ(deepest, 1);
}

TEST_F(Cupti, KnowsTheNamesOfCallbacksAndResults) {
    const char* name = nullptr;
    ASSERT_EQ(cupti()->cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2, &name),
              CUPTI_SUCCESS);
    EXPECT_STREQ(name, "cuMemFree_v2");
    ASSERT_EQ(cupti()->cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020,
                                            &name),
              CUPTI_SUCCESS);
    EXPECT_STREQ(name, "cudaMemcpyAsync_v3020");
    EXPECT_EQ(cupti()->cuptiGetCallbackName(CUPTI_CB_DOMAIN_RESOURCE, 1, &name), CUPTI_ERROR_INVALID_PARAMETER);
    ASSERT_EQ(cupti()->cuptiGetResultString(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, &name), CUPTI_SUCCESS);
    EXPECT_STREQ(name, "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED");
    std::uint32_t version = 0;
    ASSERT_EQ(cupti()->cuptiGetVersion(&version), CUPTI_SUCCESS);
    EXPECT_EQ(version, CUPTI_API_VERSION);
}

}  // namespace
