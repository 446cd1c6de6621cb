#include "source_paths.h"

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace pincheck {
namespace {

std::string without_slash(std::string path) {
    while (path.size() > 1 && path.back() == '/') {
        path.pop_back();
    }
    return path;
}

std::string normal(const std::filesystem::path& path) {
    return without_slash(path.lexically_normal().string());
}

// What follows the folder in a path below it; nothing for another path.
std::optional<std::string> below(const std::string& folder, const std::string& path) {
    if (path == folder) {
        return "";
    }
    const std::string start = folder.ends_with('/') ? folder : folder + '/';
    return path.starts_with(start) ? std::optional(path.substr(start.size())) : std::nullopt;
}

}  // namespace

std::optional<PathMap> parse_path_map(const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == text.npos) {
        return std::nullopt;
    }
    return PathMap{without_slash(text.substr(0, equals)), without_slash(text.substr(equals + 1))};
}

SourcePaths::SourcePaths(const std::string& root, std::vector<PathMap> maps) : maps_(std::move(maps)) {
    std::error_code error;
    const std::filesystem::path here = std::filesystem::current_path(error);
    root_ = normal(here / root);
    const std::filesystem::path resolved = std::filesystem::canonical(root_, error);
    resolved_root_ = error ? root_ : resolved.string();
}

std::string SourcePaths::mapped(const std::string& file) const {
    for (const PathMap& map : maps_) {
        if (const std::optional<std::string> rest = below(map.from, file)) {
            return map.to.empty() ? *rest : map.to + '/' + *rest;
        }
    }
    return file;
}

std::string SourcePaths::place(const std::string& file) const {
    if (file.empty()) {
        return "";
    }
    const std::string path = normal(std::filesystem::path(root_) / mapped(file));
    for (const std::string& root : {root_, resolved_root_}) {
        if (const std::optional<std::string> rest = below(root, path)) {
            return rest->empty() ? path : *rest;
        }
    }
    return path;
}

std::string uri_of(const std::string& path) {
    constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
    std::string uri = path.starts_with('/') ? "file://" : "";
    for (const char c : path) {
        if (kPlain.find(c) != kPlain.npos) {
            uri += c;
        } else {
            const auto byte = static_cast<std::uint8_t>(c);
            uri += '%';
            uri += "0123456789ABCDEF"[byte >> 4];
            uri += "0123456789ABCDEF"[byte & 15];
        }
    }
    return uri;
}

}  // namespace pincheck
