#include "job.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <string_view>

#include "printable.h"

namespace pincheck {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibraryName = "libpincheck.so";
constexpr const char* kTrapLibraryName = "libpincheck-trap.so";
// The library's limit for output=, less what the pattern expands to.
constexpr std::size_t kMaxFolder = 400;

std::string temporary_folder() {
    const char* variable = std::getenv("TMPDIR");
    return variable != nullptr && variable[0] == '/' ? variable : "/tmp";
}

std::string resolved(const std::string& path) {
    char buffer[PATH_MAX];
    return realpath(path.c_str(), buffer) != nullptr ? buffer : "";
}

std::string own_folder() {
    const std::string self = resolved("/proc/self/exe");
    return self.substr(0, self.rfind('/'));
}

bool fits_preload(const std::string& path) {
    return path.find_first_of(" :$\t\n") == std::string::npos;
}

bool is_library(const std::string& path) {
    return access(path.c_str(), R_OK) == 0 && fs::is_regular_file(path);
}

// Program names become parts of file names and, in the folder's, of PINCHECK_OPTIONS.
std::string file_name_part(const std::string& program) {
    std::string name = program.substr(program.rfind('/') + 1).substr(0, 64);
    for (char& c : name) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                           std::strchr("._+-", c) != nullptr;
        c = plain ? c : '_';
    }
    return name.empty() ? "program" : name;
}

std::string utc_now() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&now, &parts);
    char text[32] = "";
    std::strftime(text, sizeof text, "%Y%m%dT%H%M%S", &parts);
    return text;
}

// Why this folder cannot stand in output=; "" when it can.
std::string unusable(const std::string& folder) {
    if (folder.find(':') != std::string::npos) {
        return "a path with ':' cannot be written in PINCHECK_OPTIONS";
    }
    return folder.size() > kMaxFolder ? "the path is too long" : "";
}

// Entries of an LD_PRELOAD that are no other version of ourselves: two of them would hook each other.
std::string without_ourselves(const std::string& preload) {
    std::string kept;
    for (std::size_t begin = 0; begin < preload.size();) {
        const std::size_t end = std::min(preload.find_first_of(" :", begin), preload.size());
        const std::string entry = preload.substr(begin, end - begin);
        const std::string name = entry.substr(entry.rfind('/') + 1);
        if (!entry.empty() && name != kLibraryName && name != kTrapLibraryName) {
            kept += ":" + entry;
        }
        begin = end + 1;
    }
    return kept;
}

}  // namespace

FoundLibrary find_library() {
    const char* given = std::getenv("PINCHECK_LIBRARY");
    if (given != nullptr && given[0] != '\0') {
        if (is_library(given)) {
            return {fs::absolute(given).lexically_normal(), ""};
        }
        return {"", "PINCHECK_LIBRARY=" + printable(given) +
                        " is not a readable file; set it to the path of libpincheck.so, or unset it"};
    }
    const std::string here = own_folder();
    const std::string installed = PINCHECK_LIBDIR;
    std::string looked;
    for (const std::string& candidate :
         {here + "/../lib/" + kLibraryName,
          (installed.rfind('/', 0) == 0 ? installed : here + "/../" + installed) + "/" + kLibraryName,
          here + "/../lib64/" + kLibraryName}) {
        const std::string path = fs::path(candidate).lexically_normal();
        if (is_library(path)) {
            return {path, ""};
        }
        if (looked.find(path) == std::string::npos) {
            looked += (looked.empty() ? "" : ", ") + path;
        }
    }
    return {"", "libpincheck.so is missing: looked for " + printable(looked) + "; set PINCHECK_LIBRARY to its path"};
}

FoundLibrary find_trap_library(const std::string& library) {
    const std::string path = library.substr(0, library.rfind('/') + 1) + kTrapLibraryName;
    if (is_library(path)) {
        return {path, ""};
    }
    return {"", "races=trap needs libpincheck-trap.so beside libpincheck.so, and " + printable(path) +
                    " is not a readable file; install it, or use races=watch"};
}

PreloadPath::PreloadPath(const std::string& library) : path_(library) {
    if (fits_preload(library)) {
        return;
    }
    for (const std::string& parent : {temporary_folder(), std::string("/tmp")}) {
        std::string folder = parent + "/pincheck-link-XXXXXX";
        if (!fits_preload(folder) || mkdtemp(folder.data()) == nullptr) {
            continue;
        }
        // The folder is linked, not the file: the library looks for libunwind beside itself.
        const std::string target = library.substr(0, library.rfind('/'));
        if (symlink(target.c_str(), (folder + "/lib").c_str()) == 0) {
            folder_ = folder;
            path_ = folder + "/lib/" + library.substr(library.rfind('/') + 1);
            if (fits_preload(path_)) {
                return;
            }
        }
        rmdir(folder.c_str());
    }
    error_ = cannot_preload_text(library);
}

