// Telling the user which memory a wrapped call is about to touch. What the call's arguments point to (vectors, message
// headers) is read as the kernel would: where it cannot be read, the call itself says so.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "trap_library.h"

namespace pincheck::trap {

extern std::atomic<const TrapUser*> g_user;

// Null: not attached.
inline const TrapUser* attached_user() noexcept {
    return g_user.load(std::memory_order_acquire);
}

enum class Way : bool { from_memory, into_memory };

class Teller {
  public:
    Teller(const TrapUser& user, const char* function, void* return_address, void* frame) noexcept
        : user_(user),
          function_(function),
          return_address_(reinterpret_cast<std::uintptr_t>(return_address)),
          frame_(reinterpret_cast<std::uintptr_t>(frame)) {}

    void buffer(const void* address, std::size_t bytes, Way way) const noexcept;
    void items(const void* address, std::size_t size, std::size_t count, Way way) const noexcept;
    void vector(const iovec* vector, std::size_t count, Way way) const noexcept;
    void message(const msghdr* message, Way way) const noexcept;
    void messages(const mmsghdr* messages, std::size_t count, Way way) const noexcept;
    // Of a size that only the callee knows: its first byte.
    void pointer(const void* address) const noexcept;
    void device_request(unsigned long request, const void* argument) const noexcept;
    void system_call(long number, const long (&arguments)[6]) const noexcept;

    // What the user returned for the last buffer.
    std::uint32_t held() const noexcept { return held_; }

    void change(const void* address, std::size_t bytes) const noexcept { before(address, bytes, false); }
    void unmap(const void* address, std::size_t bytes) const noexcept { before(address, bytes, true); }
    void map(const void* address, std::size_t bytes, int flags) const noexcept;
    void move(const void* address, std::size_t old_bytes, std::size_t new_bytes, int flags,
              const void* target) const noexcept;

  private:
    void before(const void* address, std::size_t bytes, bool unmapped) const noexcept;
    void read_message(const msghdr& message, Way way) const noexcept;
    bool read_words(void* to, const void* from, std::size_t bytes) const noexcept;

    const TrapUser& user_;
    const char* function_;
    std::uintptr_t return_address_;
    std::uintptr_t frame_;
    mutable std::uint32_t held_ = 0;
};

}  // namespace pincheck::trap
