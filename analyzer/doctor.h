// `pincheck doctor`: what works on this machine, what that means for the findings, and the mend. What is looked at
// (doctor_probe.cpp), what that means (doctor_judge.cpp, pure) and how it is shown (render_doctor.cpp, pure) are apart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "job.h"
#include "target.h"

namespace pincheck {

// A library that was opened in a process of its own.
struct OpenedLibrary {
    std::string path;   // "": it was not opened
    int version = 0;    // as its function for that says; 0: it was not asked, or did not say
    std::string error;  // the loader's
};

struct OutputFolder {
    std::string path;    // where reports would go, absolute
    bool exists = true;  // else `run` makes it, below the nearest folder there is, of which the rest tells
    std::string error;   // why no file can be made in it; "" when one was
    std::string kind;    // of the filesystem where it is one of note (nfs, fuse, …), else ""
    std::uint64_t free_bytes = 0;
};

inline constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

struct DoctorFacts {
    FoundLibrary library;
    std::string preload_error;  // why it is not in a process that was started with it; "" when it is
    FoundLibrary trap_library;
    std::string trap_preload_error;
    OpenedLibrary unwinder;
    OpenedLibrary driver;
    OpenedLibrary runtime;
    OpenedLibrary cupti;

    std::string kernel;  // its release
    bool seccomp_filter = false;
    bool finds_writes = false;  // userfaultfd and PAGEMAP_SCAN were tried and work
    std::string watch_refusal;  // else why not
    bool stops_writes = false;  // userfaultfd may stop the kernel's own accesses too, which races=trap takes
    std::string trap_refusal;
    int tracer = 0;  // process id of who traces us, as it would what we start; 0: nobody

    std::uint64_t max_mappings = 0;  // vm.max_map_count; 0: not known
    std::uint64_t file_bytes = kNoLimit;
    std::uint64_t locked_bytes = kNoLimit;
    std::uint64_t descriptors = kNoLimit;

    OutputFolder output;
    std::string options;        // PINCHECK_OPTIONS
    std::string options_error;  // what `run` would say of it
    std::string users_preload;  // LD_PRELOAD

    std::vector<std::string> command;  // empty: no program was named
    Target target;
};

// `output_folder`: "" for the working directory.
DoctorFacts look_around(const std::string& output_folder, const std::vector<std::string>& command);

// ok; limited: pincheck works, and sees less; broken: there would be no report.
enum class Health { ok, limited, broken };
const char* name(Health health);

struct Check {
    std::string name;
    Health health = Health::ok;
    std::string found;
    std::string means;  // for levels and findings; "" where everything works
    std::string mend;   // "" where there is nothing to mend
};
std::vector<Check> judge_facts(const DoctorFacts& facts);
Health worst_of(const std::vector<Check>& checks);

std::string doctor_text(const std::vector<Check>& checks, std::size_t width, bool color);
std::string doctor_json(const std::vector<Check>& checks);

}  // namespace pincheck
