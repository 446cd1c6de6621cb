// What libpincheck-trap.so brings into other people's processes: the listed functions, its table, and libc alone.
#include <dlfcn.h>

#include <cstdlib>
#include <regex>
#include <set>

#include "shell.h"
#include "trap_run.h"

namespace pincheck::test {
namespace {

std::string about_library(const std::string& tool) {
    return shell_output(tool + " '" + trap_library() + "'");
}

std::set<std::string> exported() {
    std::set<std::string> all;
    for (const std::string& line : lines_of(about_library("nm -D --defined-only"))) {
        EXPECT_EQ(line.find('@'), std::string::npos) << "a version: " << line;
        all.insert(line.substr(line.rfind(' ') + 1));
    }
    return all;
}

TEST(TrapExports, AreTheListAndTheTableAndNothingElse) {
    const std::set<std::string> expected = {
#define PINCHECK_LIBC(symbol, shape) #symbol,
#define PINCHECK_LIBC_SIGNAL(symbol) #symbol,
#include "interpose/trap/libc_api.def"
        "pincheck_trap_library"};
    EXPECT_EQ(exported(), expected);
}

// A function that libc does not have must not seem to be there.
TEST(TrapExports, AreFunctionsOfThisLibc) {
    for (const std::string& symbol : exported()) {
        if (symbol != "pincheck_trap_library") {
            EXPECT_NE(dlsym(RTLD_DEFAULT, symbol.c_str()), nullptr) << symbol;
        }
    }
}

TEST(TrapDependencies, AreLibcAlone) {
    const std::string section = about_library("readelf -d");
    ASSERT_NE(section, "");
    const std::set<std::string> allowed = {"libc.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2"};
    const std::regex needed("\\(NEEDED\\)[^\\[]*\\[([^\\]]+)\\]");
    for (std::sregex_iterator found(section.begin(), section.end(), needed), end; found != end; ++found) {
        EXPECT_TRUE(allowed.contains((*found)[1])) << (*found)[1];
    }
    EXPECT_EQ(section.find("RPATH"), std::string::npos);
    EXPECT_EQ(section.find("RUNPATH"), std::string::npos);
    EXPECT_EQ(section.find("TEXTREL"), std::string::npos);
}

TEST(TrapDependencies, NeedNoNewGlibc) {
    const std::string versions = about_library("readelf -V");
    const std::regex name("GLIBC_2\\.([0-9]+)");
    for (std::sregex_iterator found(versions.begin(), versions.end(), name), end; found != end; ++found) {
        EXPECT_LE(std::atoi((*found)[1].str().c_str()), 34) << found->str();
    }
}

TEST(TrapDependencies, UseInitialExecThreadLocals) {
    const std::string relocations = about_library("readelf -rW");
    ASSERT_NE(relocations, "");
    EXPECT_EQ(relocations.find("DTPMOD64"), std::string::npos);
    EXPECT_EQ(about_library("nm -D").find("__tls_get_addr"), std::string::npos);
}

}  // namespace
}  // namespace pincheck::test
