// A libcupti (by its name) whose cuptiSubscribe makes a CUDA call before it does its work: with profiled.cpp's "within"
// the process's first one, at a moment at which the program is becoming CUPTI's client and is not yet.
#include <cupti.h>
#include <dlfcn.h>

#include <string>

#include "small.h"

extern "C" CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                                               void* data) {
    small_end(small_start());
    const std::string name = "libcupti.so." + std::to_string(CUDART_VERSION / 1000);
    void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    auto* real = reinterpret_cast<decltype(&cuptiSubscribe)>(dlsym(library, "cuptiSubscribe"));
    return real(subscriber, callback, data);
}
