// What makes a finding the same one in another run, and what does not.
#include <gtest/gtest.h>

#include <set>

#include "analyzer/fingerprint.h"
#include "analyzer_sample.h"

namespace pincheck::test {
namespace {

using report::Direction;
using report::MemoryClass;

constexpr Direction kUp = Direction::host_to_device;
constexpr Direction kDown = Direction::device_to_host;

std::vector<std::string> fingerprints(const CaptureMaker& maker) {
    std::vector<std::string> result;
    for (const Finding& finding : maker.found()) {
        result.push_back(finding.identity.fingerprint);
    }
    return result;
}

std::vector<std::string> places(const CaptureMaker& maker) {
    std::vector<std::string> result;
    for (const Finding& finding : maker.found()) {
        result.push_back(finding.identity.place);
    }
    return result;
}

TEST(StableFunction, has_no_parameters_arguments_clones_or_hashes) {
    for (const auto& [name, stable] : std::vector<std::pair<std::string, std::string>>{
             {"step", "step"},
             {"ns::Meter::update(float*, int) const", "ns::Meter::update"},
             {"void copy<float, 3>(float*)", "copy"},
             {"Pool<Block<int> >::give()", "Pool::give"},
             {"step(int) [clone .cold]", "step"},
             {"step(int) [clone .isra.0] [clone .part.1]", "step"},
             {"step.constprop.0", "step"},
             {"step.part.3.cold", "step"},
             {"step.lto_priv.12", "step"},
             {"step+0x1f", "step"},
             {"main.main", "main.main"},
             {"train::step::h0123456789abcdef", "train::step"},
             {"train::step::h0123456789abcdeg", "train::step::h0123456789abcdeg"},
             {"(anonymous namespace)::helper(int)", "{anonymous}::helper"},
             {"_GLOBAL__N__a1b2c3d4_8_train_cu_77::helper(int)", "{anonymous}::helper"},
             {"train()::{lambda()#1}::operator()() const", "train"},
             {".cold", ".cold"},
             {"", ""}}) {
        EXPECT_EQ(stable_function(name), stable) << name;
    }
}

TEST(StableModule, has_no_path_version_or_hash) {
    for (const auto& [path, stable] :
         std::vector<std::pair<std::string, std::string>>{{"/home/me/train", "train"},
                                                          {"/home/me/build-7/train (deleted)", "train"},
                                                          {"/opt/lib/libfoo.so", "libfoo"},
                                                          {"/opt/lib/libfoo.so.1.2.3", "libfoo"},
                                                          {"/opt/lib/libfoo-1.2.so.3", "libfoo"},
                                                          {"/opt/lib/libfoo-9f3a2b1c.so.12", "libfoo"},
                                                          {"/opt/lib/libfoo-feedface.so", "libfoo-feedface"},
                                                          {"/py/_C.cpython-311-x86_64-linux-gnu.so", "_C"},
                                                          {"/py/_ext.abi3.so", "_ext"},
                                                          {"/t/unit-0123456789abcdef", "unit"},
                                                          {"/t/two-step", "two-step"},
                                                          {"-7", "-7"},
                                                          {"", ""}}) {
        EXPECT_EQ(stable_module(path), stable) << path;
    }
}

TEST(StableApi, has_no_version_or_stream_flavour) {
    EXPECT_EQ(stable_api("cuMemcpyHtoDAsync_v2"), "cuMemcpyHtoDAsync");
    EXPECT_EQ(stable_api("cuMemcpyHtoDAsync_v2_ptsz"), "cuMemcpyHtoDAsync");
    EXPECT_EQ(stable_api("cudaMemcpy_ptds"), "cudaMemcpy");
    EXPECT_EQ(stable_api("cudaMemcpyAsync"), "cudaMemcpyAsync");
}

// One program, built again: other lines, addresses, build-ids, folders, versions and clones.
CaptureMaker built(bool again) {
    CaptureMaker maker;
    const int shift = again ? 17 : 0;
    const char* program = again ? "/ci/job-2/train" : "/home/me/train";
    const char* library = again ? "/ci/job-2/libdata.so.2.1" : "/home/me/libdata.so.2.0";
    if (again) {
        maker.frame({"/elsewhere/first.so"});  // offsets and numbers of modules differ
    }
    const FrameText update{program, again ? "Meter::update(float*) [clone .part.0]" : "Meter::update(float*)",
                           again ? "/ci/job-2/src/meter.cu" : "/home/me/src/meter.cu",
                           static_cast<std::uint32_t>(41 + shift)};
    const FrameText main{program, "main", "/x/main.cu", static_cast<std::uint32_t>(9 + shift)};
    const FrameText load{library, "load<float>(Batch&)"};
    maker.copy(kDown, MemoryClass::pageable, {{"/usr/lib/libcudart.so.13"}, update, main});
    maker.copy(kUp, MemoryClass::pageable, {{"/usr/lib/libcudart.so.13"}, load, main});
    CaptureRace race;
    race.rule = report::RaceRule::source_overwritten_in_flight;
    race.level = report::RaceLevel::order;
    race.copy_site = 1;
    race.other_site = 2;
    race.count = 3;
    maker.loaded.capture.races = {race};
    for (CaptureModule& module : maker.loaded.capture.modules) {
        module.build_id = again ? "2222" : "1111";
    }
    return maker;
}

TEST(Fingerprint, survives_another_build_and_place) {
    const std::vector<std::string> before = fingerprints(built(false));
    EXPECT_EQ(before.size(), 3u);
    EXPECT_EQ(before, fingerprints(built(true)));
    EXPECT_NE(places(built(false)), places(built(true)));
    for (const std::string& fingerprint : before) {
        EXPECT_EQ(fingerprint.size(), 3 + 16u);
        EXPECT_TRUE(fingerprint.starts_with("v1:"));
    }
}

// The numbers themselves are kept in baselines: a change of them is a new version ("v2:").
TEST(Fingerprint, is_the_same_in_every_version_of_the_tool) {
    CaptureMaker maker;
    maker.copy(kDown, MemoryClass::pageable, {{"/home/me/train", "step(Batch&)", "/src/train.cpp", 41}});
    EXPECT_EQ(fingerprints(maker).at(0), "v1:43e3bebfc4ab8b6a");
}

TEST(Fingerprint, does_not_depend_on_amounts_or_processes) {
    CaptureMaker one;
    CaptureMaker more;
    const FrameText step{"/home/me/train", "step(Batch&)", "/src/train.cpp", 41};
    one.copy(kUp, MemoryClass::pageable, {step}, 100);
    more.copy(kUp, MemoryClass::pageable, {step}, 7, 1 << 20);
    more.loaded.capture.processes.push_back(more.loaded.capture.processes[0]);
    more.loaded.capture.sites[0].threads = 9;
    EXPECT_EQ(fingerprints(one), fingerprints(more));
}

TEST(Fingerprint, differs_where_the_code_does) {
    std::set<std::string> all;
    const auto add = [&](CaptureMaker& maker) {
        for (const std::string& fingerprint : fingerprints(maker)) {
            EXPECT_TRUE(all.insert(fingerprint).second) << all.size();
        }
    };
    const FrameText step{"/home/me/train", "step(Batch&)", "/src/train.cpp", 41};
    for (const FrameText& text :
         {step, FrameText{"/home/me/train", "stop(Batch&)", "/src/train.cpp", 41},
          FrameText{"/home/me/infer", "step(Batch&)", "/src/train.cpp", 41}, FrameText{"/home/me/train"}}) {
        CaptureMaker maker;
        maker.copy(kUp, MemoryClass::pageable, {text});
        add(maker);
    }
    CaptureMaker caller;
    caller.copy(kUp, MemoryClass::pageable, {step, {"/home/me/train", "main"}});
    add(caller);
    CaptureMaker down;
    down.copy(kDown, MemoryClass::pageable, {step});
    add(down);
    CaptureMaker managed;
    managed.copy(kUp, MemoryClass::managed, {step});
    add(managed);
    CaptureMaker api;
    api.copy(kUp, MemoryClass::pageable, {step}).api = "cudaMemcpy2DAsync";
    add(api);
    CaptureMaker none;
    none.copy(kUp, MemoryClass::pageable, {});
    add(none);
}

TEST(Fingerprint, is_shared_by_places_of_one_function_that_only_lines_tell_apart) {
    CaptureMaker maker;
    maker.copy(kUp, MemoryClass::pageable, {{"/home/me/train", "step(Batch&)", "/src/train.cpp", 41}});
    maker.copy(kUp, MemoryClass::pageable, {{"/home/me/train", "step(Batch&)", "/src/train.cpp", 43}});
    maker.copy(kUp, MemoryClass::pageable, {{"/home/me/tool"}});
    maker.copy(kUp, MemoryClass::pageable, {{"/home/me/tool"}});
    const std::vector<std::string> all = fingerprints(maker);
    EXPECT_EQ(all[0], all[1]);
    EXPECT_EQ(all[2], all[3]) << "without symbols";
    EXPECT_NE(all[0], all[2]);
    const std::vector<std::string> where = places(maker);
    EXPECT_EQ(std::set<std::string>(where.begin(), where.end()).size(), 4u);
}

// The stack of a site that is no offender is the first call's: which caller came first is chance.
TEST(Fingerprint, counts_callers_only_where_the_recorder_tells_them_apart) {
    const FrameText step{"/home/me/train", "step(Batch&)", "/src/train.cpp", 41};
    const auto raced = [&](const char* caller, bool exact) {
        CaptureMaker maker;
        CaptureSite& site = maker.copy(kUp, MemoryClass::pinned, {step, {"/home/me/train", caller}});
        site.flags = static_cast<std::uint16_t>(report::kSiteAsync | (exact ? report::kSiteExactStack : 0));
        CaptureRace race;
        race.rule = report::RaceRule::source_overwritten_in_flight;
        race.level = report::RaceLevel::watch;
        race.copy_site = 1;
        race.count = 1;
        maker.loaded.capture.races = {race};
        return fingerprints(maker).at(0);
    };
    EXPECT_EQ(raced("one", false), raced("other", false));
    EXPECT_NE(raced("one", true), raced("other", true));
}

TEST(Fingerprint, of_a_race_does_not_depend_on_which_party_came_first) {
    const auto raced = [](std::uint32_t first, std::uint32_t second) {
        CaptureMaker maker;
        maker.copy(kUp, MemoryClass::pinned, {{"/home/me/train", "one()", "/src/train.cpp", 41}});
        maker.copy(kDown, MemoryClass::pinned, {{"/home/me/train", "other()", "/src/train.cpp", 52}});
        CaptureRace race;
        race.rule = report::RaceRule::unordered_copies;
        race.level = report::RaceLevel::order;
        race.copy_site = first;
        race.other_site = second;
        race.count = 1;
        maker.loaded.capture.races = {race};
        return maker;
    };
    EXPECT_EQ(fingerprints(raced(1, 2)), fingerprints(raced(2, 1)));
    EXPECT_EQ(places(raced(1, 2)), places(raced(2, 1)));
    EXPECT_NE(fingerprints(raced(1, 2)), fingerprints(raced(1, 1)));
}

TEST(Fingerprint, does_not_depend_on_how_deep_a_recursion_was_or_on_what_is_far_out) {
    const FrameText step{"/home/me/train", "step(Batch&)", "/src/train.cpp", 41};
    const FrameText walk{"/home/me/train", "walk(Node*)", "/src/train.cpp", 77};
    CaptureMaker once;
    once.copy(kUp, MemoryClass::pageable, {step, walk, {"/home/me/train", "main"}});
    CaptureMaker deep;
    deep.copy(kUp, MemoryClass::pageable, {step, walk, walk, walk, {"/home/me/train", "main"}});
    EXPECT_EQ(fingerprints(once), fingerprints(deep));
    const auto from = [&](const char* outermost) {
        CaptureMaker maker;
        maker.copy(kUp, MemoryClass::pageable,
                   {step, walk, {"/home/me/train", "a"}, {"/home/me/train", "b"}, {"/home/me/train", outermost}});
        return fingerprints(maker);
    };
    EXPECT_EQ(from("main"), from("worker"));
}

TEST(Fingerprint, is_made_of_the_users_frames_and_not_the_librarys_between_them) {
    const FrameText step{"/home/me/train", "step(Batch&)", "/src/train.cpp", 41};
    CaptureMaker one;
    one.copy(kUp, MemoryClass::pageable, {{"/opt/libtorch_cuda.so", "at::copy_old"}, step});
    CaptureMaker other;
    other.copy(kUp, MemoryClass::pageable, {{"/opt/libtorch_cuda.so", "at::copy_new"}, {"/opt/libc10.so"}, step});
    EXPECT_EQ(fingerprints(one), fingerprints(other));
    CaptureMaker alone;
    alone.copy(kUp, MemoryClass::pageable, {{"/opt/libtorch_cuda.so", "at::copy_old"}});
    CaptureMaker another;
    another.copy(kUp, MemoryClass::pageable, {{"/opt/libtorch_cuda.so", "at::copy_new"}});
    EXPECT_NE(fingerprints(alone), fingerprints(another)) << "nothing but the library is known";
}

}  // namespace
}  // namespace pincheck::test
