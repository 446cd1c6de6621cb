#include "render_github.h"

#include <fmt/format.h>

#include <map>

#include "printable.h"
#include "render_text.h"
#include "render_text_layout.h"

namespace pincheck {
namespace {

// What GitHub shows of each level in one step.
constexpr std::size_t kShown = 10;

std::string replaced(std::string_view text, const std::map<char, const char*>& codes) {
    std::string result;
    for (const char c : text) {
        const auto code = codes.find(c);
        result += code == codes.end() ? std::string(1, c) : code->second;
    }
    return result;
}

std::string data_text(std::string_view text) {
    return replaced(text, {{'%', "%25"}, {'\r', "%0D"}, {'\n', "%0A"}});
}

std::string property_text(std::string_view text) {
    return replaced(text, {{'%', "%25"}, {'\r', "%0D"}, {'\n', "%0A"}, {':', "%3A"}, {',', "%2C"}});
}

// A line that is no command: the runner also takes "##[command]" anywhere in one.
std::string plain(std::string text) {
    for (std::size_t at = text.find("##["); at != text.npos; at = text.find("##[", at)) {
        text.replace(at, 3, "## [");
    }
    return text;
}

class Annotations {
  public:
    void add(const std::string& level, const std::string& properties, const std::string& message) {
        if (++written_[level] > kShown) {
            ++left_out_;
            return;
        }
        text_ += fmt::format("::{} {}::{}\n", level == "note" ? "notice" : level, properties, data_text(message));
    }
    std::string take() {
        if (left_out_ != 0) {
            text_ +=
                fmt::format("pincheck: {} without an annotation, since GitHub shows {} of a level; see the report\n",
                            counted(left_out_, "finding"), kShown);
        }
        return std::move(text_);
    }

  private:
    std::string text_;
    std::map<std::string, std::size_t> written_;
    std::size_t left_out_ = 0;
};

std::string properties(const ExportFinding& finding) {
    const std::string title = "title=" + property_text("pincheck: " + finding.rule);
    return finding.place && finding.place->in_tree()
               ? fmt::format("file={},line={},{}", property_text(printable(finding.place->file)), finding.place->line,
                             title)
               : title;
}

std::string whole_text(const ExportFinding& finding) {
    std::string text = finding.message;
    text += finding.fix.empty() ? "" : "\nFix: " + finding.fix;
    // Without a file there is no other hint at the place.
    text += finding.place && !finding.place->in_tree() ? "\nAt " + export_place_text(*finding.place) : "";
    return text;
}

}  // namespace

std::string render_github(const LoadResult& loaded, const Judgement& judgement, const Origins& origins) {
    Annotations annotations;
    if (judgement.verdict == Verdict::no_conclusion) {
        std::string reasons;
        for (const std::string& reason : judgement.reasons) {
            reasons += (reasons.empty() ? "" : "\n") + printable(reason);
        }
        annotations.add("error", "title=" + property_text("pincheck: no conclusion"), reasons);
    }
    for (const ExportFinding& finding : export_findings(loaded, judgement, origins)) {
        annotations.add(finding.level, properties(finding), whole_text(finding));
    }
    return plain(verdict_line(loaded, judgement, {})) + annotations.take();
}

}  // namespace pincheck
