// Repeats what a static runtime asks of cuGetProcAddress (scenario I3): every line of the transcript named by the first
// argument, through the driver's function found by dlsym, version 2 (or version 1 with a second argument "v1"). Prints
// a line for each: name, version, flags, result, status, and where the answer lies. Makes no CUDA call: no file.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

int main(int argc, char** argv) {
    if (argc < 2) {
        return 2;
    }
    const bool first_version = argc > 2 && std::strcmp(argv[2], "v1") == 0;
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (driver == nullptr) {
        std::printf("%s\n", dlerror());
        return 2;
    }
    using V1 = int (*)(const char*, void**, int, std::uint64_t);
    using V2 = int (*)(const char*, void**, int, std::uint64_t, int*);
    const auto v1 = reinterpret_cast<V1>(dlsym(driver, "cuGetProcAddress"));
    auto v2 = reinterpret_cast<V2>(dlsym(driver, "cuGetProcAddress_v2"));
    std::ifstream transcript(argv[1]);
    std::string line;
    while (std::getline(transcript, line)) {
        if (!line.empty() && line[0] == '#') {
            continue;
        }
        // The very first look-up has an empty name: the line starts with the separator.
        std::istringstream fields(line);
        std::string name;
        int version = 0;
        std::uint64_t flags = 0;
        if (line[0] != ' ') {
            fields >> name;
        }
        fields >> version >> flags;
        void* found = nullptr;
        int status = -1;
        const int result = first_version ? v1(name.c_str(), &found, version, flags)
                                         : v2(name.c_str(), &found, version, flags, &status);
        Dl_info info{};
        std::string where = "none";
        if (found != nullptr && dladdr(found, &info) != 0 && info.dli_fname != nullptr) {
            const char* const slash = std::strrchr(info.dli_fname, '/');
            where = slash != nullptr ? slash + 1 : info.dli_fname;
            where += std::string(" ") + (info.dli_sname != nullptr && info.dli_saddr == found ? info.dli_sname : "?");
        } else if (found != nullptr) {
            where = "somewhere";
        }
        std::printf("%s %d %llu -> %d %d %s\n", name.empty() ? "(empty)" : name.c_str(), version,
                    static_cast<unsigned long long>(flags), result, status, where.c_str());
        // As the runtime does: what it gets for the look-up itself is what it uses from then on.
        if (!first_version && result == 0 && found != nullptr && name == "cuGetProcAddress" && version >= 12000) {
            v2 = reinterpret_cast<V2>(found);
        }
    }
    // Odd arguments: the answers must be the driver's.
    void* found = nullptr;
    std::printf("null name %d\n", v2(nullptr, &found, 12000, 0, nullptr));
    std::printf("null out %d\n", v2("cuMemcpyHtoDAsync", nullptr, 12000, 0, nullptr));
    std::printf("unknown %d %s\n", v2("cuNoSuchFunction", &found, 12000, 0, nullptr), found ? "found" : "none");
    std::printf("too old %d\n", v2("cuMemcpyHtoDAsync", &found, 1000, 0, nullptr));
    return 0;
}
