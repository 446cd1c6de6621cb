#include "launch_stubs.h"

#include <string>
#include <string_view>

#include "dwarf_module.h"
#include "origin.h"

namespace pincheck {
namespace {

constexpr std::string_view kStub = "__device_stub_";              // + mangled name with one underscore
constexpr std::string_view kWrapper = "__wrapper__device_stub_";  // between the two, of a template

// Of "void ns::f<int>(int*)": "f".
std::string last_name(const std::string& function) {
    const std::string name = bare_name(function);
    const std::size_t scope = name.rfind("::");
    return scope == name.npos ? name : name.substr(scope + 2);
}

// The kernel of a stub; "" of any other function.
std::string kernel_of(const std::string& function) {
    if (!function.starts_with(kStub)) {
        return "";
    }
    const std::size_t end = function.find_first_of("(+. ");
    const std::string mangled = function.substr(kStub.size(), end == function.npos ? end : end - kStub.size());
    return last_name(demangled(mangled.c_str()));
}

}  // namespace

void mark_launch_stubs(std::vector<CaptureFrame>& stack) {
    std::string kernel;  // of the stub that the next line outward called
    for (CaptureFrame& frame : stack) {
        for (SourceLine& line : frame.lines) {
            if (!kernel.empty() && !line.function.starts_with(kWrapper)) {
                line.launch_stub = last_name(line.function) == kernel;
                kernel.clear();
            }
            if (std::string found = kernel_of(line.function); !found.empty()) {
                kernel = std::move(found);
            }
        }
    }
}

}  // namespace pincheck
