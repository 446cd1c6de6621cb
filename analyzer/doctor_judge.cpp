// What the facts mean, and the mend.
#include <algorithm>

#include "doctor.h"
#include "hints.h"
#include "printable.h"
#include "render_text_layout.h"

namespace pincheck {
namespace {

constexpr std::uint64_t kMiB = 1u << 20;
// A report of a large job; most take less than one MiB.
constexpr std::uint64_t kRoomForReports = 64 * kMiB;
constexpr std::uint64_t kUsualMappings = 65530;
// A program's own, and the tool's at 500 and above (interpose/descriptor.h).
constexpr std::uint64_t kFewDescriptors = 512;

Check ok(const char* name, std::string found) {
    return {name, Health::ok, std::move(found), "", ""};
}

// "13.0" of CUDA's 13000.
std::string cuda_version(int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Check preload(const DoctorFacts& facts) {
    constexpr const char* kName = "preload library";
    constexpr const char* kMeans = "nothing can be recorded";
    if (!facts.library.error.empty()) {
        return {kName, Health::broken, facts.library.error, kMeans,
                "install pincheck whole, or set PINCHECK_LIBRARY to the path of libpincheck.so"};
    }
    if (!facts.preload_error.empty()) {
        return {kName, Health::broken, printable(facts.library.path) + ": " + printable(facts.preload_error), kMeans,
                "use the libpincheck.so that was built with this program, for this machine and glibc 2.36 or newer"};
    }
    return ok(kName, printable(facts.library.path) + " is in a process that is started with it");
}

Check trap_library(const DoctorFacts& facts) {
    constexpr const char* kName = "trap library";
    constexpr const char* kMeans =
        "no races=trap: who reads a result early, or writes a source in flight, is not "
        "caught in the act";
    if (facts.library.path.empty()) {
        return {kName, Health::limited, "not looked for: it lies beside libpincheck.so", kMeans,
                "see the preload library"};
    }
    const std::string& error = facts.trap_library.error.empty() ? facts.trap_preload_error : facts.trap_library.error;
    if (!error.empty()) {
        return {kName, Health::limited, printable(error), kMeans, "install libpincheck-trap.so beside libpincheck.so"};
    }
    return ok(kName, printable(facts.trap_library.path) + " is in a process that is started with it");
}

Check unwinder(const DoctorFacts& facts) {
    if (facts.unwinder.path.empty()) {
        return {"libunwind", Health::limited, printable(facts.unwinder.error),
                "stacks end at code without unwind tables, so that sites may run together",
                "install libunwind (Debian, Ubuntu: libunwind8), or put libunwind.so.8 beside libpincheck.so"};
    }
    return ok("libunwind", printable(facts.unwinder.path));
}

Check driver(const DoctorFacts& facts) {
    if (facts.driver.path.empty()) {
        return {
            "CUDA driver", Health::limited, printable(facts.driver.error),
            "programs find no GPU here: runs end with 'no CUDA call'; reports of other machines can be read",
            "install NVIDIA's driver; in a container start it with --gpus all (Docker), --device nvidia.com/gpu=all "
            "(Podman) or --nv (Apptainer)"};
    }
    return ok("CUDA driver", printable(facts.driver.path) +
                                 (facts.driver.version != 0 ? ", CUDA " + cuda_version(facts.driver.version) : ""));
}

Check runtime(const DoctorFacts& facts) {
    if (facts.runtime.path.empty()) {
        return ok("CUDA runtime",
                  "no shared libcudart on the loader's path; programs bring their own, or have it linked in");
    }
    return ok("CUDA runtime", printable(facts.runtime.path) +
                                  (facts.runtime.version != 0 ? ", CUDA " + cuda_version(facts.runtime.version) : ""));
}

Check cupti(const DoctorFacts& facts) {
    if (facts.cupti.path.empty()) {
        return {
            "CUPTI", Health::limited,
            facts.cupti.error.empty() ? "libcupti.so.13 and libcupti.so.12 were not found"
                                      : printable(facts.cupti.error),
            "no device times of copies, unless the program brings CUPTI (a Python wheel's is found from the program "
            "alone): waits are explained by the order of work, and whether races have corrupted data is not known",
            "set CUDA_HOME to the toolkit, or LD_LIBRARY_PATH to the folder of libcupti.so"};
    }
    return ok("CUPTI", printable(facts.cupti.path) +
                           (facts.cupti.version != 0 ? ", API " + std::to_string(facts.cupti.version) : ""));
}

Check seccomp(const DoctorFacts& facts) {
    if (!facts.seccomp_filter) {
        return ok("seccomp", "no filter is in force");
    }
    return {"seccomp", Health::limited, "a filter is in force, as in most containers",
            "nothing is watched or trapped, nor judged by checksums: races are found by the order of calls alone",
            "start the container without a filter for this run: --security-opt seccomp=unconfined (Docker, Podman), "
            "seccompProfile: Unconfined (Kubernetes)"};
}

Check watch(const DoctorFacts& facts) {
    constexpr const char* kName = "races=watch";
    if (facts.finds_writes) {
        return ok(kName,
                  "the kernel (" + printable(facts.kernel) + ") finds writes: userfaultfd and PAGEMAP_SCAN work");
    }
    const bool filtered = facts.seccomp_filter;
    return {kName, Health::limited, printable(facts.watch_refusal) + " (kernel " + printable(facts.kernel) + ")",
            filtered ? "pages that the host writes in flight are not seen"
                     : "uploads up to 1 MiB are judged by checksums; what the host writes into larger ones, and into "
                       "results in flight, is not seen",
            filtered ? "see seccomp"
                     : "run on Linux 6.7 or newer, where userfaultfd is permitted (no security module forbids it)"};
}

Check trap(const DoctorFacts& facts) {
    constexpr const char* kName = "races=trap";
    if (facts.tracer != 0) {
        return {kName, Health::limited, "process " + std::to_string(facts.tracer) + " traces this one",
                "under a debugger or strace that follows children accesses are not trapped: it would stop at each",
                "run without it, or with races=watch"};
    }
    if (!facts.stops_writes) {
        return {kName, Health::limited, printable(facts.trap_refusal),
                facts.seccomp_filter ? "no access is caught in the act"
                                     : "reads of results in flight are caught; writes to sources in flight are not",
                facts.seccomp_filter
                    ? "see seccomp"
                    : "Linux 6.4 or newer, and one of: sysctl vm.unprivileged_userfaultfd=1, a readable "
                      "/dev/userfaultfd, CAP_SYS_PTRACE (--cap-add SYS_PTRACE)"};
    }
    return ok(kName, "accesses can be trapped: userfaultfd may stop them, and nobody traces");
}

Check mappings(const DoctorFacts& facts) {
    const std::string found = "vm.max_map_count is " + count_text(facts.max_mappings);
    if (facts.max_mappings != 0 && facts.max_mappings < kUsualMappings) {
        return {"mappings", Health::limited, found,
                "watching stops at half of it: of programs with very many page-locked buffers some are not watched",
                "sysctl vm.max_map_count=" + std::to_string(kUsualMappings)};
    }
    return ok("mappings", facts.max_mappings == 0 ? "vm.max_map_count is not known" : found);
}

Check file_size(const DoctorFacts& facts) {
    constexpr const char* kName = "file size";
    if (facts.file_bytes == kNoLimit) {
        return ok(kName, "no limit");
    }
    const std::string found = "limited to " + bytes_text(facts.file_bytes);
    if (facts.file_bytes >= kRoomForReports) {
        return ok(kName, found);
    }
    return {kName, facts.file_bytes < kMiB ? Health::broken : Health::limited, found,
            "a report that needs more ends early, and a check comes to no conclusion", "ulimit -f unlimited"};
}

Check locked(const DoctorFacts& facts) {
    // NVIDIA's driver does not count page-locked memory against it; what else pins (RDMA, mlock) does.
    return ok("locked memory",
              (facts.locked_bytes == kNoLimit ? std::string("no limit")
                                              : "mlock is limited to " + bytes_text(facts.locked_bytes)) +
                  "; for CUDA's page-locked memory the container's memory limit counts");
}

Check descriptors(const DoctorFacts& facts) {
    if (facts.descriptors == kNoLimit || facts.descriptors >= kFewDescriptors) {
        return ok("descriptors", facts.descriptors == kNoLimit ? "no limit" : "up to " + count_text(facts.descriptors));
    }
    return {"descriptors", Health::limited, "up to " + count_text(facts.descriptors),
            "the tool's lie among the program's own, and where none is left nothing is watched", "ulimit -n 1024"};
}

Check output(const DoctorFacts& facts) {
    constexpr const char* kName = "output folder";
    const OutputFolder& folder = facts.output;
    const std::string where = printable(folder.path);
    if (!folder.error.empty()) {
        return {kName, Health::broken, where + ": " + folder.error,
                "no report can be made there: the recorder turns to $TMPDIR, `run --output` refuses",
                "name a folder that can be written: pincheck run --output DIR, or PINCHECK_OPTIONS=output=FILE"};
    }
    const std::string room = bytes_text(folder.free_bytes) + " free";
    if (folder.free_bytes < kRoomForReports) {
        return {kName, folder.free_bytes == 0 ? Health::broken : Health::limited, where + ": " + room,
                "a report that needs more ends early, and a check comes to no conclusion",
                "make room, or name another folder with --output DIR"};
    }
    if (!folder.kind.empty()) {
        return {
            kName, Health::limited, where + ": " + folder.kind + ", " + room,
            "reports are written every 250 ms and at exit, which is waited for 2 s: where such a filesystem is slow, "
            "the end of a report may be missing",
            "write to a local folder, and copy the reports when the job has ended"};
    }
    return ok(kName, where + (folder.exists ? ": " : " (will be made): ") + room);
}

Check options(const DoctorFacts& facts) {
    constexpr const char* kName = "PINCHECK_OPTIONS";
    if (!facts.options_error.empty()) {
        return {kName, Health::broken, facts.options_error,
                "`pincheck run` refuses it; the library alone would leave the mistaken part out",
                "correct it, or unset PINCHECK_OPTIONS"};
    }
    return ok(kName, facts.options.empty() ? "not set" : printable(facts.options));
}

Check users_preload(const DoctorFacts& facts) {
    return ok("LD_PRELOAD", facts.users_preload.empty()
                                ? "not set"
                                : printable(facts.users_preload) + "; `run` puts the library in front of it");
}

Check program(const DoctorFacts& facts) {
    const std::string word = printable(facts.command.front());
    const Hint launcher = hint_about_launcher(facts.command);
    if (facts.target.kind == TargetKind::not_found) {
        return {"program", Health::broken, word + " was not found, or cannot be read", "it cannot be started",
                "check the name, or give its path"};
    }
    const Hint target = hint_about_target(facts.target, facts.command);
    if (!target.text.empty()) {
        return {"program", target.blind ? Health::broken : Health::limited, printable(target.text),
                "what it does is not recorded",
                "name the program that uses CUDA, dynamically linked, for this machine"};
    }
    if (!launcher.text.empty()) {
        return {"program", Health::limited, printable(launcher.text), "what it starts may not be recorded",
                "put pincheck run behind it, as it says"};
    }
    return ok("program", printable(facts.target.path) + ": the loader takes the library into it");
}

}  // namespace

const char* name(Health health) {
    switch (health) {
        case Health::ok:
            return "ok";
        case Health::limited:
            return "limited";
        case Health::broken:
            return "broken";
    }
    return "?";
}

std::vector<Check> judge_facts(const DoctorFacts& facts) {
    std::vector<Check> checks;
    for (Check (*judge)(const DoctorFacts&) :
         {preload, trap_library, unwinder, driver, runtime, cupti, seccomp, watch, trap, mappings, file_size, locked,
          descriptors, output, options, users_preload}) {
        checks.push_back(judge(facts));
    }
    if (!facts.command.empty()) {
        checks.push_back(program(facts));
    }
    return checks;
}

Health worst_of(const std::vector<Check>& checks) {
    const auto worst = std::ranges::max_element(checks, {}, &Check::health);
    return worst == checks.end() ? Health::ok : worst->health;
}

}  // namespace pincheck
