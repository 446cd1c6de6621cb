#include "hints.h"

#include <algorithm>
#include <string_view>

namespace pincheck {
namespace {

std::string base_name(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

struct Launcher {
    const char* name;
    const char* why;
    const char* instead;
};

constexpr const char* kContainer = "starts the program in a container, outside of this process and without the library";
constexpr const char* kRanks = "starts the ranks, perhaps on other machines, without the library";
constexpr const char* kCleans = "removes LD_PRELOAD from the environment";

constexpr Launcher kLaunchers[] = {
    {"docker", kContainer, "docker run -v PREFIX:PREFIX IMAGE PREFIX/bin/pincheck run -- PROGRAM"},
    {"podman", kContainer, "podman run -v PREFIX:PREFIX IMAGE PREFIX/bin/pincheck run -- PROGRAM"},
    {"nerdctl", kContainer, "nerdctl run -v PREFIX:PREFIX IMAGE PREFIX/bin/pincheck run -- PROGRAM"},
    {"apptainer", kContainer, "apptainer exec --nv -B PREFIX IMAGE PREFIX/bin/pincheck run -- PROGRAM"},
    {"singularity", kContainer, "singularity exec --nv -B PREFIX IMAGE PREFIX/bin/pincheck run -- PROGRAM"},
    {"kubectl", kContainer, "kubectl exec POD -- pincheck run -- PROGRAM"},
    {"oc", kContainer, "oc exec POD -- pincheck run -- PROGRAM"},
    {"sudo", kCleans, "sudo pincheck run -- PROGRAM"},
    {"doas", kCleans, "doas pincheck run -- PROGRAM"},
    {"su", kCleans, "su -c 'pincheck run -- PROGRAM' USER"},
    {"runuser", kCleans, "runuser -u USER -- pincheck run -- PROGRAM"},
    {"ssh", "starts the program on another machine, without the library", "ssh HOST pincheck run -- PROGRAM"},
    {"srun", kRanks, "srun OPTIONS pincheck run -- PROGRAM"},
    {"sbatch", "queues a job that runs later", "'pincheck run -- PROGRAM' inside the batch script"},
    {"mpirun", kRanks, "mpirun OPTIONS pincheck run -- PROGRAM"},
    {"mpiexec", kRanks, "mpiexec OPTIONS pincheck run -- PROGRAM"},
    {"orterun", kRanks, "orterun OPTIONS pincheck run -- PROGRAM"},
    {"prterun", kRanks, "prterun OPTIONS pincheck run -- PROGRAM"},
    {"jsrun", kRanks, "jsrun OPTIONS pincheck run -- PROGRAM"},
    {"systemd-run", "has another process start the program", "systemd-run OPTIONS pincheck run -- PROGRAM"},
    {"flatpak", kContainer, "flatpak run --command=pincheck APP run -- PROGRAM"},
};

bool empties_environment(const std::vector<std::string>& command) {
    for (std::size_t i = 1; i < command.size() && (command[i].rfind('-', 0) == 0); ++i) {
        const std::string& word = command[i];
        const bool letters = word.size() > 1 && word[1] != '-';
        if (word == "-" || word == "--ignore-environment" || (letters && word.find('i') != std::string::npos)) {
            return true;
        }
    }
    return false;
}

}  // namespace

Hint hint_about_target(const Target& target, const std::vector<std::string>& command) {
    const std::string name = target.path.empty() ? (command.empty() ? "" : command.front()) : target.path;
    switch (target.kind) {
        case TargetKind::fully_static:
            return {true, name +
                              " is linked statically: nothing can be loaded into it; link it without -static and "
                              "-static-pie (a static CUDA runtime is fine)"};
        case TargetKind::musl:
            return {true, name + " uses musl's loader (" + target.interpreter +
                              "), which cannot load a library made for glibc: it runs without the tool; build it for "
                              "glibc"};
        case TargetKind::foreign:
            return {true, name + (target.is_64_bit ? " is for another machine" : " is a 32-bit program") +
                              ": it runs without the tool, which is for 64-bit programs of this machine; build it for "
                              "this one"};
        default:
            break;
    }
    if (target.privileged) {
        return {true, name +
                          " runs with another user's or group's rights: the loader ignores LD_PRELOAD; start pincheck "
                          "with these rights, or the program that it starts under pincheck"};
    }
    return {};
}

Hint hint_about_launcher(const std::vector<std::string>& command) {
    if (command.empty()) {
        return {};
    }
    const std::string name = base_name(command.front());
    if (name == "env" && empties_environment(command)) {
        return {true,
                "env -i removes LD_PRELOAD from the environment; write instead: env -i NAME=VALUE… pincheck run -- "
                "PROGRAM"};
    }
    for (const Launcher& launcher : kLaunchers) {
        if (name == launcher.name) {
            return {true, name + " " + launcher.why + "; write instead: " + launcher.instead};
        }
    }
    return {};
}

}  // namespace pincheck
