// Where libcupti may be. Searched by the recorder, and by `pincheck doctor`, which tells what the recorder will find.
#pragma once

#include <climits>
#include <cstdio>

namespace pincheck::cupti {

// What decides where to look.
struct Places {
    int runtime_major = 0;                           // of the loaded libcudart; 0: none
    char runtime_folder[PATH_MAX] = "";              // of it; "" for none
    char wheels_folder[PATH_MAX] = "";               // …/site-packages of a loaded library; "" for none
    const char* cuda_homes[2] = {nullptr, nullptr};  // CUDA_HOME, CUDA_PATH; null where not set
};

// Calls `visit(const char* path)` for each file that may be the library, best first, until it returns true. The version
// of the loaded runtime comes before others. Names without '/' are for the loader's own search. Pure.
using VisitPath = bool (*)(const char* path, void* context);

struct Visit {
    VisitPath function;
    void* context;
    bool found = false;

    void operator()(const char* format, const char* folder, int major) noexcept {
        char path[PATH_MAX];
        if (!found && folder != nullptr && folder[0] != '\0' &&
            std::snprintf(path, sizeof(path), format, folder, major) < static_cast<int>(sizeof(path))) {
            found = function(path, context);
        }
    }
};

inline void for_each_place(const Places& places, VisitPath function, void* context) noexcept {
    Visit visit{function, context};
    const int first = places.runtime_major == 12 ? 12 : 13;
    const int majors[] = {first, 25 - first};
    for (const int major : majors) {
        visit("%slibcupti.so.%d", places.runtime_folder, major);
        // The toolkit: targets/x86_64-linux/lib or lib64, and extras/CUPTI/lib64 beside lib64.
        visit("%s../extras/CUPTI/lib64/libcupti.so.%d", places.runtime_folder, major);
        visit("%s../../../extras/CUPTI/lib64/libcupti.so.%d", places.runtime_folder, major);
    }
    // Python wheels: nvidia/cuda_runtime/lib and nvidia/cuda_cupti/lib for CUDA 12, nvidia/cu13/lib for all of CUDA 13.
    visit("%s../../cuda_cupti/lib/libcupti.so.%d", places.runtime_folder, 12);
    for (const int major : majors) {
        for (const char* home : places.cuda_homes) {
            visit("%s/lib64/libcupti.so.%d", home, major);
            visit("%s/extras/CUPTI/lib64/libcupti.so.%d", home, major);
        }
    }
    for (const int major : majors) {
        visit(major == 12 ? "%snvidia/cuda_cupti/lib/libcupti.so.%d" : "%snvidia/cu13/lib/libcupti.so.%d",
              places.wheels_folder, major);
    }
    for (const int major : majors) {
        visit("%s.so.%d", "libcupti", major);
    }
}

}  // namespace pincheck::cupti
