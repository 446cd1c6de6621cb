// A mutex without the standard library's: std::mutex may throw, which pulls exceptions, malloc and abort into a library
// that must have none of them. Works with std::lock_guard. Zero-initialised memory is a valid unlocked mutex.
#pragma once

#include <pthread.h>

namespace pincheck {

class Mutex {
  public:
    constexpr Mutex() noexcept = default;
    Mutex(const Mutex&) = delete;
    Mutex& operator=(const Mutex&) = delete;
    void lock() noexcept { pthread_mutex_lock(&mutex_); }
    void unlock() noexcept { pthread_mutex_unlock(&mutex_); }

  private:
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

}  // namespace pincheck
