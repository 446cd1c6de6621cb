// A program of many small cases, one a run: the first argument names it, "list" prints their names.
#pragma once

#include <cstdio>
#include <cstring>

namespace cases {

struct Case {
    const char* name;
    void (*run)();
};

template <std::size_t N>
int main_of(const Case (&all)[N], int count, char** arguments) {
    if (count < 2) {
        return 2;
    }
    for (const Case& one : all) {
        if (std::strcmp(arguments[1], "list") == 0) {
            std::printf("%s\n", one.name);
        } else if (std::strcmp(arguments[1], one.name) == 0) {
            one.run();
            return 0;
        }
    }
    return std::strcmp(arguments[1], "list") == 0 ? 0 : 2;
}

}  // namespace cases
