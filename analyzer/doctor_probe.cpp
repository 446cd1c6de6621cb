// What `pincheck doctor` looks at. Libraries are opened in processes of their own; nothing is left behind.
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "doctor.h"
#include "doctor_child.h"
#include "interpose/kernel_page_watch.h"
#include "interpose/write_faults.h"
#include "preload_options.h"
#include "report/cupti_places.h"

namespace pincheck {
namespace {

namespace fs = std::filesystem;

std::string text_of(const char* path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

std::string first_line(const std::string& text) {
    return text.substr(0, text.find('\n'));
}

// ---- The libraries of pincheck, in a program that shows what is in it

std::string preload_error(const std::string& library, const std::string& trap_library) {
    const PreloadPath path(library);
    if (!path.error().empty()) {
        return path.error();
    }
    const std::string cat = find_program("cat");
    if (cat.empty() || !inspect_elf(cat).can_be_preloaded()) {
        return "no program 'cat' to try it with is in PATH";
    }
    const FoundLibrary trap = trap_library.empty() ? FoundLibrary{} : find_trap_library(path.path());
    const ChildAnswer answer =
        ask_program({cat, "/proc/self/maps"}, child_environment(Preload{path.path(), trap.path, "", ""}));
    if (!answer.succeeded) {
        return "a program that it was preloaded into failed: " + first_line(answer.err);
    }
    const std::string wanted = trap_library.empty() ? library : trap_library;
    char resolved[PATH_MAX];
    if (answer.out.find(realpath(wanted.c_str(), resolved) != nullptr ? resolved : wanted.c_str()) !=
        std::string::npos) {
        return "";
    }
    return answer.err.empty() ? "the loader left it out and said nothing" : first_line(answer.err);
}

// ---- Other people's libraries

// Path, version and error, a line each.
OpenedLibrary opened_from(const ChildAnswer& answer) {
    OpenedLibrary opened;
    if (!answer.succeeded) {
        opened.error = answer.err.empty() ? "the process that opened it failed" : first_line(answer.err);
        return opened;
    }
    std::istringstream lines(answer.out);
    std::string version;
    std::getline(lines, opened.path);
    std::getline(lines, version);
    std::getline(lines, opened.error);
    opened.version = std::atoi(version.c_str());
    return opened;
}

std::string told(void* handle, const char* version_function) {
    link_map* map = nullptr;
    dlinfo(handle, RTLD_DI_LINKMAP, &map);
    int version = 0;
    // cuDriverGetVersion, cudaRuntimeGetVersion, cuptiGetVersion: all take a pointer to 32 bits and need no device.
    auto* ask =
        version_function != nullptr ? reinterpret_cast<int (*)(int*)>(dlsym(handle, version_function)) : nullptr;
    if (ask != nullptr && ask(&version) != 0) {
        version = 0;
    }
    return (map != nullptr ? std::string(map->l_name) : std::string("?")) + "\n" + std::to_string(version) + "\n";
}

OpenedLibrary open_first(const std::vector<std::string>& names, const char* version_function) {
    return opened_from(ask_fork([&] {
        std::string error;
        for (const std::string& name : names) {
            if (void* handle = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL)) {
                return told(handle, version_function);
            }
            const char* why = dlerror();
            if (name.find('/') == std::string::npos && error.empty() && why != nullptr) {
                error = why;
            }
        }
        return "\n0\n" + error + "\n";
    }));
}

// The recorder's search, which begins at the program's own runtime: here that which the loader finds.
OpenedLibrary find_cupti(const OpenedLibrary& runtime) {
    static cupti::Places places;
    places.runtime_major = runtime.version / 1000;
    const std::size_t folder = runtime.path.rfind('/') + 1;
    std::snprintf(places.runtime_folder, sizeof places.runtime_folder, "%s", runtime.path.substr(0, folder).c_str());
    places.cuda_homes[0] = std::getenv("CUDA_HOME");
    places.cuda_homes[1] = std::getenv("CUDA_PATH");
    std::vector<std::string> names;
    cupti::for_each_place(
        places,
        [](const char* path, void* context) {
            if (std::strchr(path, '/') == nullptr || access(path, R_OK) == 0) {
                static_cast<std::vector<std::string>*>(context)->emplace_back(path);
            }
            return false;
        },
        &names);
    return open_first(names, "cuptiGetVersion");
}

// ---- The kernel

void ask_kernel(DoctorFacts& facts) {
    utsname system{};
    facts.kernel = uname(&system) == 0 ? system.release : "?";
    facts.seccomp_filter = has_seccomp_filter();
    const std::string status = text_of("/proc/self/status");
    const std::size_t line = status.find("\nTracerPid:");
    facts.tracer = line != std::string::npos ? std::atoi(status.c_str() + line + std::strlen("\nTracerPid:")) : 0;
    facts.max_mappings = std::strtoull(text_of("/proc/sys/vm/max_map_count").c_str(), nullptr, 10);

    const ChildAnswer watch = ask_fork([] {
        KernelPageWatch kernel;
        const WatchRefusal refusal = kernel.open();
        return std::string(refusal == WatchRefusal::none ? "" : refusal_text(refusal));
    });
    facts.finds_writes = watch.succeeded && watch.out.empty();
    facts.watch_refusal = watch.succeeded ? watch.out : watch.err;
    if (facts.seccomp_filter) {
        facts.trap_refusal = refusal_text(WatchRefusal::seccomp_filter);
        return;
    }
    const ChildAnswer faults = ask_fork([] {
        WriteFaults kernel;
        return std::string(kernel.open() ? "" : "userfaultfd may not stop what the kernel writes for a program");
    });
    facts.stops_writes = faults.succeeded && faults.out.empty();
    facts.trap_refusal = faults.succeeded ? faults.out : faults.err;
}

std::uint64_t limit_of(int resource) {
    rlimit limit{};
    return getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0 || limit.rlim_cur == RLIM_INFINITY
               ? kNoLimit
               : limit.rlim_cur;
}

// ---- Where reports go

const char* kind_of_note(long magic) {
    // linux/magic.h, and the filesystems' own sources.
    switch (static_cast<unsigned long>(magic)) {
        case 0x6969:
            return "nfs";
        case 0x65735546:
            return "fuse";
        case 0xff534d42:
        case 0xfe534d42:
            return "smb";
        case 0x0bd00bd0:
            return "lustre";
        case 0x47504653:
            return "gpfs";
        case 0x00c36400:
            return "ceph";
        case 0x01021997:
            return "9p";
        default:
            return "";
    }
}

OutputFolder look_at_folder(const std::string& wanted) {
    OutputFolder folder;
    std::error_code error;
    fs::path path = wanted.empty() ? fs::current_path(error) : fs::absolute(wanted, error).lexically_normal();
    folder.path = path;
    if (error) {
        folder.error = error.message();
        return folder;
    }
    folder.exists = fs::exists(path, error);
    while (!fs::exists(path, error) && path.has_relative_path()) {
        path = path.parent_path();
    }
    std::string trial = path / ".pincheck-doctor-XXXXXX";
    // As the recorder does it: a file that was not there.
    const int descriptor = mkostemp(trial.data(), O_CLOEXEC);
    if (descriptor < 0) {
        folder.error = std::strerror(errno);
    } else {
        unlink(trial.c_str());
        close(descriptor);
    }
    struct statfs system {};
    if (statfs(path.c_str(), &system) == 0) {
        folder.kind = kind_of_note(static_cast<long>(system.f_type));
        folder.free_bytes = static_cast<std::uint64_t>(system.f_bavail) * static_cast<std::uint64_t>(system.f_bsize);
    }
    return folder;
}

}  // namespace

DoctorFacts look_around(const std::string& output_folder, const std::vector<std::string>& command) {
    DoctorFacts facts;
    facts.library = find_library();
    if (facts.library.error.empty()) {
        facts.preload_error = preload_error(facts.library.path, "");
        facts.trap_library = find_trap_library(facts.library.path);
        if (facts.trap_library.error.empty()) {
            facts.trap_preload_error = preload_error(facts.library.path, facts.trap_library.path);
        }
    }
    const std::string folder = facts.library.path.substr(0, facts.library.path.rfind('/') + 1);
    // Beside the library first, as the recorder does.
    facts.unwinder = open_first({folder + "libunwind.so.8", "libunwind.so.8"}, nullptr);
    facts.driver = open_first({"libcuda.so.1"}, "cuDriverGetVersion");
    facts.runtime = open_first({"libcudart.so.13", "libcudart.so.12"}, "cudaRuntimeGetVersion");
    facts.cupti = find_cupti(facts.runtime);
    ask_kernel(facts);
    facts.file_bytes = limit_of(RLIMIT_FSIZE);
    facts.locked_bytes = limit_of(RLIMIT_MEMLOCK);
    facts.descriptors = limit_of(RLIMIT_NOFILE);
    facts.output = look_at_folder(output_folder);
    facts.options = variable("PINCHECK_OPTIONS");
    facts.options_error = merge_options(facts.options, {}).error;
    facts.users_preload = variable("LD_PRELOAD");
    facts.command = command;
    facts.target = command.empty() ? Target{} : inspect_target(command);
    return facts;
}

}  // namespace pincheck
