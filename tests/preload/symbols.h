// Which function an address of a module lies in, by the module's own symbol table (ELF, 64 bits).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pincheck::test {

class Symbols {
  public:
    // Of the file `path`; no symbols when it cannot be read. Kept for the life of the process.
    static const Symbols& of(const std::string& path);

    // Demangled, without parameters, return type and blanks ("upload_async<PinnedWith<0u>>"); empty when none covers
    // the address. A return address lies behind its call: pass it as it is.
    std::string function_before(std::uint64_t return_address) const;

  private:
    explicit Symbols(const std::string& path);

    struct Function {
        std::uint64_t begin;
        std::uint64_t end;
        std::string name;
    };
    std::vector<Function> functions_;
};

// "void upload_async<PinnedWith<0u> >(Lane const&, void const*)" -> "upload_async<PinnedWith<0u>>"
std::string bare_function_name(const std::string& demangled);

}  // namespace pincheck::test
