// What exports have in common: where files lie, what is hidden, and what tells findings apart.
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "analyzer/export_findings.h"
#include "analyzer/redact.h"
#include "analyzer/source_paths.h"
#include "export_sample.h"

namespace pincheck::test {
namespace {

TEST(SourcePaths, are_relative_below_the_root_and_absolute_elsewhere) {
    const SourcePaths paths("/home/me/src/", {});
    EXPECT_EQ(paths.root(), "/home/me/src");
    EXPECT_EQ(paths.place("/home/me/src/a/b.cu"), "a/b.cu");
    EXPECT_EQ(paths.place("/home/me/src/a/../b.cu"), "b.cu");
    EXPECT_EQ(paths.place("/home/me/srcs/b.cu"), "/home/me/srcs/b.cu");
    EXPECT_EQ(paths.place("/home/me/src/../other/b.cu"), "/home/me/other/b.cu");
    EXPECT_EQ(paths.place("./a/b.cu"), "a/b.cu") << "as -ffile-prefix-map writes it";
    EXPECT_EQ(paths.place("../b.cu"), "/home/me/b.cu");
    EXPECT_EQ(paths.place(""), "");
    EXPECT_EQ(SourcePaths("/", {}).place("/a/b.cu"), "a/b.cu");
}

TEST(SourcePaths, begin_at_the_working_directory_by_default) {
    const SourcePaths paths("", {});
    EXPECT_EQ(paths.root(), std::filesystem::current_path().string());
    EXPECT_EQ(paths.place(paths.root() + "/x.cu"), "x.cu");
}

TEST(SourcePaths, know_a_root_that_is_a_link) {
    const std::string folder = std::filesystem::canonical(testing::TempDir()).string();
    const std::string link = folder + "/pincheck-root-" + std::to_string(getpid());
    std::filesystem::remove(link);
    std::filesystem::create_directory_symlink(folder, link);
    const SourcePaths paths(link, {});
    EXPECT_EQ(paths.place(link + "/x.cu"), "x.cu");
    EXPECT_EQ(paths.place(folder + "/x.cu"), "x.cu");
    std::filesystem::remove(link);
}

TEST(SourcePaths, are_rewritten_by_the_first_map_that_fits) {
    const SourcePaths paths("/home/me", {{"/build/src", "/home/me/src"}, {"/build", "/opt"}, {"/gone", ""}});
    EXPECT_EQ(paths.place("/build/src/x.cu"), "src/x.cu");
    EXPECT_EQ(paths.place("/build/y.cu"), "/opt/y.cu");
    EXPECT_EQ(paths.place("/builds/y.cu"), "/builds/y.cu") << "whole folders";
    EXPECT_EQ(paths.place("/gone/z.cu"), "z.cu") << "below the root";
}

TEST(SourcePaths, maps_are_written_a_equals_b) {
    EXPECT_EQ(parse_path_map("/a/=/b/")->from, "/a");
    EXPECT_EQ(parse_path_map("/a/=/b/")->to, "/b");
    EXPECT_EQ(parse_path_map("/a=")->to, "");
    EXPECT_FALSE(parse_path_map("/a"));
    EXPECT_FALSE(parse_path_map("=/b"));
}

TEST(SourcePaths, become_uris) {
    EXPECT_EQ(uri_of("src/a b%#?.cu"), "src/a%20b%25%23%3F.cu");
    EXPECT_EQ(uri_of("/x/\xff\n:.cu"), "file:///x/%FF%0A%3A.cu");
    EXPECT_EQ(uri_of("ä"), "%C3%A4");
}

TEST(Redact, takes_folders_out_of_texts) {
    EXPECT_EQ(without_folders("cannot open '/home/me/lib/x.so': gone"), "cannot open 'x.so': gone");
    EXPECT_EQ(without_folders("path=/home/me/x, ~/y/z ../me/v"), "path=x, z v");
    EXPECT_EQ(without_folders("3/4 of I/O memory"), "3/4 of I/O memory");
    EXPECT_EQ(without_folders("/a/pincheck-train-20261129-node1-4127.pcr: cut"), "(report): cut");
}

TEST(Redact, leaves_whose_code_it_is) {
    Look look = racing_look();
    look.loaded.capture.modules[2].path = "/home/u/venv/torch/_ext.so";  // known by its folder
    const Capture before = look.loaded.capture;
    const Origins known;
    redact(look.loaded, look.origins);
    ASSERT_EQ(look.loaded.capture.modules[2].path, "_ext.so");
    for (std::size_t i = 0; i < before.modules.size(); ++i) {
        EXPECT_EQ(look.origins.of_path(look.loaded.capture.modules[i].path), known.of_path(before.modules[i].path));
    }
    const auto rules_of = [](const Capture& capture, const Origins& origins) {
        std::vector<std::pair<Rule, Origin>> list;
        for (const Finding& finding : find(capture, origins)) {
            list.emplace_back(finding.rule, finding.issuer);
        }
        return list;
    };
    EXPECT_EQ(rules_of(look.loaded.capture, look.origins), rules_of(before, known));
}

TEST(Redact, keeps_modules_of_one_name_apart) {
    Look look = racing_look();
    look.loaded.capture.modules = {{"/a/libx.so", ""}, {"/b/torch/libx.so", ""}, {"/c/libc.so.6", ""}};
    redact(look.loaded, look.origins);
    EXPECT_EQ(look.loaded.capture.modules[1].path, "libx.so (2)");
    EXPECT_EQ(look.origins.of_path("libx.so"), Origin::user);
    EXPECT_EQ(look.origins.of_path("libx.so (2)"), Origin::framework);
}

TEST(Redact, still_knows_the_runtimes_files) {
    Look look = racing_look();
    std::vector<SourceLine>& lines = look.loaded.capture.sites[0].stack[0].lines;
    lines.insert(lines.begin(), {"thrust::copy", "/usr/local/cuda/include/thrust/system/copy.h", 3, true});
    redact(look.loaded, look.origins);
    EXPECT_EQ(lines[0].file, "…/system/copy.h" == lines[0].file ? lines[0].file : "…/thrust/system/copy.h");
    EXPECT_TRUE(look.origins.is_runtime_line(lines[0]));
    EXPECT_EQ(lines[1].file, "…/x.cu");
    EXPECT_FALSE(look.origins.is_runtime_line(lines[1]));
}

// Every text is a secret, but for what may stay: base names, and paths below the source root.
TEST(Redact, no_format_has_a_planted_secret) {
    Look look = racing_look();
    int number = 0;
    change_texts(look.loaded, [&](std::string& text) {
        const bool is_file = text.starts_with('/') && text.find(' ') == text.npos;
        text = is_file ? "/home/SECRET" + text : text.empty() ? "" : "SECRET " + text + " /SECRET/x";
        ++number;
    });
    ASSERT_GT(number, 40);
    look.loaded.errors = {"/home/SECRET/a.pcr is empty", "cannot read SECRET/b: Permission denied"};
    CaptureProcess& process = look.loaded.capture.processes[0];
    process.problems = {"/home/SECRET/c.pcr: cut at 4711"};
    process.command_line = {"/home/SECRET/train", "--token=SECRET"};
    process.host = "SECRET-host";
    process.coverage[4].text = "said SECRET-host of /home/SECRET/lib/libunwind.so.8";
    for (CaptureProcess::Coverage& coverage : process.coverage) {
        coverage.text = coverage.text.starts_with("SECRET ") ? "/home/SECRET/libx.so" : coverage.text;
    }
    process.pid = 474747;
    process.parent_pid = 484848;
    process.in_call[0].tid = 494949;
    process.start_realtime_ns = 515151515151;
    ExportOptions options;
    options.source_root = "/home/SECRET/home/u/src";
    options.redact = true;
    for (const std::string& format : export_formats()) {
        const std::string text = exported(look, format, options);
        for (const char* secret :
             {"SECRET", "/home", "474747", "484848", "494949", "515151515151", "139707076575232", "/usr/", "/data/"}) {
            const std::size_t at = text.find(secret);
            EXPECT_EQ(at, text.npos) << format << " tells " << secret << ": "
                                     << text.substr(at == text.npos ? 0 : at - std::min<std::size_t>(at, 200), 400);
        }
        EXPECT_EQ(text.find("x.cu") != text.npos, format != "openmetrics") << format;
        EXPECT_NE(exported(look, "json").find("SECRET"), std::string::npos);
    }
}

// What decided keeps on deciding by the names that files really have.
TEST(ExportPolicy, decisions_stay_and_their_files_are_hidden) {
    Look look = racing_look();
    Suppression row;
    row.file = "/home/SECRET/ci/gate.toml";
    row.line = 4;
    row.any_frame = true;
    row.reason = "see /home/SECRET/notes";
    for (CaptureSite& site : look.loaded.capture.sites) {
        for (CaptureFrame& frame : site.stack) {
            for (SourceLine& line : frame.lines) {
                line.file =
                    line.file == "src/x.cu" || line.file.ends_with("/src/x.cu") ? "/home/SECRET/src/x.cu" : line.file;
            }
        }
    }
    row.source = "/home/SECRET/src/*";
    PolicyOptions policy;
    policy.suppressions = {row};
    policy.config = "/home/SECRET/pincheck.toml";
    auto baseline = std::make_shared<Baseline>();
    baseline->file = "/home/SECRET/main.json";
    policy.baseline = baseline;
    ExportOptions options;
    options.redact = true;
    for (const std::string& format : export_formats()) {
        EXPECT_EQ(exported(look, format, options, policy).find("SECRET"), std::string::npos) << format;
    }
    const nlohmann::json plain = nlohmann::json::parse(exported(look, "json", {}, policy));
    const nlohmann::json redacted = nlohmann::json::parse(exported(look, "json", options, policy));
    EXPECT_NE(plain["counts"]["suppressed"], 0);
    EXPECT_EQ(plain["verdict"], redacted["verdict"]);
    EXPECT_EQ(plain["counts"], redacted["counts"]);
    ASSERT_EQ(plain["findings"].size(), redacted["findings"].size());
    for (std::size_t i = 0; i < plain["findings"].size(); ++i) {
        EXPECT_EQ(plain["findings"][i]["fingerprint"], redacted["findings"][i]["fingerprint"]);
        EXPECT_EQ(plain["findings"][i]["decision"], redacted["findings"][i]["decision"]);
    }
    // SARIF has words of its own for it.
    std::size_t suppressed = 0;
    const nlohmann::json sarif = nlohmann::json::parse(exported(look, "sarif", options, policy));
    for (const nlohmann::json& result : sarif["runs"][0]["results"]) {
        EXPECT_EQ(result["baselineState"], "new");
        const bool is_suppressed = result["properties"]["decision"] == "suppressed";
        EXPECT_EQ(result.contains("suppressions"), is_suppressed);
        suppressed += is_suppressed ? 1 : 0;
        if (is_suppressed) {
            EXPECT_EQ(result["suppressions"][0]["kind"], "external");
            EXPECT_NE(result["suppressions"][0]["justification"].get<std::string>().find("notes"), std::string::npos);
        }
    }
    EXPECT_EQ(suppressed, plain["counts"]["suppressed"].get<std::size_t>());
}

TEST(ExportFindings, are_placed_at_the_nearest_caller_in_the_source_tree) {
    Job job = failing_job();
    std::vector<CaptureFrame>& stack = job.site(1).stack;
    stack = {frame_sample(0, 1, "inner", "/opt/lib/inner.h", 7), frame_sample(0, 2, "outer", "src/outer.cu", 9)};
    const auto first = [&] { return export_findings(job.loaded, job.judgement, Origins()).front(); };
    EXPECT_EQ(first().place->file, "src/outer.cu");
    EXPECT_EQ(first().place->line, 9u);
    EXPECT_NE(first().message.find(" The call itself is at /opt/lib/inner.h:7."), std::string::npos);
    stack[1].lines.clear();
    EXPECT_EQ(first().place->file, "/opt/lib/inner.h");
    EXPECT_FALSE(first().place->in_tree());
    stack[0].lines[0].file.clear();
    EXPECT_EQ(first().place->file, "");
    EXPECT_EQ(first().place->position, "train+0x1");
    EXPECT_EQ(first().place->function, "inner");
    stack.clear();
    EXPECT_FALSE(first().place);
}

TEST(ExportFindings, are_errors_only_where_they_gate) {
    Finding finding;
    const auto level = [&](Severity severity, bool gated) {
        finding.severity = severity;
        return std::string(export_level(finding, gated));
    };
    EXPECT_EQ(level(Severity::error, true), "error");
    EXPECT_EQ(level(Severity::error, false), "note");
    EXPECT_EQ(level(Severity::warning, true), "warning");
    EXPECT_EQ(level(Severity::warning, false), "warning");
    EXPECT_EQ(level(Severity::note, false), "note");
}

TEST(Fingerprint, of_findings_that_are_alike_are_numbered_by_their_lines) {
    Job job = failing_job();
    job.site(2) = job.site(1);
    job.site(2).id = 2;
    job.site(1).stack[0].lines[0].line = 90;
    job.site(2).stack[0].lines[0].line = 80;
    job.judgement = judge(job.loaded, find(job.capture(), Origins()), Origins(), {}, {});
    const std::vector<ExportFinding> findings = export_findings(job.loaded, job.judgement, Origins());
    EXPECT_EQ(findings[0].fingerprint, findings[1].fingerprint + ":2");
}

}  // namespace
}  // namespace pincheck::test
