// Output of a tool of the system (nm, readelf, the compiler), for tests that compare with it.
#pragma once

#include <array>
#include <cstdio>
#include <string>

namespace pincheck::test {

// stdout of `sh -c command`; empty when it cannot be run.
inline std::string shell_output(const std::string& command) {
    std::string output;
    if (std::FILE* const pipe = popen(command.c_str(), "r")) {
        std::array<char, 4096> buffer{};
        while (const std::size_t length = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
            output.append(buffer.data(), length);
        }
        pclose(pipe);
    }
    return output;
}

}  // namespace pincheck::test
