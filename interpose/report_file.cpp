#include "report_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "descriptor.h"

namespace pincheck {
namespace {

constexpr unsigned kMaxNumber = 1000;

class Text {
  public:
    Text(char* out, std::size_t size) noexcept : out_(out), size_(size) { out_[0] = '\0'; }
    void put(char c) noexcept {
        if (used_ + 1 < size_) {
            out_[used_++] = c;
            out_[used_] = '\0';
        } else {
            fits_ = false;
        }
    }
    void put(const char* text, bool as_part) noexcept {
        for (; *text != '\0'; ++text) {
            put(as_part && *text == '/' ? '_' : *text);
        }
    }
    bool fits() const noexcept { return fits_; }

  private:
    char* out_;
    std::size_t size_;
    std::size_t used_ = 0;
    bool fits_ = true;
};

bool join(const char* directory, const char* name, char* out, std::size_t size) noexcept {
    const int length =
        name[0] == '/' ? std::snprintf(out, size, "%s", name) : std::snprintf(out, size, "%s/%s", directory, name);
    return length > 0 && static_cast<std::size_t>(length) < size;
}

}  // namespace

bool expand_name(const char* pattern, const NameParts& parts, char* out, std::size_t size) noexcept {
    Text text(out, size);
    char number[16];
    for (; *pattern != '\0'; ++pattern) {
        if (*pattern != '%' || pattern[1] == '\0') {
            text.put(*pattern);
            continue;
        }
        ++pattern;
        switch (*pattern) {
            case 'e':
                text.put(parts.program, true);
                break;
            case 'h':
                text.put(parts.host, true);
                break;
            case 'n':
                text.put(parts.rank, true);
                break;
            case 'p':
                std::snprintf(number, sizeof(number), "%u", parts.pid);
                text.put(number, true);
                break;
            case 't':
                text.put(parts.time, true);
                break;
            case '%':
                text.put('%');
                break;
            default:
                text.put('%');
                text.put(*pattern);
                break;
        }
    }
    return text.fits();
}

bool number_name(const char* name, unsigned number, char* out, std::size_t size) noexcept {
    constexpr const char* kSuffix = ".pcr";
    const std::size_t length = std::strlen(name);
    const bool has_suffix = length > 4 && std::strcmp(name + length - 4, kSuffix) == 0;
    const int stem = static_cast<int>(has_suffix ? length - 4 : length);
    const int written = std::snprintf(out, size, "%.*s-%u%s", stem, name, number, has_suffix ? kSuffix : "");
    return written > 0 && static_cast<std::size_t>(written) < size;
}

void ReportFile::own_descriptors() noexcept {
#ifdef SYS_close_range
    // CLOSE_RANGE_UNSHARE: a new table without the range, in one step. Linux 5.9; not filtered by container runtimes'
    // default seccomp profiles, which unshare() is.
    constexpr unsigned kUnshare = 1u << 1;
    private_table_ = syscall(SYS_close_range, 0u, ~0u, kUnshare) == 0;
#endif
}

bool ReportFile::open_new(const char* path) noexcept {
    char numbered[sizeof(path_)];
    for (unsigned number = 0; number < kMaxNumber; ++number) {
        const char* candidate = path;
        if (number > 0) {
            if (!number_name(path, number, numbered, sizeof(numbered))) {
                errno = ENAMETOOLONG;
                return false;
            }
            candidate = numbered;
        }
        int descriptor = open(candidate, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (descriptor >= 0) {
            if (!private_table_) {
                descriptor = moved_up(descriptor);
            }
            struct stat status;
            if (fstat(descriptor, &status) != 0) {
                close(descriptor);
                return false;
            }
            descriptor_ = descriptor;
            device_ = status.st_dev;
            inode_ = status.st_ino;
            std::snprintf(path_, sizeof(path_), "%s", candidate);
            return true;
        }
        if (errno != EEXIST) {
            return false;
        }
    }
    return false;
}

void ReportFile::set_problem(const char* format, ...) noexcept {
    if (has_problem_.load(std::memory_order_relaxed)) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(problem_, sizeof(problem_), format, arguments);
    va_end(arguments);
    has_problem_.store(true, std::memory_order_release);
}

bool ReportFile::create(const char* name, const char* directory, const char* temporary) noexcept {
    char path[sizeof(path_)] = "";
    errno = ENAMETOOLONG;
    if (join(directory, name, path, sizeof(path)) && open_new(path)) {
        return true;
    }
    const int first_error = errno;
    const char* slash = std::strrchr(name, '/');
    char fallback[sizeof(path_)];
    if (join(temporary, slash != nullptr ? slash + 1 : name, fallback, sizeof(fallback)) && open_new(fallback)) {
        set_problem("cannot write %s: %s; the report is %s", path, std::strerror(first_error), path_);
        return true;
    }
    set_problem("cannot write %s: %s; no report is made; set PINCHECK_OPTIONS=output=FILE to a writable place", path,
                std::strerror(first_error));
    return false;
}

// Programs close and reuse descriptors; whatever has this number now must be our file before anything is written to it.
bool ReportFile::still_ours() noexcept {
    struct stat status;
    return fstat(descriptor_, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

bool ReportFile::write(report::Image& image, std::uint64_t now_ns, report::FileState state) noexcept {
    if (descriptor_ < 0) {
        return false;
    }
    if (!still_ours()) {
        // Open our own file again, if it is still there: nothing else is touched.
        image.lose(report::Loss::descriptor_lost, 1, EBADF, now_ns);
        descriptor_ = open(path_, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
        if (descriptor_ < 0) {
            set_problem("the program closed the report's descriptor; %s ends early", path_);
            return false;
        }
        if (!private_table_) {
            descriptor_ = moved_up(descriptor_);
        }
        if (!still_ours()) {
            close(descriptor_);
            descriptor_ = -1;
            return false;
        }
    }
    const report::SnapshotResult result = image.snapshot(descriptor_, now_ns, state);
    if (!result.written) {
        image.lose(report::Loss::write_failed, 1, result.error, now_ns);
        set_problem("cannot write %s: %s; the report ends early", path_, std::strerror(result.error));
    }
    return result.written;
}

}  // namespace pincheck
