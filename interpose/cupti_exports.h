// The functions of report/cupti_api.def as the program gets them: by its own references, like the CUDA functions of
// exports.h, and from dlsym. Each hands CUPTI over and then calls the function that the program asked for, of the
// libcupti that it asked.
#pragma once

#include <cstddef>

namespace pincheck::cupti {

inline constexpr const char* kExports[] = {
#define PINCHECK_CUPTI(symbol, parameters, arguments) #symbol,
#include "report/cupti_api.def"
#undef PINCHECK_CUPTI
};
inline constexpr std::size_t kExportCount = sizeof(kExports) / sizeof(kExports[0]);

// The row of that name; -1: none. No libc call.
int find_export(const char* name) noexcept;

// What the program is given in place of `real`, a function of a libcupti with the row's name: a wrapper, or `real`
// where too many copies of the library have been seen. No lock, no libc call: the loader may be asking.
void* wrapper_of(int row, void* real) noexcept;

// The exported function as the file has it, before it becomes an IFUNC.
void* plain_export(int row) noexcept;

// True for every address that wrapper_of() or plain_export() gives.
bool is_wrapper(const void* address) noexcept;

}  // namespace pincheck::cupti
