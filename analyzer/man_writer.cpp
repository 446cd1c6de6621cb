// Writes pincheck(1) to the file that is named: a step of the build.
#include <cstdio>
#include <fstream>

#include "command_line.h"
#include "verbs.h"

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fputs("usage: pincheck-man FILE\n", stderr);
        return 2;
    }
    pincheck::CommandLine line("pincheck", pincheck::kProgramHelp);
    std::vector<std::string> program;
    pincheck::add_verbs(line, program);
    std::ofstream file(argv[1], std::ios::binary);
    file << line.man_page(PINCHECK_VERSION);
    file.close();
    if (!file) {
        std::fprintf(stderr, "pincheck-man: cannot write %s\n", argv[1]);
        return 2;
    }
    return 0;
}
