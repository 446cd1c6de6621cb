// The exported cuda* and cu* symbols, and how they stay away when the process has no CUDA.
//
// A program may ask whether CUDA is there by a weak reference or by dlsym(RTLD_DEFAULT, "cudaMalloc"); an export of
// ours must not be mistaken for CUDA. So each export answers like an IFUNC: with the wrapper when a CUDA library that
// defines the symbol is loaded, else with whatever the program would have got without us (null, or another library's
// function).
//
// The symbols are plain functions in the file and become IFUNCs only when this library has been relocated. Real IFUNCs
// would be called by the loader for libraries that are relocated before us (startup-linked, -z now), with a message on
// stderr and our data not relocated yet (measured, glibc 2.36: "Relink … with … for IFUNC symbol", then a crash).
#pragma once

#include "api.h"

namespace pincheck {

// The wrapper of a function: what a caller is given in place of the real one.
void* wrapper_of(Api api) noexcept;

// What a reference to an exported symbol resolves to now: the wrapper, another library's function, or null.
void* resolve_export(Api api) noexcept;
// The same for a row of report/cupti_api.def. Whatever the options say: while the tool is CUPTI's client the program
// must be able to become it.
void* resolve_cupti_export(int row) noexcept;

// True when an object before us in the loader's list (the program itself, a library preloaded before us) defines the
// symbol.
bool defined_before_us(const char* symbol) noexcept;

// The row whose exported symbol has this name; -1: none. No libc call.
int find_export(const char* name) noexcept;

// True when `address` is one of our wrappers.
bool is_wrapper(const void* address) noexcept;

// A listed function that another library than CUDA's defines first; null when there was none. For coverage.
const char* foreign_provider_seen() noexcept;

}  // namespace pincheck
