// TOML files, as far as settings need it. toml++ parses them, in toml_file.cpp alone: a file that includes toml++ takes
// far longer to compile than one that does not.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pincheck {

struct TomlValue {
    enum class Kind { text, whole_number, truth, date, list, table, other };

    Kind kind = Kind::other;
    std::uint32_t line = 0;
    std::string text;         // text
    std::int64_t number = 0;  // whole_number
    bool truth = false;
    std::chrono::sys_days date;
    std::vector<TomlValue> list;
    std::vector<std::pair<std::string, TomlValue>> entries;  // table: by key, sorted

    const TomlValue* find(std::string_view key) const;
};

struct TomlFile {
    TomlValue root;     // a table
    std::string error;  // "" or what is wrong: "cannot read PATH: …", "PATH:3: …"
};

// Up to 1 MiB.
TomlFile read_toml_file(const std::string& path);

// "PATH:3: text"
std::string at_line(const std::string& path, std::uint32_t line, const std::string& text);

}  // namespace pincheck
