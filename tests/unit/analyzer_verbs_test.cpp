// pincheck check, export and resolve as programs: exit statuses and what they say.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "report_test_sample.h"

namespace pincheck::report::test {
namespace {

std::string contents(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

struct Outcome {
    int status;
    std::string out;
    std::string err;
};

Outcome run(const std::string& arguments) {
    const TempFile out;
    const TempFile err;
    const std::string command =
        std::string(PINCHECK_PROGRAM) + " " + arguments + " >" + out.path() + " 2>" + err.path();
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), contents(out.path()), contents(err.path())};
}

// A report of one asynchronous upload, 10 calls of 4 KiB.
void write_report(const TempFile& file, MemoryClass source, std::uint64_t host_ns = 5'000'000, std::uint64_t races = 0,
                  std::uint16_t race_flags = 0) {
    const ImageOwner image(Image::create({}, 4127, 1'000, 1'700'000'000'000'000'000));
    ProcessRecord process{};
    process.pid = 4127;
    process.rank = kNoRank;
    image->add_process(process);
    SiteRecord record{};
    record.api = image->add_string("cudaMemcpyAsync");
    record.kind = SiteKind::copy;
    record.direction = Direction::host_to_device;
    record.source.kind = source;
    record.destination.kind = MemoryClass::device;
    record.flags = kSiteAsync;
    const std::uint32_t module = image->add_module(image->add_string("/nonexistent/train"), 0, 0, 1, {});
    const Frame frame{module, 0, 0x10};
    record.stack = image->add_stack({&frame, 1}, StackOrigin::unwound, false);
    const std::uint32_t site = image->add_site(record, {&frame, 1});
    count_calls(*image, nullptr, site, 1, 10, host_ns);
    if (races != 0) {
        RaceSlot* race = image->new_race();
        store(race->rule, RaceRule::source_overwritten_in_flight);
        store(race->level, RaceLevel::watch);
        store(race->flags, race_flags);
        store(race->copy_site, site);
        store(race->after_site, site);
        store(race->count, races);
        store(race->corrupting, races);
    }
    ASSERT_TRUE(image->snapshot(file.descriptor(), 100'000, FileState::ended).written);
}

void write_empty_report(const TempFile& file) {
    const ImageOwner image = make_image();
    ASSERT_TRUE(image->snapshot(file.descriptor(), 100'000, FileState::ended).written);
}

TEST(Check, passes_fails_and_concludes_nothing) {
    const TempFile good;
    const TempFile bad;
    const TempFile quiet;
    write_report(good, MemoryClass::pinned);
    write_report(bad, MemoryClass::pageable);
    write_empty_report(quiet);
    EXPECT_EQ(run("check " + good.path()).status, 0);
    const Outcome failed = run("check " + bad.path());
    EXPECT_EQ(failed.status, 1);
    EXPECT_TRUE(failed.out.starts_with("pincheck: FAIL  pageable-async-copy")) << failed.out;
    EXPECT_EQ(run("check " + good.path() + " " + bad.path()).status, 1);
    EXPECT_EQ(run("check " + quiet.path()).status, 3);
    EXPECT_EQ(run("check --allow-no-cuda " + quiet.path()).status, 0);
    EXPECT_EQ(run("check " + quiet.path() + " " + bad.path()).status, 1);
}

TEST(Check, fails_for_races_and_not_for_presumed_ones) {
    const TempFile racing;
    const TempFile presumed;
    write_report(racing, MemoryClass::pinned, 9'000, 3);
    write_report(presumed, MemoryClass::pinned, 9'000, 3, kRacePresumed);
    const Outcome failed = run("check " + racing.path());
    EXPECT_EQ(failed.status, 1);
    EXPECT_TRUE(failed.out.starts_with("pincheck: FAIL  source-overwritten-in-flight at 1 site")) << failed.out;
    EXPECT_NE(failed.out.find("\n#1  train+0x10 "), std::string::npos) << failed.out;
    EXPECT_NE(failed.out.find(" corrupting, 3 times   error\n"), std::string::npos) << failed.out;
    EXPECT_EQ(run("check --fail-on pageable-async-copy " + racing.path()).status, 0);
    EXPECT_EQ(run("check --strict " + presumed.path()).status, 0);
    EXPECT_EQ(run("check " + presumed.path() + " " + racing.path()).status, 1) << "two findings of one site";
    EXPECT_NE(run("show 1 " + racing.path()).out.find("\nUses of its memory in flight\n"), std::string::npos);
}

TEST(Check, takes_its_options) {
    const TempFile bad;
    const TempFile staged;
    write_report(bad, MemoryClass::pageable);
    write_report(staged, MemoryClass::pageable, 50'000);
    EXPECT_EQ(run("check --exit-code 42 " + bad.path()).status, 42);
    EXPECT_EQ(run("check --allow-staged " + bad.path()).status, 1);
    EXPECT_EQ(run("check --allow-staged " + staged.path()).status, 0);
    EXPECT_EQ(run("check --fail-on managed-async-copy " + bad.path()).status, 0);
    EXPECT_EQ(run("check --fail-on managed-async-copy,error " + bad.path()).status, 1);
    EXPECT_EQ(run("check --debug-dir /nonexistent " + bad.path()).status, 1);
    const Outcome quiet = run("check --quiet " + bad.path());
    EXPECT_EQ(quiet.status, 1);
    EXPECT_EQ(std::count(quiet.out.begin(), quiet.out.end(), '\n'), 1);
    const TempFile origins;
    std::ofstream(origins.path()) << R"({"vendor": ["train"]})";
    EXPECT_EQ(run("check --origins " + origins.path() + " " + bad.path()).status, 0);
    EXPECT_EQ(run("check --strict --origins " + origins.path() + " " + bad.path()).status, 1);
}

// The command behind "Next": what it shows is the finding that is first on the screen.
std::string next_command(const std::string& screen) {
    const std::size_t at = screen.find("\nNext            pincheck ");
    return at == screen.npos ? "" : screen.substr(at + 26, screen.find('\n', at + 1) - at - 26);
}

TEST(Check, names_the_next_command_so_that_it_shows_the_first_finding) {
    // One copy gates by itself and is short; the other, from managed memory, gates only when that is asked for.
    const TempFile file;
    const ImageOwner image(Image::create({}, 4127, 1'000, 1'700'000'000'000'000'000));
    ProcessRecord process{};
    process.pid = 4127;
    process.rank = kNoRank;
    image->add_process(process);
    const std::uint32_t module = image->add_module(image->add_string("/nonexistent/train"), 0, 0, 1, {});
    for (const MemoryClass source : {MemoryClass::pageable, MemoryClass::managed}) {
        SiteRecord record{};
        record.api = image->add_string("cudaMemcpyAsync");
        record.kind = SiteKind::copy;
        record.direction = Direction::host_to_device;
        record.source.kind = source;
        record.destination.kind = MemoryClass::device;
        record.flags = kSiteAsync;
        const Frame frame{module, 0, source == MemoryClass::pageable ? 0x10u : 0x20u};
        record.stack = image->add_stack({&frame, 1}, StackOrigin::unwound, false);
        const bool slow = source == MemoryClass::managed;
        count_calls(*image, nullptr, image->add_site(record, {&frame, 1}), 1, 10, slow ? 90'000'000 : 5'000'000);
    }
    ASSERT_TRUE(image->snapshot(file.descriptor(), 100'000, FileState::ended).written);

    const Outcome plain = run("check " + file.path());
    EXPECT_EQ(next_command(plain.out), "show 1 " + file.path()) << plain.out;
    EXPECT_NE(run(next_command(plain.out)).out.find("H2D, pageable to device"), std::string::npos) << plain.out;
    for (const std::string policy : {"--strict", "--fail-on managed-async-copy"}) {
        const Outcome other = run("check " + policy + " " + file.path());
        EXPECT_NE(other.out.find("\n#1  train+0x20 "), std::string::npos) << other.out;
        EXPECT_TRUE(next_command(other.out).starts_with("show s")) << other.out;
        EXPECT_NE(run(next_command(other.out)).out.find("H2D, managed to device"), std::string::npos) << other.out;
    }
}

TEST(Check, refuses_wrong_usage_and_names_the_rules) {
    const TempFile bad;
    write_report(bad, MemoryClass::pageable);
    for (const std::string arguments :
         {"check", "check --frobnicate x", "check --exit-code 256 x", "check --exit-code x y"}) {
        EXPECT_EQ(run(arguments).status, 2) << arguments;
    }
    const Outcome unknown = run("check --fail-on pageable " + bad.path());
    EXPECT_EQ(unknown.status, 2);
    EXPECT_NE(unknown.err.find(
                  "there is no rule 'pageable'; did you mean pageable-async-copy? 'pincheck explain' lists them"),
              std::string::npos)
        << unknown.err;
    const TempFile origins;
    std::ofstream(origins.path()) << "nonsense";
    EXPECT_EQ(run("check --origins " + origins.path() + " " + bad.path()).status, 2);
}

TEST(Check, says_which_files_it_cannot_read) {
    const TempFile good;
    const TempFile bad;
    const TempFile empty;
    const TempFile foreign;
    const TempFile cut;
    write_report(good, MemoryClass::pinned);
    write_report(bad, MemoryClass::pageable);
    write_report(cut, MemoryClass::pinned);
    std::ofstream(foreign.path()) << "#!/bin/sh\n";
    ASSERT_EQ(ftruncate(cut.descriptor(), 5'000), 0);
    for (const std::string& path : {empty.path(), foreign.path(), std::string("/nonexistent.pcr")}) {
        const Outcome alone = run("check " + path);
        EXPECT_EQ(alone.status, 2) << path;
        EXPECT_EQ(std::count(alone.err.begin(), alone.err.end(), '\n'), 1) << alone.err;
        EXPECT_EQ(alone.out, "");
        const Outcome with_good = run("check " + path + " " + good.path());
        EXPECT_EQ(with_good.status, 3) << path;
        EXPECT_NE(with_good.err.find(path), std::string::npos);
        EXPECT_EQ(run("check " + path + " " + bad.path()).status, 1) << path;
    }
    EXPECT_EQ(run("check " + cut.path()).status, 3);
    EXPECT_EQ(run("check " + cut.path() + " " + bad.path()).status, 1);
}

TEST(Export, writes_json_to_standard_output_or_a_file) {
    const TempFile bad;
    write_report(bad, MemoryClass::pageable);
    const Outcome shown = run("export --format=json " + bad.path());
    EXPECT_EQ(shown.status, 0) << "the verdict is in the text";
    const auto json = nlohmann::json::parse(shown.out);
    EXPECT_EQ(json["verdict"], "violated");
    EXPECT_EQ(json["sites"][0]["calls"], 10);
    const TempFile into;
    EXPECT_EQ(run("export -o " + into.path() + " " + bad.path()).out, "");
    EXPECT_EQ(contents(into.path()), shown.out);
    EXPECT_EQ(nlohmann::json::parse(run("export --fail-on copy-then-sync " + bad.path()).out)["verdict"], "pass");
    EXPECT_EQ(run("export -o /nonexistent/x.json " + bad.path()).status, 2);
    EXPECT_EQ(run("export -o /dev/full " + bad.path()).status, 2);
    EXPECT_EQ(run("export --format=xml " + bad.path()).status, 2);
    EXPECT_EQ(run("export /nonexistent.pcr").status, 2);
}

TEST(Export, writes_every_format_by_the_policy_that_is_asked_for) {
    const TempFile bad;
    write_report(bad, MemoryClass::pageable);
    const std::pair<const char*, const char*> starts[] = {{"sarif", "{\n  \"$schema\": "},
                                                          {"junit", "<?xml "},
                                                          {"github", "pincheck: FAIL  "},
                                                          {"markdown", "## ❌ pincheck: violated\n"},
                                                          {"jsonl", "{\"kind\":\"job\",\"schema\":1,"},
                                                          {"openmetrics", "# TYPE pincheck_job info\n"}};
    for (const auto& [format, start] : starts) {
        const Outcome shown = run(std::string("export --format=") + format + " " + bad.path());
        EXPECT_EQ(shown.status, 0) << shown.err;
        EXPECT_TRUE(shown.out.starts_with(start)) << shown.out;
        EXPECT_NE(run(std::string("export --fail-on copy-then-sync --format=") + format + " " + bad.path()).out,
                  shown.out);
    }
    EXPECT_EQ(run("export --map /a " + bad.path()).status, 2);
}

TEST(Check, writes_exports_and_keeps_its_verdict) {
    const TempFile good;
    const TempFile bad;
    write_report(good, MemoryClass::pinned);
    write_report(bad, MemoryClass::pageable);
    const TempFile sarif;
    const TempFile junit;
    const Outcome outcome =
        run("check --export sarif=" + sarif.path() + " --export junit=" + junit.path() + " --redact " + bad.path());
    EXPECT_EQ(outcome.status, 1) << outcome.err;
    EXPECT_EQ(outcome.out, run("check " + bad.path()).out) << "the screen is not redacted";
    EXPECT_EQ(contents(sarif.path()), run("export --redact --format=sarif " + bad.path()).out);
    EXPECT_EQ(contents(junit.path()), run("export --redact --format=junit " + bad.path()).out);
    const TempFile lines;
    const Outcome named = run("check --export jsonl=" + lines.path() + " --job 4711 " + bad.path());
    EXPECT_EQ(named.status, 1) << named.err;
    EXPECT_EQ(contents(lines.path()), run("export --format=jsonl --job 4711 " + bad.path()).out);
    EXPECT_NE(contents(lines.path()).find("\"job\":\"4711\""), std::string::npos);
    EXPECT_EQ(run("check --export sarif=/nonexistent/x " + bad.path()).status, 1) << "the verdict comes first";
    EXPECT_EQ(run("check --export sarif=/nonexistent/x " + good.path()).status, 2);
    for (const char* wrong :
         {"--export sarif", "--export sarif=", "--export xml=x", "--redact", "--map /a=/b", "--job 1"}) {
        EXPECT_EQ(run(std::string("check ") + wrong + " " + good.path()).status, 2) << wrong;
    }
}

TEST(Resolve, says_what_became_of_the_frames) {
    const TempFile bad;
    write_report(bad, MemoryClass::pageable);
    const Outcome outcome = run("resolve " + bad.path());
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(outcome.out,
              bad.path() + ": 1 frames: 0 with file and line, 0 by the nearest symbol, 1 unknown; 0 added\n");
    EXPECT_NE(outcome.err.find("/nonexistent/train"), std::string::npos);
    EXPECT_EQ(run("resolve /nonexistent.pcr").status, 2);
    const TempFile second;
    write_report(second, MemoryClass::pinned);
    const Outcome both = run("resolve " + bad.path() + " " + second.path());
    EXPECT_EQ(std::count(both.err.begin(), both.err.end(), '\n'), 1) << "the module is missing once: " << both.err;
    EXPECT_EQ(std::count(both.out.begin(), both.out.end(), '\n'), 2) << both.out;
    EXPECT_EQ(run("resolve").status, 2);
}

}  // namespace
}  // namespace pincheck::report::test
