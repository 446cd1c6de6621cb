#include "symbol_cache.h"

#include <algorithm>

namespace pincheck {

SymbolCache::Module& SymbolCache::module(const std::string& path, const std::string& build_id) {
    Module& module = modules_[{path, build_id}];
    module.path = path;
    module.build_id = build_id;
    return module;
}

DwarfModule& SymbolCache::open(Module& module) {
    if (module.file != nullptr) {
        open_.splice(open_.begin(), open_, std::ranges::find(open_, &module));
        return *module.file;
    }
    if (!open_.empty() && open_.size() >= most_open_) {
        open_.back()->file.reset();
        open_.pop_back();
    }
    ++opened_;
    module.file = std::make_unique<DwarfModule>(module.path, module.build_id, options_);
    open_.push_front(&module);
    return *module.file;
}

const std::string& SymbolCache::problem(Module& module) {
    if (!module.known) {
        module.known = true;
        module.problem = open(module).problem();
        if (!module.problem.empty()) {
            open_.remove(&module);
            module.file.reset();
        }
    }
    return module.problem;
}

const std::vector<SourceLine>& SymbolCache::lines(Module& module, std::uint64_t return_offset) {
    const auto [known, is_new] = module.answers.try_emplace(return_offset);
    if (is_new && problem(module).empty()) {
        known->second = open(module).lines(return_offset);
    }
    return known->second;
}

}  // namespace pincheck
