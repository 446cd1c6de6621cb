// One module's file and its debug information, opened by libdw.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "capture.h"
#include "symbolize.h"

namespace pincheck {

class DwarfModule {
  public:
    // `build_id` is the recorded one in hexadecimal; "" when the module had none.
    DwarfModule(const std::string& path, const std::string& build_id, const SymbolizeOptions& options);
    ~DwarfModule();
    DwarfModule(const DwarfModule&) = delete;
    DwarfModule& operator=(const DwarfModule&) = delete;

    // "" or one line: why nothing can be looked up, with the next step.
    const std::string& problem() const { return problem_; }

    // What is at a return address, given as offset from the load bias: inlined functions first. From the nearest symbol
    // where there is no debug information (the function is then "name+0x12"); empty when nothing is known.
    std::vector<SourceLine> lines(std::uint64_t return_offset);

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
    std::string problem_;
};

// The C++ name that a symbol stands for; the symbol itself when it is none.
std::string demangled(const char* symbol);

}  // namespace pincheck
