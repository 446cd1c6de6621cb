// Hands the faults of a test's own accesses to its trap, as the preloaded library does.
#pragma once

#include <ucontext.h>
#include <csignal>
#include <cstdint>

#include <atomic>

#include "interpose/access_trap.h"

namespace pincheck {

// One at a time. What is no memory of the trap's ends the process as ever.
class AccessTrapFaults {
  public:
    void begin(AccessTrap& trap) {
        trap_ = &trap;
        faults_ = 0;
        struct sigaction handler {};
        handler.sa_sigaction = &on_fault;
        handler.sa_flags = SA_SIGINFO;
        sigaction(SIGSEGV, &handler, &before_);
    }
    void end() {
        sigaction(SIGSEGV, &before_, nullptr);
        trap_ = nullptr;
    }
    static AccessTrap* trap() { return trap_; }
    static unsigned count() { return faults_; }
    static inline std::atomic<std::uint32_t> site{1};  // that the next accesses are told to come from

  private:
    static void on_fault(int signal, siginfo_t* info, void* context) {
        const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
        const auto error = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR];
        TrapAccess access;
        access.address = address;
        access.writes = (error & 2) != 0;
        access.site = site;
        ++faults_;
        if (trap_ == nullptr || trap_->look(address, 1, access.writes) == AccessTrap::Target::foreign) {
            sigaction(signal, &before_, nullptr);
            return;
        }
        trap_->release(access);
    }

    static inline AccessTrap* trap_ = nullptr;
    static inline std::atomic<unsigned> faults_{0};
    static inline struct sigaction before_ {};
};

}  // namespace pincheck
