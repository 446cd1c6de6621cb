#include "driver_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

namespace pincheck {

DriverWatch::DriverWatch() {
    descriptor_ = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (descriptor_ < 0) {
        return;
    }
    const char* variable = std::getenv("LD_LIBRARY_PATH");
    // After the variable: Debian's places, others', WSL's, NVIDIA's for containers and for newer drivers beside older.
    const std::string folders =
        std::string(variable != nullptr ? variable : "") +
        ":/usr/lib/x86_64-linux-gnu:/usr/lib/aarch64-linux-gnu:/usr/lib64:/usr/lib:/lib64:/usr/lib/wsl/lib"
        ":/usr/local/nvidia/lib64:/usr/local/cuda/compat";
    bool any = false;
    for (std::size_t begin = 0; begin < folders.size();) {
        const std::size_t end = std::min(folders.find(':', begin), folders.size());
        if (end > begin) {
            const std::string file = folders.substr(begin, end - begin) + "/libcuda.so.1";
            any = inotify_add_watch(descriptor_, file.c_str(), IN_OPEN) >= 0 || any;
        }
        begin = end + 1;
    }
    if (!any) {
        close(descriptor_);
        descriptor_ = -1;
    }
}

DriverWatch::~DriverWatch() {
    if (descriptor_ >= 0) {
        close(descriptor_);
    }
}

}  // namespace pincheck
