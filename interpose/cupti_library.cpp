#include "cupti_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <initializer_list>

#include "elf_objects.h"
#include "lookup_route.h"
#include "options.h"

namespace pincheck::cupti {
namespace {

// The version of a soname like libcudart.so.13; 0 where it has none.
int major_of(const char* name) noexcept {
    const char* dot = std::strstr(name, ".so.");
    int major = 0;
    for (const char* digit = dot != nullptr ? dot + 4 : ""; *digit >= '0' && *digit <= '9'; ++digit) {
        major = major * 10 + (*digit - '0');
    }
    return major;
}

void copy_prefix(char (&target)[PATH_MAX], const char* text, std::size_t length) noexcept {
    if (length < sizeof(target)) {
        std::memcpy(target, text, length);
        target[length] = '\0';
    }
}

void look_at(const ElfObject& object, Places& places, char (&loaded)[PATH_MAX]) noexcept {
    if (loaded[0] == '\0' && object.is_cupti()) {
        copy_prefix(loaded, object.path, std::strlen(object.path));
    }
    if (places.runtime_major == 0 && object.is_runtime()) {
        places.runtime_major = major_of(object.name());
        copy_prefix(places.runtime_folder, object.path, static_cast<std::size_t>(base_name(object.path) - object.path));
    }
    for (const char* folder : {"/site-packages/", "/dist-packages/"}) {
        const char* there = places.wheels_folder[0] == '\0' ? std::strstr(object.path, folder) : nullptr;
        if (there != nullptr) {
            copy_prefix(places.wheels_folder, object.path,
                        static_cast<std::size_t>(there - object.path) + std::strlen(folder));
        }
    }
}

template <class F>
bool find(void* handle, F& function, const char* name) noexcept {
    function = reinterpret_cast<F>(libc_dlsym(handle, name));
    return function != nullptr;
}

// The first missing function's name, or null.
const char* find_functions(void* handle, Functions& functions) noexcept {
    find(handle, functions.get_attribute, "cuptiActivityGetAttribute");
    find(handle, functions.set_attribute, "cuptiActivitySetAttribute");
    find(handle, functions.result_string, "cuptiGetResultString");
    const char* missing = nullptr;
    const auto need = [&](auto& function, const char* name) {
        if (!find(handle, function, name) && missing == nullptr) {
            missing = name;
        }
    };
    need(functions.subscribe, "cuptiSubscribe");
    need(functions.unsubscribe, "cuptiUnsubscribe");
    need(functions.enable_callback, "cuptiEnableCallback");
    need(functions.activity_enable, "cuptiActivityEnable");
    need(functions.activity_disable, "cuptiActivityDisable");
    need(functions.register_callbacks, "cuptiActivityRegisterCallbacks");
    need(functions.flush_all, "cuptiActivityFlushAll");
    need(functions.next_record, "cuptiActivityGetNextRecord");
    need(functions.dropped_records, "cuptiActivityGetNumDroppedRecords");
    need(functions.get_timestamp, "cuptiGetTimestamp");
    need(functions.get_version, "cuptiGetVersion");
    return missing;
}

struct Search {
    void* handle = nullptr;
};

bool try_path(const char* path, void* data) noexcept {
    auto& search = *static_cast<Search*>(data);
    // Without a file there dlopen would only leave a message behind, which the program may ask for.
    if (std::strchr(path, '/') != nullptr && access(path, R_OK) != 0) {
        return false;
    }
    search.handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    return search.handle != nullptr;
}

}  // namespace

bool open_library(Library& library, char* problem, std::size_t problem_bytes) noexcept {
    // Static for their size; called once, by the thread that starts the tool.
    static Places places;
    static char loaded[PATH_MAX];
    for_each_object([](const ElfObject& object) {
        look_at(object, places, loaded);
        return false;
    });
    places.cuda_homes[0] = start_environment("CUDA_HOME");
    places.cuda_homes[1] = start_environment("CUDA_PATH");
    Search search;
    if (loaded[0] != '\0') {
        search.handle = dlopen(loaded, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    }
    if (search.handle == nullptr) {
        for_each_place(places, &try_path, &search);
    }
    if (search.handle == nullptr) {
        dlerror();  // the message of the last place that was tried is nobody else's
        std::snprintf(problem, problem_bytes, "libcupti.so.13 and libcupti.so.12 were not found; set LD_LIBRARY_PATH");
        return false;
    }
    const char* missing = find_functions(search.handle, library.functions);
    if (missing != nullptr) {
        dlerror();
        std::snprintf(problem, problem_bytes, "libcupti lacks %s", missing);
        return false;
    }
    Dl_info info;
    if (dladdr(reinterpret_cast<void*>(library.functions.subscribe), &info) != 0 && info.dli_fname != nullptr) {
        std::snprintf(library.path, sizeof(library.path), "%s", info.dli_fname);
    }
    return true;
}

}  // namespace pincheck::cupti
