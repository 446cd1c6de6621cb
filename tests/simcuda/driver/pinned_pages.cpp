#include "pinned_pages.h"

#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <vector>

#include "host_access.h"

namespace simcuda {
namespace {

constexpr unsigned kSlots = 16384;             // the kernel's limit on fixed buffers
constexpr std::size_t kWindow = 1 << 20;       // of the memory file that the copies go through
constexpr std::size_t kMaxBuffer = 1ul << 30;  // the kernel's limit on one fixed buffer

// One ring for all registered ranges: a ring and a file a range would run out of descriptors.
class Ring {
  public:
    Ring() { usable_ = open(); }

    int pin(void* address, std::size_t size) {
        std::lock_guard lock(mutex_);
        if (!usable_ || size > kMaxBuffer)
            return -1;
        int slot = next_;
        if (!free_.empty()) {
            slot = free_.back();
        } else if (next_ == static_cast<int>(kSlots)) {
            return -1;
        }
        if (!update(slot, {address, size}))
            return -1;
        if (free_.empty())
            ++next_;
        else
            free_.pop_back();
        return slot;
    }

    void unpin(int slot) {
        std::lock_guard lock(mutex_);
        if (update(slot, {nullptr, 0}))
            free_.push_back(slot);
    }

    bool transfer(int slot, bool write_memory, std::uintptr_t memory, char* buffer, std::size_t size) {
        std::lock_guard lock(mutex_);
        for (std::size_t done = 0; done < size;) {
            const std::size_t part = std::min(size - done, kWindow);
            if (write_memory)
                raw_copy(window_, buffer + done, part);
            // Named from the file's side: READ_FIXED reads the file into the fixed buffer.
            if (!submit(slot, write_memory ? IORING_OP_READ_FIXED : IORING_OP_WRITE_FIXED, memory + done, part))
                return false;
            if (!write_memory)
                raw_copy(buffer + done, window_, part);
            done += part;
        }
        return true;
    }

  private:
    bool open() {
        io_uring_params params{};
        ring_ = static_cast<int>(syscall(SYS_io_uring_setup, 4, &params));
        if (ring_ < 0 || !(params.features & IORING_FEAT_SINGLE_MMAP))
            return false;
        const std::size_t bytes = std::max<std::size_t>(params.sq_off.array + params.sq_entries * sizeof(unsigned),
                                                        params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe));
        char* rings = map(bytes, IORING_OFF_SQ_RING);
        char* entries = map(params.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES);
        if (!rings || !entries)
            return false;
        submission_tail_ = reinterpret_cast<std::atomic<unsigned>*>(rings + params.sq_off.tail);
        submission_array_ = reinterpret_cast<unsigned*>(rings + params.sq_off.array);
        submission_mask_ = *reinterpret_cast<unsigned*>(rings + params.sq_off.ring_mask);
        completion_head_ = reinterpret_cast<std::atomic<unsigned>*>(rings + params.cq_off.head);
        completion_tail_ = reinterpret_cast<std::atomic<unsigned>*>(rings + params.cq_off.tail);
        completions_ = reinterpret_cast<io_uring_cqe*>(rings + params.cq_off.cqes);
        completion_mask_ = *reinterpret_cast<unsigned*>(rings + params.cq_off.ring_mask);
        entries_ = reinterpret_cast<io_uring_sqe*>(entries);

        int file = static_cast<int>(syscall(SYS_memfd_create, "simcuda-dma", MFD_CLOEXEC));
        if (file < 0 || ftruncate(file, kWindow) != 0)
            return false;
        void* window = mmap(nullptr, kWindow, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (window == MAP_FAILED)
            return false;
        window_ = static_cast<char*>(window);
        // As a fixed file, so that a program that closes descriptors it does not own cannot redirect the copies.
        const bool registered = syscall(SYS_io_uring_register, ring_, IORING_REGISTER_FILES, &file, 1) == 0;
        close(file);
        io_uring_rsrc_register table{};
        table.nr = kSlots;
        table.flags = IORING_RSRC_REGISTER_SPARSE;
        return registered && syscall(SYS_io_uring_register, ring_, IORING_REGISTER_BUFFERS2, &table, sizeof table) == 0;
    }

    char* map(std::size_t bytes, std::uint64_t what) const {
        void* at =
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring_, static_cast<off_t>(what));
        return at == MAP_FAILED ? nullptr : static_cast<char*>(at);
    }

    bool update(int slot, iovec buffer) const {
        io_uring_rsrc_update2 change{};
        change.offset = static_cast<unsigned>(slot);
        change.data = reinterpret_cast<std::uint64_t>(&buffer);
        change.nr = 1;
        return syscall(SYS_io_uring_register, ring_, IORING_REGISTER_BUFFERS_UPDATE, &change, sizeof change) == 1;
    }

    bool submit(int slot, unsigned operation, std::uintptr_t memory, std::size_t size) {
        const unsigned tail = submission_tail_->load(std::memory_order_relaxed);
        const unsigned index = tail & submission_mask_;
        io_uring_sqe& entry = entries_[index];
        std::memset(&entry, 0, sizeof entry);
        entry.opcode = static_cast<unsigned char>(operation);
        entry.flags = IOSQE_FIXED_FILE;
        entry.fd = 0;
        entry.addr = memory;
        entry.len = static_cast<unsigned>(size);
        entry.buf_index = static_cast<unsigned short>(slot);
        submission_array_[index] = index;
        submission_tail_->store(tail + 1, std::memory_order_release);
        const unsigned head = completion_head_->load(std::memory_order_relaxed);
        if (syscall(SYS_io_uring_enter, ring_, 1, 1, IORING_ENTER_GETEVENTS, nullptr, 0) != 1)
            return false;
        while (completion_tail_->load(std::memory_order_acquire) == head)
            if (syscall(SYS_io_uring_enter, ring_, 0, 1, IORING_ENTER_GETEVENTS, nullptr, 0) < 0)
                return false;
        const int result = completions_[head & completion_mask_].res;
        completion_head_->store(head + 1, std::memory_order_release);
        return result == static_cast<int>(size);
    }

    std::mutex mutex_;
    bool usable_ = false;
    int ring_ = -1;
    int next_ = 0;
    std::vector<int> free_;
    char* window_ = nullptr;
    std::atomic<unsigned>*submission_tail_ = nullptr, *completion_head_ = nullptr, *completion_tail_ = nullptr;
    unsigned *submission_array_ = nullptr, submission_mask_ = 0, completion_mask_ = 0;
    io_uring_cqe* completions_ = nullptr;
    io_uring_sqe* entries_ = nullptr;
};

Ring& ring() {
    static Ring& instance = *new Ring;
    return instance;
}

}  // namespace

int pin_pages(void* address, std::size_t size) {
    return ring().pin(address, size);
}

void unpin_pages(int slot) {
    if (slot >= 0)
        ring().unpin(slot);
}

bool read_pinned_pages(int slot, std::uintptr_t from, char* into, std::size_t size) {
    return slot >= 0 && ring().transfer(slot, false, from, into, size);
}

bool write_pinned_pages(int slot, std::uintptr_t into, const char* from, std::size_t size) {
    return slot >= 0 && ring().transfer(slot, true, into, const_cast<char*>(from), size);
}

}  // namespace simcuda
