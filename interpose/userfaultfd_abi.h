// What the kernel's interfaces for finding writes look like in memory. Not from the system's headers: those of Debian
// 12 are older than what is used here (Linux 6.7).
//
// Sources: Documentation/admin-guide/mm/userfaultfd.rst and pagemap.rst ("Pagemap Scan IOCTL"), and the headers that
// these describe, include/uapi/linux/userfaultfd.h and include/uapi/linux/fs.h (Linux 6.18).
#pragma once

#include <sys/ioctl.h>

#include <cstddef>
#include <cstdint>

namespace pincheck::uffd {

// userfaultfd(2). With it no permission is needed: without, CAP_SYS_PTRACE or vm.unprivileged_userfaultfd. It forbids
// the handling of faults from within the kernel, of which there is none here: asynchronous protection is resolved by
// the kernel itself, so a read(2) into a protected page is found all the same (measured: Linux 6.18, as nobody).
constexpr int kUserModeOnly = 1;

constexpr std::uint64_t kApi = 0xAA;
constexpr std::uint64_t kFeatureProtect = 1;                           // PAGEFAULT_FLAG_WP, Linux 5.7
constexpr std::uint64_t kFeatureThreadId = std::uint64_t{1} << 8;      // Linux 4.14
constexpr std::uint64_t kFeatureExact = std::uint64_t{1} << 11;        // EXACT_ADDRESS, Linux 5.18
constexpr std::uint64_t kFeatureShmem = std::uint64_t{1} << 12;        // WP_HUGETLBFS_SHMEM, Linux 5.19
constexpr std::uint64_t kFeatureUnpopulated = std::uint64_t{1} << 13;  // WP_UNPOPULATED, Linux 6.4
constexpr std::uint64_t kFeatureAsync = std::uint64_t{1} << 15;        // WP_ASYNC, Linux 6.7
constexpr std::uint64_t kFeatures = kFeatureShmem | kFeatureUnpopulated | kFeatureAsync;
// Faults that wait for an answer. Not with kUserModeOnly: system calls that write would fail with EFAULT.
constexpr std::uint64_t kFaultFeatures =
    kFeatureProtect | kFeatureThreadId | kFeatureExact | kFeatureShmem | kFeatureUnpopulated;

struct Api {
    std::uint64_t api;
    std::uint64_t features;
    std::uint64_t ioctls;
};
struct Range {
    std::uint64_t start;
    std::uint64_t length;
};
struct Register {
    Range range;
    std::uint64_t mode;
    std::uint64_t ioctls;  // out: what can be done with the range
};
struct WriteProtect {
    Range range;
    std::uint64_t mode;
};
static_assert(sizeof(Api) == 24 && sizeof(Range) == 16 && sizeof(Register) == 32 && sizeof(WriteProtect) == 24);
static_assert(offsetof(Register, ioctls) == 24 && offsetof(WriteProtect, mode) == 16);

constexpr std::uint64_t kRegisterWriteProtect = 2;  // UFFDIO_REGISTER_MODE_WP
constexpr std::uint64_t kProtect = 1;               // UFFDIO_WRITEPROTECT_MODE_WP; without it: lift, and wake
// Offered for every range but those of huge pages from hugetlbfs.
constexpr std::uint64_t kCanZeroPage = std::uint64_t{1} << 4;

constexpr unsigned long kApiCall = _IOWR(0xAA, 0x3F, Api);
constexpr unsigned long kRegisterCall = _IOWR(0xAA, 0x00, Register);
constexpr unsigned long kUnregisterCall = _IOR(0xAA, 0x01, Range);
constexpr unsigned long kWriteProtectCall = _IOWR(0xAA, 0x06, WriteProtect);
static_assert(kApiCall == 0xC018AA3F && kRegisterCall == 0xC020AA00 && kUnregisterCall == 0x8010AA01 &&
              kWriteProtectCall == 0xC018AA06);

// struct uffd_msg, of a page fault
struct Message {
    std::uint8_t event;
    std::uint8_t reserved[7];
    std::uint64_t flags;
    std::uint64_t address;
    std::uint32_t thread;
    std::uint32_t padding;
};
static_assert(sizeof(Message) == 32 && offsetof(Message, address) == 16 && offsetof(Message, thread) == 24);
constexpr std::uint8_t kEventFault = 0x12;         // UFFD_EVENT_PAGEFAULT
constexpr std::uint64_t kFaultWriteProtected = 2;  // UFFD_PAGEFAULT_FLAG_WP

// struct page_region
struct PageRegion {
    std::uint64_t begin;
    std::uint64_t end;
    std::uint64_t categories;
};
// struct pm_scan_arg
struct PageScan {
    std::uint64_t size;
    std::uint64_t flags;
    std::uint64_t start;
    std::uint64_t end;
    std::uint64_t walk_end;  // out: where the scan stopped
    std::uint64_t regions;   // PageRegion*
    std::uint64_t region_count;
    std::uint64_t most_pages;
    std::uint64_t inverted_categories;
    std::uint64_t required_categories;
    std::uint64_t any_categories;
    std::uint64_t returned_categories;
};
static_assert(sizeof(PageRegion) == 24 && sizeof(PageScan) == 96);
static_assert(offsetof(PageScan, walk_end) == 32 && offsetof(PageScan, required_categories) == 72);

constexpr unsigned long kPageScanCall = _IOWR('f', 16, PageScan);
static_assert(kPageScanCall == 0xC0606610);

constexpr std::uint64_t kScanProtect = 1;    // PM_SCAN_WP_MATCHING
constexpr std::uint64_t kScanOnlyAsync = 2;  // PM_SCAN_CHECK_WPASYNC: EPERM at a mapping that is not registered
constexpr std::uint64_t kPageIsWritten = 2;  // PAGE_IS_WRITTEN

}  // namespace pincheck::uffd
