// The report of a process that is running, by its process id.
#pragma once

#include <string>

namespace pincheck {

// A word of digits alone that names no file: a process id.
bool is_process_id(const std::string& word);

struct LiveReport {
    std::string path;   // of the report, or of its descriptor in /proc where no path leads to it from here
    std::string error;  // one line with the next step; there is no path then
};
// What the process's recorder has open: found by its contents, whatever it is called. The recorder's thread may have
// descriptors of its own, so that every thread's are looked at. Needs what ptrace(2) needs: the same user, or root.
LiveReport report_of_process(const std::string& pid);

}  // namespace pincheck