std::string cannot_preload_text(const std::string& library) {
    return "LD_PRELOAD cannot hold the path " + printable(library) +
           " (it has a space, ':' or '$'), and no link to it can be made in $TMPDIR or /tmp; set TMPDIR to a folder "
           "that can be written";
}

PreloadPath::~PreloadPath() {
    remove();
}

void PreloadPath::remove() {
    if (!folder_.empty()) {
        unlink((folder_ + "/lib").c_str());
        rmdir(folder_.c_str());
        folder_.clear();
    }
}

bool JobFolder::make_new(const std::string& parent, const std::string& shown, const std::string& name) {
    for (int number = 0; number < 1000; ++number) {
        const std::string full = name + (number > 0 ? "-" + std::to_string(number) : "");
        const std::string path = parent + "/" + full;
        if (mkdir(path.c_str(), 0700) == 0) {
            absolute_ = path;
            path_ = shown + "/" + full;
            made_ = true;
            return true;
        }
        if (errno != EEXIST) {
            return false;
        }
    }
    return false;
}

JobFolder::JobFolder(const std::string& wanted, const std::string& program, const std::string& rank)
    : prefix_(rank.empty() ? "" : "rank" + rank + "-") {
    if (!wanted.empty()) {
        // Where the program writes must not depend on where it goes: absolute.
        std::error_code error;
        absolute_ = fs::absolute(wanted, error).lexically_normal();
        path_ = wanted;
        const std::string why = error ? error.message() : unusable(absolute_);
        if (!why.empty()) {
            error_ = "--output " + printable(wanted) + ": " + why + "; name another folder";
            return;
        }
        made_ = fs::create_directories(absolute_, error);
        if (error || !fs::is_directory(absolute_) || access(absolute_.c_str(), W_OK | X_OK) != 0) {
            error_ = "--output " + printable(wanted) + ": " + (error ? error.message() : std::strerror(errno)) +
                     "; name a folder that can be written";
        } else if (!reports().empty()) {
            error_ = "--output " + printable(wanted) + " already holds reports; remove them or name another folder";
        }
        return;
    }
    const std::string name = "pincheck-" + file_name_part(program) + "-" + utc_now() + "-" + std::to_string(getpid());
    std::error_code error;
    const std::string here = fs::current_path(error);
    std::string why = error ? error.message() : unusable(here + "/" + name);
    if (why.empty()) {
        if (make_new(here, ".", name)) {
            return;
        }
        why = std::strerror(errno);
    }
    for (const std::string& parent : {temporary_folder(), std::string("/tmp")}) {
        if (unusable(parent + "/" + name).empty() && make_new(parent, parent, name)) {
            notice_ = "no folder for the reports in " + (here.empty() ? "the working directory" : printable(here)) +
                      ": " + why + "; they are in " + printable(path_);
            return;
        }
    }
    error_ = "no folder for the reports in " + (here.empty() ? "the working directory" : printable(here)) + " (" + why +
             ") nor in $TMPDIR; name one with --output DIR";
}

std::string JobFolder::output_option() const {
    std::string escaped;
    for (const char c : absolute_) {
        escaped += c == '%' ? "%%" : std::string(1, c);
    }
    return "output=" + escaped + "/" + prefix_ + "%e-%t-%h-%p.pcr";
}

std::vector<std::string> JobFolder::reports() const {
    std::vector<std::string> files;
    std::error_code error;
    for (auto entry = fs::directory_iterator(absolute_, error); !error && entry != fs::directory_iterator();
         entry.increment(error)) {
        const std::string name = entry->path().filename();
        if (name.rfind(prefix_, 0) == 0 && entry->path().extension() == ".pcr") {
            files.push_back(path_ + "/" + name);
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

void JobFolder::remove_if_empty() const {
    if (made_) {
        rmdir(absolute_.c_str());
    }
}

report::JobRank rank_of_environment() {
    return report::rank_of_job([](const char* name) { return std::getenv(name); });
}

std::vector<std::string> child_environment(const std::optional<Preload>& preload) {
    constexpr std::string_view kPreload = "LD_PRELOAD=";
    constexpr std::string_view kOptions = "PINCHECK_OPTIONS=";
    std::vector<std::string> all;
    std::string before;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        if (preload && text.substr(0, kPreload.size()) == kPreload) {
            before = text.substr(kPreload.size());
        } else if (!preload || text.substr(0, kOptions.size()) != kOptions) {
            all.emplace_back(text);
        }
    }
    if (preload) {
        const std::string first = preload->address_sanitizer.empty() ? "" : preload->address_sanitizer + ":";
        const std::string second = preload->trap_library.empty() ? "" : ":" + preload->trap_library;
        all.push_back(std::string(kPreload) + first + preload->library + second + without_ourselves(before));
        all.push_back(std::string(kOptions) + preload->options);
    }
    return all;
}

}  // namespace pincheck
