// A whole file that a user named, as text.
#pragma once

#include <cstddef>
#include <string>

namespace pincheck {

struct TextFile {
    std::string text;
    std::string error;  // "" or why there is no text: "cannot read PATH: No such file or directory"
};

// A pipe may be named too (a shell's <(…)). A file of more than `most_bytes` is refused, whatever its size says.
TextFile read_text_file(const std::string& path, std::size_t most_bytes);

}  // namespace pincheck
