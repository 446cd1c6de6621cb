// One line on stderr, "pincheck: …", written with a single system call. errno is kept.
#pragma once

namespace pincheck {

enum class Level { problem = 1, note = 2 };

// Remembers what descriptor 2 is. A program that was started without one, or that closes it, may get the number for a
// file of its own, in which our lines have no business.
void remember_stderr() noexcept;

// printf-style; nothing is printed when options say verbosity is below `level`.
void say(Level level, const char* format, ...) noexcept __attribute__((format(printf, 2, 3)));

// Keeps errno over a scope: the program's own value must survive whatever the tool does.
class KeepErrno {
  public:
    KeepErrno() noexcept;
    ~KeepErrno();
    KeepErrno(const KeepErrno&) = delete;
    KeepErrno& operator=(const KeepErrno&) = delete;

  private:
    int saved_;
};

// No cancellation of the calling thread over a scope: CUDA's functions are no cancellation points, and open, read and
// write inside them must not be (a thread cancelled there would leave the tool half started).
class NotCancelled {
  public:
    NotCancelled() noexcept;
    ~NotCancelled();
    NotCancelled(const NotCancelled&) = delete;
    NotCancelled& operator=(const NotCancelled&) = delete;

  private:
    int before_ = 0;
};

}  // namespace pincheck
