#include "run_command.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace pincheck::test {

namespace fs = std::filesystem;

Command run_command(const std::vector<std::string>& flags, const std::vector<std::string>& program) {
    Command command = plain_command({PINCHECK_TEST_TOOL, "run"});
    command.arguments.insert(command.arguments.end(), flags.begin(), flags.end());
    command.arguments.push_back("--");
    command.arguments.insert(command.arguments.end(), program.begin(), program.end());
    return command;
}

Command plain_command(const std::vector<std::string>& program) {
    Command command;
    command.arguments = program;
    command.preload = {};
    return command;
}

bool has(const std::string& text, const std::string& part) {
    // Where a line is broken depends on how long the paths in it are, and so on where this was built.
    const auto single_spaced = [](const std::string& broken) {
        std::string result;
        for (const char c : broken) {
            const bool space = c == ' ' || c == '\n';
            if (!space || result.empty() || result.back() != ' ') {
                result += space ? ' ' : c;
            }
        }
        return result;
    };
    return single_spaced(text).find(single_spaced(part)) != std::string::npos;
}

bool is_filtered() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("Seccomp:")) {
            return line.ends_with("2");
        }
    }
    return false;
}

std::size_t lines_in(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::vector<fs::path> job_folders(const fs::path& folder) {
    std::vector<fs::path> all;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.is_directory() && entry.path().filename().string().rfind("pincheck-", 0) == 0) {
            all.push_back(entry.path());
        }
    }
    return all;
}

bool file_gets(const fs::path& file, const std::string& text) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < give_up) {
        std::ostringstream content;
        content << std::ifstream(file).rdbuf();
        if (has(content.str(), text)) {
            return true;
        }
        usleep(5'000);  // between two looks; decides nothing
    }
    return false;
}

bool build(const fs::path& folder, const std::string& name, const std::string& code, const std::string& flags) {
    std::ofstream(folder / (name + ".cpp")) << code << '\n';
    const std::string command = std::string(PINCHECK_TEST_CXX) + " -o '" + (folder / name).string() + "' '" +
                                (folder / (name + ".cpp")).string() + "' " + flags + " 2>/dev/null";
    return std::system(command.c_str()) == 0;
}

}  // namespace pincheck::test
