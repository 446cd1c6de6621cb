#include "text_file.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "render_text_layout.h"

namespace pincheck {

TextFile read_text_file(const std::string& path, std::size_t most_bytes) {
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    const auto cannot_read = [&](const std::string& why) { return TextFile{"", "cannot read " + path + ": " + why}; };
    const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rbe"));
    if (!file) {
        return cannot_read(std::strerror(errno));
    }
    TextFile result;
    std::array<char, 64 << 10> buffer;
    while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), file.get())) {
        if (got > most_bytes - result.text.size()) {
            return cannot_read("it has more than " + bytes_text(most_bytes));
        }
        result.text.append(buffer.data(), got);
    }
    // A folder can be opened; reading it is what fails.
    return std::ferror(file.get()) != 0 ? cannot_read(std::strerror(errno)) : result;
}

}  // namespace pincheck
