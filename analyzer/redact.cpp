#include "redact.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "place.h"

namespace pincheck {
namespace {

constexpr std::string_view kReportEnding = ".pcr";

// Enough of the end of a path that it still counts as the runtime's where it did.
std::string hidden_file(const SourceLine& line, const Origins& origins) {
    constexpr int kMost = 4;  // thrust/system/cuda/x.h
    const bool is_runtime = origins.is_runtime_line(line);
    SourceLine shorter = line;
    std::size_t slash = line.file.size();
    for (int i = 0; i < kMost && slash != 0; ++i) {
        slash = line.file.rfind('/', slash - 1);
        shorter.file = kHiddenFolder + line.file.substr(slash + 1);
        if (origins.is_runtime_line(shorter) == is_runtime) {
            return shorter.file;
        }
    }
    return kHiddenFolder + base_name(line.file);
}

// Two files of one name stay two.
std::string unused_name(const std::string& name, std::set<std::string>& used) {
    std::string result = name;
    for (int i = 2; !used.insert(result).second; ++i) {
        result = name + " (" + std::to_string(i) + ')';
    }
    return result;
}

void redact_modules(Capture& capture, Origins& origins) {
    std::set<std::string> used;
    for (CaptureModule& module : capture.modules) {
        const Origin origin = origins.of_path(module.path);
        module.path = unused_name(base_name(module.path), used);
        origins.assume(module.path, origin);
    }
}

void redact_sites(Capture& capture, const Origins& origins) {
    for (CaptureSite& site : capture.sites) {
        site.memory_file = base_name(site.memory_file);
        for (CaptureFrame& frame : site.stack) {
            for (SourceLine& line : frame.lines) {
                line.file = line.file.starts_with('/') ? hidden_file(line, origins) : line.file;
            }
            frame.offset = frame.module == CaptureFrame::kNoModule ? 0 : frame.offset;
        }
    }
    for (CaptureRace& race : capture.races) {
        race.address = 0;
    }
    for (CaptureRead& read : capture.reads) {
        read.address = 0;
    }
}

// Names that are told as they are elsewhere in a text, longest first: a part must not be replaced before the whole.
class Replacements {
  public:
    void add(const std::string& name, const std::string& instead) {
        constexpr std::size_t kShortest = 3;  // a shorter one would spoil words
        if (name.size() >= kShortest) {
            names_.emplace_back(name, instead);
        }
    }
    std::string applied(std::string text) {
        std::ranges::stable_sort(names_, std::ranges::greater(), [](const auto& pair) { return pair.first.size(); });
        for (const auto& [name, instead] : names_) {
            for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + instead.size())) {
                text.replace(at, name.size(), instead);
            }
        }
        return without_folders(text);
    }

  private:
    std::vector<std::pair<std::string, std::string>> names_;
};

void redact_process(CaptureProcess& process, std::size_t number, Replacements& replacements) {
    const std::string file = "report " + std::to_string(number);
    replacements.add(process.file, file);
    replacements.add(base_name(process.file), file);
    replacements.add(process.executable, base_name(process.executable));
    replacements.add(process.working_directory, "(folder)");
    replacements.add(process.host, "(host)");
    process.file = file;
    process.executable = base_name(process.executable);
    if (!process.command_line.empty()) {
        process.command_line = {base_name(process.command_line.front())};
    }
    process.pid = process.parent_pid = 0;
    process.start_realtime_ns = 0;
    for (std::string* text : {&process.working_directory, &process.host, &process.options}) {
        text->clear();
    }
    for (CaptureProcess::InCall& call : process.in_call) {
        call.tid = 0;
        call.name.clear();
    }
}

bool is_word_end(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\'' || c == '"' || c == ',' || c == ';' || c == '(' || c == ')';
}

// "3/4", "I/O"
bool is_no_path(const std::string& word) {
    const std::size_t slash = word.find('/');
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    return slash == word.rfind('/') && ((slash == 1 && word.size() == 3) ||
                                        std::ranges::all_of(word, [&](char c) { return c == '/' || is_digit(c); }));
}

// From "path=/home/x": "path=x".
std::string without_folder(const std::string& word) {
    const std::size_t last = word.rfind('/');
    if (last == word.npos || is_no_path(word)) {
        return word;
    }
    const std::size_t equals = word.find('=');
    return (equals < last ? word.substr(0, equals + 1) : "") + word.substr(last + 1);
}

}  // namespace

std::string without_folders(const std::string& text) {
    std::string result;
    for (std::size_t begin = 0; begin < text.size();) {
        std::size_t end = begin;
        while (end < text.size() && !is_word_end(text[end])) {
            ++end;
        }
        const std::string word = text.substr(begin, end - begin);
        if (word.find(kReportEnding) != word.npos) {
            result += word.ends_with(':') ? "(report):" : "(report)";
        } else {
            result += without_folder(word);
        }
        result += end < text.size() ? std::string(1, text[end]) : "";
        begin = end + 1;
    }
    return result;
}

void redact(LoadResult& loaded, Origins& origins) {
    Capture& capture = loaded.capture;
    redact_sites(capture, origins);
    redact_modules(capture, origins);
    Replacements replacements;
    for (std::size_t i = 0; i < capture.processes.size(); ++i) {
        redact_process(capture.processes[i], i + 1, replacements);
    }
    for (CaptureProcess& process : capture.processes) {
        for (CaptureProcess::Coverage& coverage : process.coverage) {
            coverage.text = coverage.kind == report::CoverageKind::library ? base_name(coverage.text)
                                                                           : replacements.applied(coverage.text);
        }
        for (std::string& problem : process.problems) {
            problem = replacements.applied(problem);
        }
    }
    for (std::string& error : loaded.errors) {
        error = replacements.applied(error);
    }
}

void redact(PolicyOptions& policy) {
    policy.config = base_name(policy.config);
    for (Suppression& row : policy.suppressions) {
        row.file = base_name(row.file);
        for (std::string* text : {&row.module, &row.source, &row.reason}) {
            *text = without_folders(*text);
        }
    }
    if (policy.baseline) {
        auto baseline = std::make_shared<Baseline>(*policy.baseline);
        baseline->file = base_name(baseline->file);
        policy.baseline = std::move(baseline);
    }
}

}  // namespace pincheck
