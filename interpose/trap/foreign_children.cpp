// Programs that this one executes: they inherit the thread's mask, and that SIGSEGV is ignored, as the program set them
// and not as this library has them. Not seen: what the C library executes by itself (system, popen), and that an
// ignoring program's posix_spawn should start one that ignores SIGSEGV too: the other threads' guards could not be kept
// meanwhile.
#include <dlfcn.h>
#include <spawn.h>

#include <atomic>
#include <cstdarg>
#include <cstddef>

#include "access.h"
#include "libc_functions.h"
#include "signal_chain.h"
#include "signal_mask.h"
#include "wrap.h"

namespace pincheck::trap {
namespace {

enum class Inherits { mask, mask_and_ignoring };

// While it lives, the kernel has what a new program is to inherit.
class AsInherited {
  public:
    explicit AsInherited(Inherits what) noexcept {
        if (attached_user() == nullptr) {
            return;
        }
        active_ = true;
        ignoring_ = what == Inherits::mask_and_ignoring && has_signal();
        before_ = raw_mask();
        set_raw_mask(to_program(before_));
        if (ignoring_) {
            show_ignored();
        }
    }
    ~AsInherited() {
        if (active_) {
            if (ignoring_) {
                take_signal_again();
            }
            set_raw_mask(before_);
        }
    }
    AsInherited(const AsInherited&) = delete;
    AsInherited& operator=(const AsInherited&) = delete;

  private:
    bool active_ = false;
    bool ignoring_ = false;
    Mask before_ = 0;
};

// libc has two versions of these, the older one for programs of before 2011; the loader's look-up knows which is which.
template <class Function>
Function* default_version(Libc function, std::atomic<void*>& known) noexcept {
    void* found = known.load(std::memory_order_acquire);
    if (found == nullptr) {
        found = dlsym(RTLD_NEXT, name_of(function));
        found = found != nullptr ? found : address_of(function);
        known.store(found, std::memory_order_release);
    }
    return reinterpret_cast<Function*>(found);
}

using Texts = char* const*;
using SpawnType = int(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, Texts, Texts);
std::atomic<void*> g_posix_spawn{nullptr};
std::atomic<void*> g_posix_spawnp{nullptr};

// The arguments of execl and its like: the named first one and those behind it, up to a null.
std::size_t count_of(std::va_list list) noexcept {
    std::size_t count = 1;
    while (va_arg(list, const char*) != nullptr) {
        ++count;
    }
    return count;
}
void fill(char** arguments, std::size_t count, const char* first, std::va_list* list) noexcept {
    arguments[0] = const_cast<char*>(first);
    for (std::size_t i = 1; i <= count; ++i) {
        arguments[i] = va_arg(*list, char*);
    }
}

}  // namespace

PINCHECK_WRAP(int, execve, (const char* path, Texts arguments, Texts environment)) {
    const AsInherited inherited(Inherits::mask_and_ignoring);
    return call<int(const char*, Texts, Texts)>(Libc::execve, path, arguments, environment);
}
PINCHECK_WRAP(int, execv, (const char* path, Texts arguments)) {
    const AsInherited inherited(Inherits::mask_and_ignoring);
    return call<int(const char*, Texts)>(Libc::execv, path, arguments);
}
PINCHECK_WRAP(int, execvp, (const char* file, Texts arguments)) {
    const AsInherited inherited(Inherits::mask_and_ignoring);
    return call<int(const char*, Texts)>(Libc::execvp, file, arguments);
}
PINCHECK_WRAP(int, execvpe, (const char* file, Texts arguments, Texts environment)) {
    const AsInherited inherited(Inherits::mask_and_ignoring);
    return call<int(const char*, Texts, Texts)>(Libc::execvpe, file, arguments, environment);
}
PINCHECK_WRAP(int, fexecve, (int file, Texts arguments, Texts environment)) {
    const AsInherited inherited(Inherits::mask_and_ignoring);
    return call<int(int, Texts, Texts)>(Libc::fexecve, file, arguments, environment);
}

PINCHECK_WRAP(int, execl, (const char* path, const char* first, ...)) {
    std::va_list list;
    va_start(list, first);
    const std::size_t count = count_of(list);
    va_end(list);
    auto* const arguments = static_cast<char**>(__builtin_alloca((count + 1) * sizeof(char*)));
    va_start(list, first);
    fill(arguments, count, first, &list);
    va_end(list);
    const AsInherited inherited(Inherits::mask_and_ignoring);
    return call<int(const char*, Texts)>(Libc::execv, path, arguments);
}
PINCHECK_WRAP(int, execlp, (const char* file, const char* first, ...)) {
    std::va_list list;
    va_start(list, first);
    const std::size_t count = count_of(list);
    va_end(list);
    auto* const arguments = static_cast<char**>(__builtin_alloca((count + 1) * sizeof(char*)));
    va_start(list, first);
    fill(arguments, count, first, &list);
    va_end(list);
    const AsInherited inherited(Inherits::mask_and_ignoring);
    return call<int(const char*, Texts)>(Libc::execvp, file, arguments);
}
PINCHECK_WRAP(int, execle, (const char* path, const char* first, ...)) {
    std::va_list list;
    va_start(list, first);
    const std::size_t count = count_of(list);
    va_end(list);
    auto* const arguments = static_cast<char**>(__builtin_alloca((count + 1) * sizeof(char*)));
    va_start(list, first);
    fill(arguments, count, first, &list);
    const Texts environment = va_arg(list, Texts);
    va_end(list);
    const AsInherited inherited(Inherits::mask_and_ignoring);
    return call<int(const char*, Texts, Texts)>(Libc::execve, path, arguments, environment);
}

PINCHECK_WRAP(int, posix_spawn,
              (pid_t * process, const char* path, const posix_spawn_file_actions_t* actions,
               const posix_spawnattr_t* attributes, Texts arguments, Texts environment)) {
    const AsInherited inherited(Inherits::mask);
    return default_version<SpawnType>(Libc::posix_spawn, g_posix_spawn)(process, path, actions, attributes, arguments,
                                                                        environment);
}
PINCHECK_WRAP(int, posix_spawnp,
              (pid_t * process, const char* file, const posix_spawn_file_actions_t* actions,
               const posix_spawnattr_t* attributes, Texts arguments, Texts environment)) {
    const AsInherited inherited(Inherits::mask);
    return default_version<SpawnType>(Libc::posix_spawnp, g_posix_spawnp)(process, file, actions, attributes, arguments,
                                                                          environment);
}

}  // namespace pincheck::trap
