// By which variable of its environment a process knows its rank in its job. Read by the recorder, before libc may be
// used, and by `pincheck run`.
#pragma once

namespace pincheck::report {

struct JobRank {
    const char* text = nullptr;  // up to nine digits; null: none of the variables has a rank
    bool own_output = false;     // a Kubernetes pod: its output goes into no other process's
};

// Digits alone, at most nine: what fits into a report.
constexpr bool is_rank(const char* text) noexcept {
    int digits = 0;
    while (text[digits] >= '0' && text[digits] <= '9' && digits < 10) {
        ++digits;
    }
    return digits > 0 && digits < 10 && text[digits] == '\0';
}

// `look_up`: name to value, or null. The innermost launcher's comes first: a launcher that is started once a node
// (torchrun under srun or mpirun) leaves its own rank to all its workers, which is then that of the node.
template <class LookUp>
constexpr JobRank rank_of_job(LookUp&& look_up) noexcept {
    const auto has = [&](const char* name) {
        const char* value = look_up(name);
        return value != nullptr && is_rank(value);
    };
    // torchrun, accelerate and DeepSpeed set both. RANK alone is a word that anything may have set.
    if (has("RANK") && has("LOCAL_RANK")) {
        return {look_up("RANK")};
    }
    constexpr const char* kNames[] = {
        "OMPI_COMM_WORLD_RANK",  // Open MPI, Spectrum MPI
        "MV2_COMM_WORLD_RANK",   // MVAPICH2
        "JSM_NAMESPACE_RANK",    // IBM's jsrun
        "PMI_RANK",              // MPICH, Intel MPI, Cray
        "PMIX_RANK",
        "FLUX_TASK_RANK",
        "SLURM_PROCID",
        "RANK",
    };
    for (const char* name : kNames) {
        if (has(name)) {
            return {look_up(name)};
        }
    }
    if (has("JOB_COMPLETION_INDEX")) {  // of an indexed job: one pod's, whatever is started in it
        return {look_up("JOB_COMPLETION_INDEX"), true};
    }
    return {};
}

}  // namespace pincheck::report
