// Memory that CUPTI writes its records into: a fixed number of buffers that go round. CUPTI takes one inside the
// program's calls and gives it back full, or flushed, on any thread; the tool's thread reads it and frees it. No lock
// and no system call on the way. When all are out CUPTI is told "none", drops records and counts them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "memory.h"

namespace pincheck::cupti {

class BufferPool {
  public:
    static constexpr unsigned kBuffers = 256;
    static constexpr std::size_t kBytes = 16 * 1024;  // about 150 copies; the pages are the kernel's until touched

    // False when memory is refused.
    bool create() noexcept {
        if (memory_ == nullptr) {
            memory_ = static_cast<std::uint8_t*>(map_memory(kBuffers * kBytes));
        }
        for (auto& word : free_) {
            word.store(~std::uint64_t{0}, std::memory_order_relaxed);
        }
        return memory_ != nullptr;
    }

    // The lowest free buffer, so that few pages are used; null when all are out.
    std::uint8_t* take() noexcept {
        for (unsigned word = 0; word < kWords; ++word) {
            std::uint64_t bits = free_[word].load(std::memory_order_relaxed);
            while (bits != 0) {
                const std::uint64_t lowest = bits & -bits;
                if (free_[word].compare_exchange_weak(bits, bits & ~lowest, std::memory_order_acquire)) {
                    const unsigned index = word * 64 + static_cast<unsigned>(__builtin_ctzll(lowest));
                    outstanding_.fetch_add(1);
                    return memory_ + index * kBytes;
                }
            }
        }
        denied_.fetch_add(1, std::memory_order_relaxed);
        return nullptr;
    }

    // A buffer that was taken and not given to CUPTI.
    void put_back(const std::uint8_t* buffer) noexcept {
        const auto index = static_cast<unsigned>(static_cast<std::size_t>(buffer - memory_) / kBytes);
        free_[index / 64].fetch_or(bit(index), std::memory_order_release);
        outstanding_.fetch_sub(1);
    }

    // CUPTI gives a buffer back. One that is none of ours is left alone.
    void complete(std::uint8_t* buffer, std::size_t valid) noexcept {
        const auto offset = static_cast<std::size_t>(buffer - memory_);
        if (buffer < memory_ || offset >= kBuffers * kBytes || offset % kBytes != 0) {
            return;
        }
        const auto index = static_cast<unsigned>(offset / kBytes);
        valid_[index] = valid <= kBytes ? valid : kBytes;
        full_[index / 64].fetch_or(bit(index), std::memory_order_release);
        outstanding_.fetch_sub(1, std::memory_order_release);
    }

    // Calls `read(pass, buffer, valid)` for each buffer that came back so far, all of them with pass 0 and then all
    // with pass 1, and frees them. By one thread at a time.
    template <class F>
    void read_full(F&& read) noexcept {
        std::uint64_t full[kWords];
        for (unsigned word = 0; word < kWords; ++word) {
            full[word] = full_[word].exchange(0, std::memory_order_acquire);
        }
        for (const unsigned pass : {0u, 1u}) {
            for_each_bit(full, [&](unsigned index) { read(pass, memory_ + index * kBytes, valid_[index]); });
        }
        for_each_bit(full, [&](unsigned index) { free_[index / 64].fetch_or(bit(index), std::memory_order_release); });
    }

    // Buffers that CUPTI has, or that are being taken for it: whoever says first that no more are to be given, and then
    // sees 0 here, has them all (take() counts before its caller can ask whether they are).
    unsigned outstanding() const noexcept { return outstanding_.load(); }
    // Buffers that came back and were not read yet.
    unsigned waiting() const noexcept {
        unsigned count = 0;
        for (const auto& word : full_) {
            count += static_cast<unsigned>(__builtin_popcountll(word.load(std::memory_order_relaxed)));
        }
        return count;
    }
    // How often there was none.
    std::uint64_t denied() const noexcept { return denied_.load(std::memory_order_relaxed); }

  private:
    static constexpr unsigned kWords = kBuffers / 64;
    static constexpr std::uint64_t bit(unsigned index) noexcept { return std::uint64_t{1} << (index % 64); }
    template <class F>
    static void for_each_bit(const std::uint64_t (&words)[kWords], F&& f) noexcept {
        for (unsigned word = 0; word < kWords; ++word) {
            for (std::uint64_t bits = words[word]; bits != 0; bits &= bits - 1) {
                f(word * 64 + static_cast<unsigned>(__builtin_ctzll(bits)));
            }
        }
    }

    std::uint8_t* memory_ = nullptr;
    std::size_t valid_[kBuffers] = {};
    std::atomic<std::uint64_t> free_[kWords] = {};
    std::atomic<std::uint64_t> full_[kWords] = {};
    std::atomic<unsigned> outstanding_{0};
    std::atomic<std::uint64_t> denied_{0};
};

}  // namespace pincheck::cupti
