// Findings for other programs, in the format and with the paths that were asked for.
#pragma once

#include <string>
#include <vector>

#include "command_line.h"
#include "look.h"

namespace pincheck {

struct ExportOptions {
    std::string source_root;        // "": the working directory
    std::vector<std::string> maps;  // A=B
    bool redact = false;
    bool located = false;
    std::string job;  // what the user calls it, for the formats that go into tables and time series
};

// json, sarif, junit, github, markdown, jsonl, openmetrics
const std::vector<std::string>& export_formats();

// Adds --source-root, --map, --redact, --located and --job.
void add_export_options(Verb verb, ExportOptions& options);

// What was looked at, as it was judged. The texts of findings are made anew: they name files, which are placed or
// hidden first.
std::string export_text(const Look& look, const std::string& format, const ExportOptions& options);

// Of `check --export`: FORMAT=FILE. "" or what is wrong with it; and the export itself, whether it was written.
std::string problem_of_export(const std::string& wanted);
bool write_export(const Look& look, const std::string& wanted, const ExportOptions& options);

// Writes all of it into the file, or says on standard error why not; `option`: by which another one can be named.
bool write_file(const std::string& path, const std::string& text, const char* option);

}  // namespace pincheck
