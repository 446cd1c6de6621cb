// Doing something in a process of its own: what goes wrong there ends that process and not this one.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace pincheck {

struct ChildAnswer {
    bool succeeded = false;  // it exited with 0 in time
    std::string out;
    std::string err;
};

// Calls `work` in a fork of this process, which has one thread. What it returns comes back in `out`.
ChildAnswer ask_fork(const std::function<std::string()>& work);
// Starts `command` in `environment`.
ChildAnswer ask_program(const std::vector<std::string>& command, const std::vector<std::string>& environment);

}  // namespace pincheck
