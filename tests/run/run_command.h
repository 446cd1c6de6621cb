// What the tests of `pincheck run` start: the tool without any preload of its own, on top of a program.
#pragma once

#include <string>
#include <vector>

#include "tests/preload/run_program.h"

namespace pincheck::test {

// `pincheck run FLAGS -- PROGRAM`. The environment has no LD_PRELOAD.
Command run_command(const std::vector<std::string>& flags, const std::vector<std::string>& program);
// The same program alone.
Command plain_command(const std::vector<std::string>& program);

bool has(const std::string& text, const std::string& part);
std::size_t lines_in(const std::string& text);

// A seccomp filter is in force: behind one nothing is watched.
bool is_filtered();

// Folders in `folder` whose names begin with "pincheck-".
std::vector<std::filesystem::path> job_folders(const std::filesystem::path& folder);

// Reads the file again and again until it has this text; false after a minute.
bool file_gets(const std::filesystem::path& file, const std::string& text);

// A program of one line of C++, in `folder`; false where the compiler cannot build it with these flags.
bool build(const std::filesystem::path& folder, const std::string& name, const std::string& code,
           const std::string& flags);

}  // namespace pincheck::test
