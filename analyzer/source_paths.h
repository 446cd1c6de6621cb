// Where source files lie, seen from the tree that a CI system has checked out. Reports name files as the compiler saw
// them: absolute, often of a container or of another machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace pincheck {

struct PathMap {
    std::string from;
    std::string to;
};
// "A=B": paths below the folder A are those below B. Nothing where there is no '=' or no A.
std::optional<PathMap> parse_path_map(const std::string& text);

class SourcePaths {
  public:
    // `root`: of the source tree; "" is the working directory. The first map that fits a path is used.
    SourcePaths(const std::string& root, std::vector<PathMap> maps);

    // Below the root: relative to it, without "." and "..". Elsewhere: absolute. A relative path is one below the root.
    // "" stays "".
    std::string place(const std::string& file) const;
    const std::string& root() const noexcept { return root_; }  // absolute, without a slash at its end

  private:
    std::string mapped(const std::string& file) const;

    std::string root_;
    std::string resolved_root_;  // the same without symbolic links
    std::vector<PathMap> maps_;
};

// A path as a URI reference: everything but letters, digits and -._~/ as %NN. Of an absolute path with its scheme:
// file:///x.
std::string uri_of(const std::string& path);

}  // namespace pincheck
