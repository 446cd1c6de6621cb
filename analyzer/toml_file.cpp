#include "toml_file.h"

// Its assertions fail on some files that are merely wrong ("x = ]"), and where there are none its assumptions are the
// compiler's; without either such a file is an error like others (3.3.0, tests/fuzz).
#undef NDEBUG
#define TOML_ASSERT(expr) static_cast<void>(0)
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <algorithm>

#include "text_file.h"

namespace pincheck {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;

TomlValue value_of(const toml::node& node) {
    using Kind = TomlValue::Kind;
    TomlValue value;
    value.line = node.source().begin.line;
    if (const toml::table* table = node.as_table()) {
        value.kind = Kind::table;
        for (const auto& [key, entry] : *table) {
            TomlValue one = value_of(entry);
            // A table's own position may be that of its header; a key's is where a reader looks.
            one.line = key.source().begin.line != 0 ? key.source().begin.line : one.line;
            value.entries.emplace_back(std::string(key.str()), std::move(one));
        }
    } else if (const toml::array* array = node.as_array()) {
        value.kind = Kind::list;
        for (const toml::node& entry : *array) {
            value.list.push_back(value_of(entry));
        }
    } else if (const auto* text = node.as_string()) {
        value.kind = Kind::text;
        value.text = text->get();
    } else if (const auto* number = node.as_integer()) {
        value.kind = Kind::whole_number;
        value.number = number->get();
    } else if (const auto* truth = node.as_boolean()) {
        value.kind = Kind::truth;
        value.truth = truth->get();
    } else if (const auto* date = node.as_date()) {
        value.kind = Kind::date;
        value.date = std::chrono::year(date->get().year) / std::chrono::month(date->get().month) / date->get().day;
    }
    return value;
}

}  // namespace

const TomlValue* TomlValue::find(std::string_view key) const {
    const auto found = std::ranges::find(entries, key, [](const auto& entry) { return std::string_view(entry.first); });
    return found == entries.end() ? nullptr : &found->second;
}

TomlFile read_toml_file(const std::string& path) {
    TomlFile file;
    const TextFile text = read_text_file(path, kMostBytes);
    if (!text.error.empty()) {
        file.error = text.error;
        return file;
    }
    const toml::parse_result parsed = toml::parse(std::string_view(text.text), path);
    if (!parsed) {
        const toml::parse_error& error = parsed.error();
        file.error = at_line(path, error.source().begin.line, std::string(error.description()));
        return file;
    }
    file.root = value_of(parsed.table());
    return file;
}

std::string at_line(const std::string& path, std::uint32_t line, const std::string& text) {
    return path + ':' + std::to_string(line) + ": " + text;
}

}  // namespace pincheck
