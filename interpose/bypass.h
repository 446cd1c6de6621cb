// Calls that do not come to the hooks although the library is loaded, and what is known of them.
//
// An object opened with RTLD_DEEPBIND finds the driver's functions, and dlsym, in its own libraries before ours; a
// dlsym of another preloaded library may ask libc behind our back. Both show in the slots that the loader filled in: a
// listed driver function that is the driver's own, or a dlsym that is not ours in an object that holds a CUDA runtime
// and never asked through us. A runtime that is called past us while its own look-ups come to us is no such case (its
// copies are seen at the driver), nor one that asks past us while all calls come to our exports.
#pragma once

#include <cstdint>

namespace pincheck {

// Somebody at `return_address` was given a wrapper by dlsym, or asked cuGetProcAddress through ours. Any thread.
void note_asker(std::uintptr_t return_address) noexcept;

// A function that moves or sets memory and is not in the list was found by this name. Any thread; the text is copied.
void note_unlisted(const char* name) noexcept;
// Names of functions that move or set memory (cuMemcpy…, cudaMemset…), listed or not.
bool moves_memory(const char* name) noexcept;

// Looks at all objects. One thread at a time. Called when objects came or went and at the end, since the loader fills
// lazily bound slots at a function's first call.
void find_bypasses() noexcept;

// What was found so far, in order; null past the last. Bypassed: the object's path and, in brackets, what it found by
// itself. The same thread as find_bypasses().
const char* bypassed(unsigned index) noexcept;
// Any thread.
const char* unlisted(unsigned index) noexcept;

}  // namespace pincheck
