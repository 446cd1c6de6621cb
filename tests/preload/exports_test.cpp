// What the preload library brings into other people's processes: the listed functions, dlsym and pincheck_flush, and
// libc alone.
#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>
#include <set>
#include <sstream>

#include "run_program.h"
#include "shell.h"

namespace pincheck::test {
namespace {

std::set<std::string> listed_functions() {
    return {
#define PINCHECK_API(symbol, side, shape, lookup, since, variant) #symbol,
#include "report/cuda_api.def"
#undef PINCHECK_API
#define PINCHECK_CUPTI(symbol, parameters, arguments) #symbol,
#include "report/cupti_api.def"
#undef PINCHECK_CUPTI
    };
}

TEST(Exports, AreTheListAndDlsymAndFlushAndNothingElse) {
    std::set<std::string> expected = listed_functions();
    expected.insert({"dlsym", "pincheck_flush"});
    std::set<std::string> actual;
    std::istringstream lines(shell_output("nm -D --defined-only '" + tool_library() + "'"));
    std::string line;
    while (std::getline(lines, line)) {
        const std::string symbol = line.substr(line.rfind(' ') + 1);
        actual.insert(symbol.substr(0, symbol.find('@')));
    }
    EXPECT_EQ(actual, expected);
}

// A version would keep references like cudaMemcpyAsync@libcudart.so.13 from binding.
TEST(Exports, HaveNoVersion) {
    std::istringstream lines(shell_output("nm -D --defined-only '" + tool_library() + "'"));
    std::string line;
    while (std::getline(lines, line)) {
        EXPECT_EQ(line.find('@'), std::string::npos) << line;
    }
}

TEST(Dependencies, AreLibcAlone) {
    const std::string section = shell_output("readelf -d '" + tool_library() + "'");
    ASSERT_NE(section, "");
    const std::set<std::string> allowed = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0",
                                           "ld-linux-x86-64.so.2"};
    const std::regex needed("\\(NEEDED\\)[^\\[]*\\[([^\\]]+)\\]");
    for (std::sregex_iterator found(section.begin(), section.end(), needed), end; found != end; ++found) {
        EXPECT_TRUE(allowed.contains((*found)[1])) << (*found)[1];
    }
    EXPECT_EQ(section.find("RPATH"), std::string::npos);
    EXPECT_EQ(section.find("RUNPATH"), std::string::npos);
    EXPECT_EQ(section.find("TEXTREL"), std::string::npos);
}

// Old systems are users too: no symbol of a glibc newer than 2.34.
TEST(Dependencies, K6_NeedNoNewGlibc) {
    const std::string versions = shell_output("readelf -V '" + tool_library() + "'");
    const std::regex name("GLIBC_2\\.([0-9]+)");
    for (std::sregex_iterator found(versions.begin(), versions.end(), name), end; found != end; ++found) {
        EXPECT_LE(std::atoi((*found)[1].str().c_str()), 34) << found->str();
    }
}

TEST(Dependencies, UseInitialExecThreadLocals) {
    const std::string relocations = shell_output("readelf -rW '" + tool_library() + "'");
    ASSERT_NE(relocations, "");
    EXPECT_EQ(relocations.find("DTPMOD64"), std::string::npos);
    EXPECT_EQ(shell_output("nm -D '" + tool_library() + "'").find("__tls_get_addr"), std::string::npos);
}

}  // namespace
}  // namespace pincheck::test
