// Which function the program is given for one of a libcupti's.
#include "interpose/cupti_exports.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

#include "interpose/cupti_session.h"
#include "interpose/elf_objects.h"

namespace pincheck::cupti {

// What the session does with them.
void hand_over(const char*, std::uintptr_t) noexcept {}
void handed_over(bool) noexcept {}

namespace {

class CuptiExports : public testing::Test {
  protected:
    static void SetUpTestSuite() { process_started(); }
};

// Functions of objects that are loaded, so many.
std::vector<void*> loaded_functions() {
    std::vector<void*> functions;
    for (const char* name : {"malloc", "free", "calloc", "realloc", "memcpy", "strlen"}) {
        functions.push_back(dlsym(RTLD_DEFAULT, name));
        EXPECT_NE(functions.back(), nullptr) << name;
    }
    return functions;
}

TEST_F(CuptiExports, areFoundByName) {
    for (std::size_t row = 0; row < kExportCount; ++row) {
        EXPECT_EQ(find_export(kExports[row]), static_cast<int>(row));
    }
    EXPECT_EQ(find_export("cuptiSubscrib"), -1);
    EXPECT_EQ(find_export("cuptiSubscribe_v3"), -1);
    EXPECT_EQ(find_export(""), -1);
}

TEST_F(CuptiExports, oneFunctionHasOneWrapper) {
    void* real = loaded_functions()[0];
    void* wrapper = wrapper_of(0, real);
    EXPECT_TRUE(is_wrapper(wrapper));
    EXPECT_EQ(wrapper_of(0, real), wrapper);
    EXPECT_NE(wrapper_of(1, real), wrapper);
}

// A program that loads and unloads its profiler again and again, each time at another address.
TEST_F(CuptiExports, placesOfUnloadedCopiesAreUsedAgain) {
    std::uintptr_t nowhere = 4096;
    for (int i = 0; i < 20; ++i) {
        wrapper_of(2, reinterpret_cast<void*>(nowhere += 4096));
    }
    for (void* real : {loaded_functions()[0], loaded_functions()[1]}) {
        EXPECT_TRUE(is_wrapper(wrapper_of(2, real)));
        EXPECT_EQ(wrapper_of(2, real), wrapper_of(2, real));
    }
}

// More at a time than there are places: the rest are the program's own, and no wrapper leads to another library.
TEST_F(CuptiExports, moreCopiesThanPlacesArePassedOn) {
    std::set<void*> given;
    const std::vector<void*> functions = loaded_functions();
    for (void* real : functions) {
        given.insert(wrapper_of(1, real));
    }
    EXPECT_EQ(given.size(), functions.size());
    EXPECT_FALSE(is_wrapper(wrapper_of(1, functions.back())));
}

}  // namespace
}  // namespace pincheck::cupti
