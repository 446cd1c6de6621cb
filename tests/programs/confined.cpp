// confined HOW PROGRAM ARGUMENTS...: takes something away from itself and then becomes the program.
//   seccomp     a filter that refuses userfaultfd, perf_event_open, unshare, close_range and memfd_create with EPERM,
//   and
//               clone3 with ENOSYS, as container runtimes' filters do
//   no-create   a filter that refuses every open that could create a file, with EPERM: nowhere to write
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

using Filter = std::vector<sock_filter>;

constexpr unsigned kNumber = offsetof(seccomp_data, nr);
constexpr unsigned argument(unsigned index) {
    return offsetof(seccomp_data, args) + index * 8;  // the low half, little endian
}

void load(Filter& filter, unsigned offset) {
    filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
}
void answer(Filter& filter, unsigned value) {
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, value));
}
void refuse(Filter& filter, unsigned number, int error) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
    answer(filter, SECCOMP_RET_ERRNO | static_cast<unsigned>(error));
}
// Refused where the flags, argument `index`, have O_CREAT.
void refuse_creating(Filter& filter, unsigned number, unsigned index) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4));
    load(filter, argument(index));
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_CREAT, 0, 1));
    answer(filter, SECCOMP_RET_ERRNO | EPERM);
    load(filter, kNumber);
}

bool confine(Filter& filter) {
    answer(filter, SECCOMP_RET_ALLOW);
    const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        return 2;
    }
    Filter filter;
    load(filter, kNumber);
    if (std::strcmp(argv[1], "seccomp") == 0) {
        for (const int number :
             {SYS_userfaultfd, SYS_perf_event_open, SYS_unshare, SYS_close_range, SYS_memfd_create}) {
            refuse(filter, static_cast<unsigned>(number), EPERM);
        }
        refuse(filter, SYS_clone3, ENOSYS);
    } else {
        refuse_creating(filter, SYS_open, 1);
        refuse_creating(filter, SYS_openat, 2);
        refuse(filter, SYS_openat2, ENOSYS);
        refuse(filter, SYS_creat, EPERM);
    }
    if (!confine(filter)) {
        std::printf("no filters here: %s\n", std::strerror(errno));
        return 77;
    }
    execv(argv[2], argv + 2);
    std::printf("%s: %s\n", argv[2], std::strerror(errno));
    return 3;
}
