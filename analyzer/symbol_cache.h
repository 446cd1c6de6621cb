// Source lines of modules, for as many captures and reports as there are of one job. Not thread-safe.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dwarf_module.h"

namespace pincheck {

// Every answer is kept, so that a thousand reports of one program cost one look-up of each address. Few files are kept
// open: each holds a descriptor, and its debug information in memory.
class SymbolCache {
  public:
    explicit SymbolCache(SymbolizeOptions options, std::size_t most_open = 64)
        : options_(std::move(options)), most_open_(most_open) {}

    class Module {
        friend class SymbolCache;
        std::string path;
        std::string build_id;
        std::unique_ptr<DwarfModule> file;  // null: not opened yet, or closed again
        bool known = false;                 // `problem` says whether it can be opened
        std::string problem;
        std::map<std::uint64_t, std::vector<SourceLine>> answers;  // by return offset
    };
    // A module's file as it was recorded; `build_id` in hexadecimal, "" when it had none. Valid as long as the cache.
    Module& module(const std::string& path, const std::string& build_id);

    // "" or one line: why nothing can be looked up in it, with the next step.
    const std::string& problem(Module& module);
    // See DwarfModule::lines(). Valid as long as the cache.
    const std::vector<SourceLine>& lines(Module& module, std::uint64_t return_offset);

    // How often a file was opened.
    std::size_t opened() const noexcept { return opened_; }

  private:
    DwarfModule& open(Module& module);

    SymbolizeOptions options_;
    std::size_t most_open_;
    std::size_t opened_ = 0;
    std::map<std::pair<std::string, std::string>, Module> modules_;  // by path and build-id
    std::list<Module*> open_;                                        // the last used first
};

}  // namespace pincheck
