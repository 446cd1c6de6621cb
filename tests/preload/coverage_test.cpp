// What the tool could not see is in the report, named: functions outside its list, and calls that go past it (I1, I2,
// I6).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <ostream>
#include <set>
#include <sstream>

#include "facts.h"
#include "run_program.h"

namespace pincheck::test {
namespace {

using namespace report;

std::set<std::string> told(const Report& report, CoverageKind kind) {
    std::set<std::string> texts;
    for (const CoverageRecord& record : report.coverage) {
        const std::string* const text = report.string(record.text);
        if (record.kind == kind && text != nullptr) {
            texts.insert(*text);
        }
    }
    return texts;
}

bool any_has(const std::set<std::string>& texts, const std::string& part) {
    return std::ranges::any_of(texts, [&](const std::string& text) { return text.find(part) != std::string::npos; });
}

void expect_same(const FinishedRun& with, const Command& command) {
    const FinishedRun without(command.without_tool());
    ASSERT_TRUE(without.outcome().exited(0)) << describe(without.outcome());
    EXPECT_EQ(with.outcome().out, without.outcome().out);
    EXPECT_EQ(with.outcome().err, without.outcome().err);
    EXPECT_EQ(with.outcome().status_text(), without.outcome().status_text());
}

// ---- RTLD_DEEPBIND: a plugin that looks its symbols up in itself and what it needs first, dlsym included. No
// preloaded library sees its calls; the report says whose they are.

struct Plugin {
    const char* name;
    const char* file;
    const char* bypasses;   // the object that must be named
    const char* seen_file;  // the same calls, in a plugin whose ledger has the names by which they are seen
};
void PrintTo(const Plugin& plugin, std::ostream* out) {
    *out << plugin.name;
}

class Deepbind : public testing::TestWithParam<Plugin> {
  protected:
    static Command host(bool deep) {
        Command command;
        command.arguments = {program_path("plugin_host"), program_path(deep ? GetParam().file : GetParam().seen_file)};
        if (deep) {
            command.arguments.emplace_back("deepbind");
        }
        return command;
    }
};

TEST_P(Deepbind, I6_IsNamedInTheReport) {
    const FinishedRun with(host(true));
    expect_same(with, host(true));
    const Report report = with.report();
    EXPECT_TRUE(any_has(told(report, CoverageKind::bypassed), GetParam().bypasses));
    EXPECT_EQ(report.header.state, FileState::ended);
}

TEST_P(Deepbind, I6_WithoutItEverythingIsSeen) {
    const FinishedRun with(host(false));
    expect_same(with, host(false));
    const Report report = with.report();
    EXPECT_EQ(told(report, CoverageKind::bypassed), std::set<std::string>{});
    EXPECT_EQ(differences_from_ledger(report, with.outcome().out), "");
}

TEST_P(Deepbind, I6_SwitchedOffRoutesAreNoBypass) {
    Command command = host(false);
    command.options = "exports=off:dlsym=off";
    const FinishedRun with(command);
    expect_same(with, command);
    for (const auto& [name, report] : with.reports()) {
        EXPECT_EQ(told(report, CoverageKind::bypassed), std::set<std::string>{}) << name;
    }
}

INSTANTIATE_TEST_SUITE_P(Of, Deepbind,
                         testing::Values(Plugin{"shared_runtime", "libcopies_plugin_hidden.so", "libcudart.so.",
                                                "libcopies_plugin.so"},
                                         Plugin{"static_runtime", "libcopies_plugin_static.so",
                                                "libcopies_plugin_static.so (dlsym)", "libcopies_plugin_static.so"},
                                         Plugin{"driver_linked", "libcopies_plugin_driver.so",
                                                "libcopies_plugin_driver.so (cu", "libcopies_plugin_driver.so"}),
                         [](const testing::TestParamInfo<Plugin>& of_test) { return std::string(of_test.param.name); });

// The runtime was there before and found the driver through the tool: the plugin's calls are seen below it.
TEST(Deepbind, I6_IntoARuntimeThatIsSeenHidesNothing) {
    Command command;
    command.arguments = {program_path("plugin_host"), program_path("libcopies_plugin_hidden.so"), "deepbind"};
    command.preload = {tool_library(), simulated_runtime()};
    const FinishedRun with(command);
    expect_same(with, command);
    const Report report = with.report();
    EXPECT_EQ(told(report, CoverageKind::bypassed), std::set<std::string>{});
    EXPECT_EQ(differences_from_ledger(report, with.outcome().out), "");
}

// ---- Another library in LD_PRELOAD that defines dlsym

struct Shim {
    const char* name;
    const char* library;
    bool first;        // before ours
    bool passes_over;  // us, where the program's runtime is static
};
void PrintTo(const Shim& shim, std::ostream* out) {
    *out << shim.name;
}

class DlsymShim : public testing::TestWithParam<Shim> {
  protected:
    static Command command(const char* program) {
        Command command;
        command.arguments = {program_path(program)};
        const std::string shim = program_path(GetParam().library);
        command.preload = GetParam().first ? std::vector<std::string>{shim, tool_library()}
                                           : std::vector<std::string>{tool_library(), shim};
        return command;
    }
    // Without the shim's line.
    static std::string ledger(const std::string& out) { return out.substr(0, out.rfind("shim ")); }
};

TEST_P(DlsymShim, I4_ProgramIsTheSameAndEverythingSeenOrNamed) {
    const FinishedRun with(command("copies_runtime_static"));
    expect_same(with, command("copies_runtime_static"));
    const Report report = with.report();
    const std::set<std::string> bypassed = told(report, CoverageKind::bypassed);
    if (GetParam().passes_over) {
        EXPECT_EQ(bypassed, std::set<std::string>{"the program (dlsym)"});
    } else {
        EXPECT_EQ(bypassed, std::set<std::string>{});
        EXPECT_EQ(differences_from_ledger(report, ledger(with.outcome().out)), "");
    }
}
TEST_P(DlsymShim, I4_SharedRuntimeIsSeenByItsExports) {
    const FinishedRun with(command("copies_runtime_shared"));
    expect_same(with, command("copies_runtime_shared"));
    const Report report = with.report();
    EXPECT_EQ(told(report, CoverageKind::bypassed), std::set<std::string>{});
    EXPECT_EQ(copies(report, Direction::host_to_device, MemoryClass::pageable).calls, 17u);
}

// The other library goes on seeing what is asked.
TEST_P(DlsymShim, I4_OthersSeeTheSameLookUps) {
    const FinishedRun with(command("dlsym_uses"));
    const FinishedRun without(command("dlsym_uses").without_tool());
    ASSERT_TRUE(without.outcome().exited(0)) << describe(without.outcome());
    EXPECT_EQ(with.outcome().status_text(), without.outcome().status_text());
    std::istringstream plain(without.outcome().out);
    std::istringstream hooked(with.outcome().out);
    std::string line;
    std::string hooked_line;
    while (std::getline(plain, line)) {
        ASSERT_TRUE(std::getline(hooked, hooked_line)) << line;
        // An export that resolves to null is none, without dlerror's text where somebody asks libc around us.
        const std::size_t none = GetParam().first ? line.find("cudaMemcpyAsync: none") : std::string::npos;
        const std::size_t length = none == std::string::npos ? none : none + std::strlen("cudaMemcpyAsync: none");
        EXPECT_EQ(hooked_line.substr(0, length), line.substr(0, length));
    }
    EXPECT_NE(with.outcome().out.find("shim was asked"), std::string::npos);
    EXPECT_EQ(with.outcome().out.find("shim was asked 0"), std::string::npos) << with.outcome().out;
}

INSTANTIATE_TEST_SUITE_P(Order, DlsymShim,
                         testing::Values(Shim{"before_ours_asking_libc", "libdlsym_shim.so", true, true},
                                         Shim{"before_ours_asking_the_next", "libdlsym_shim_next.so", true, false},
                                         Shim{"after_ours", "libdlsym_shim.so", false, false}),
                         [](const testing::TestParamInfo<Shim>& of_test) { return std::string(of_test.param.name); });

// ---- Functions outside the list

Command unlisted(const char* way, const char* program = "unlisted_copies") {
    Command command;
    command.arguments = {program_path(program), way};
    command.environment["LD_LIBRARY_PATH"] = PINCHECK_TEST_BENCH;
    return command;
}

TEST(Unlisted, I2_CopyFunctionsThatWereFoundAreNamed) {
    for (const char* way : {"linked", "dlsym", "lookup", "none"}) {
        const FinishedRun with(unlisted(way));
        expect_same(with, unlisted(way));
        const Report report = with.report();
        std::set<std::string> expected = {"cuMemcpyNextAsync"};  // the runtime looks it up in any case
        if (std::string(way) == "linked") {
            expected.insert("cudaMemcpyNextAsync");
        }
        EXPECT_EQ(told(report, CoverageKind::unlisted), expected) << way;
        EXPECT_EQ(copies(report, Direction::host_to_device, MemoryClass::pinned).calls, 1u) << way;
    }
}

// ---- Two runtimes of two kinds

TEST(MixedRuntimes, I1_SharedAndStaticInOneProcessAreBothCovered) {
    Command command;
    command.arguments = {program_path("mixed_host"), program_path("libcopies_plugin_static.so")};
    const FinishedRun with(command);
    expect_same(with, command);
    const Report report = with.report();
    const auto pageable_uploads = [&](const char* api) {
        return totals(report,
                      [&](const SiteRecord& site) {
                          return site.kind == SiteKind::copy && site.direction == Direction::host_to_device &&
                                 site.source.kind == MemoryClass::pageable && api_of(report, site).rfind(api, 0) == 0;
                      })
            .calls;
    };
    EXPECT_EQ(pageable_uploads("cudaMemcpy"), 10u);
    EXPECT_EQ(pageable_uploads("cuMemcpy"), 17u);  // counted by hand in copies_test.cpp
    EXPECT_TRUE(covers_route(report, "exported-runtime"));
    EXPECT_TRUE(covers_route(report, "lookup"));
    EXPECT_EQ(told(report, CoverageKind::bypassed), std::set<std::string>{});
    EXPECT_EQ(losses_text(report), "");
}

// Wheels rename the runtime that they carry: it is one all the same.
TEST(RenamedRuntime, I6_IsCovered) {
    const Command command = unlisted("none", "unlisted_copies_renamed");
    const FinishedRun with(command);
    expect_same(with, command);
    const Report report = with.report();
    EXPECT_TRUE(covers_route(report, "exported-runtime"));
    EXPECT_EQ(told(report, CoverageKind::foreign_provider), std::set<std::string>{});
    EXPECT_TRUE(any_has(told(report, CoverageKind::library), "libcudart-d0da41ae.so"));
    for (const auto& [id, site] : report.sites) {
        EXPECT_EQ(api_of(report, site.record).rfind("cuda", 0), 0u) << api_of(report, site.record);
    }
}

}  // namespace
}  // namespace pincheck::test
