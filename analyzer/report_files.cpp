#include "report_files.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "live_process.h"

namespace pincheck {
namespace {

// The files that a path stands for.
std::vector<std::string> files_of(const std::string& path, std::vector<std::string>& errors) {
    namespace fs = std::filesystem;
    std::error_code error;
    if (!fs::is_directory(path, error)) {
        return {path};
    }
    std::vector<std::string> files;
    for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
        if (entry->path().extension() == ".pcr") {
            files.push_back(entry->path().string());
        }
    }
    if (error) {
        errors.push_back("cannot read " + path + ": " + error.message());
    } else if (files.empty()) {
        errors.push_back("no report (*.pcr) in " + path +
                         ": the program made no CUDA call, or ran without libpincheck.so; see 'pincheck run --help'");
    }
    return files;
}

}  // namespace

std::vector<std::string> report_files(const std::vector<std::string>& paths, std::vector<std::string>& errors) {
    std::vector<std::string> files;
    for (const std::string& path : paths) {
        if (!is_process_id(path)) {
            std::ranges::move(files_of(path, errors), std::back_inserter(files));
        } else if (LiveReport live = report_of_process(path); live.error.empty()) {
            files.push_back(std::move(live.path));
        } else {
            errors.push_back(std::move(live.error));
        }
    }
    // Named twice, or once by its folder: counted once.
    std::ranges::sort(files);
    const auto repeated = std::ranges::unique(files);
    files.erase(repeated.begin(), repeated.end());
    return files;
}

}  // namespace pincheck
