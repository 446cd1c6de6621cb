#include "suppression_file.h"

#include <algorithm>
#include <utility>

#include "nearest.h"
#include "toml_file.h"

namespace pincheck {
namespace {

constexpr const char* kExample =
    "[[suppression]], then rule = \"pageable-async-copy\", function = \"Meter::update\", reason = \"…\"";

std::string unknown_key(const std::string& key) {
    const std::vector<std::string> known = {"rule",        "module", "function", "file",
                                            "fingerprint", "frames", "reason",   "expires"};
    const std::string meant = did_you_mean(key, known);
    return "there is no key '" + key + "'" +
           (meant.empty() ? "; there are rule, module, function, file, fingerprint, frames, reason and expires"
                          : meant);
}

// A reason may be written in several lines.
std::string in_one_line(const std::string& text) {
    std::string line;
    for (const char c : text) {
        const bool space = c == ' ' || c == '\n' || c == '\r' || c == '\t';
        if (!space || (!line.empty() && line.back() != ' ')) {
            line += space ? ' ' : c;
        }
    }
    return line.ends_with(' ') ? line.substr(0, line.size() - 1) : line;
}

class RowReader {
  public:
    RowReader(const std::string& path, const TomlValue& row) : path_(path), table_(row) {
        row_.file = path;
        row_.line = row.line;
    }

    // "" or what is wrong.
    std::string read() {
        if (table_.kind != TomlValue::Kind::table) {
            return at(table_, "a suppression is a table");
        }
        for (const auto& [key, value] : table_.entries) {
            if (const std::string wrong = read_key(key, value); !wrong.empty()) {
                return at(value, wrong);
            }
        }
        if (table_.find("rule") == nullptr) {
            return at(table_, "the row names no rule; write rule = \"pageable-async-copy\", or \"*\" for all rules");
        }
        if (row_.module.empty() && row_.function.empty() && row_.source.empty() && row_.fingerprint.empty()) {
            return at(table_,
                      "the row says of no place; give it a module, function, file or fingerprint (a rule that is "
                      "to gate nowhere is left out of --fail-on)");
        }
        if (row_.any_frame && row_.module.empty() && row_.function.empty() && row_.source.empty()) {
            return at(table_, "frames = \"any\" means nothing without a module, function or file");
        }
        if (row_.reason.empty()) {
            return at(table_, "the row has no reason; write reason = \"why this may stay\"");
        }
        return "";
    }
    Suppression take() { return std::move(row_); }

  private:
    std::string at(const TomlValue& value, const std::string& text) const { return at_line(path_, value.line, text); }

    std::string read_key(const std::string& key, const TomlValue& value) {
        if (key == "rule") {
            return read_rules(value);
        }
        if (key == "expires") {
            row_.expires = value.date;
            return value.kind == TomlValue::Kind::date
                       ? ""
                       : "expires must be a day without quotes, like 2027-01-31: the last on which the row holds";
        }
        const std::pair<const char*, std::string*> texts[] = {
            {"module", &row_.module},           {"function", &row_.function}, {"file", &row_.source},
            {"fingerprint", &row_.fingerprint}, {"reason", &row_.reason},     {"frames", &frames_}};
        const auto found = std::ranges::find(texts, key, [](const auto& one) { return std::string(one.first); });
        if (found == std::end(texts)) {
            return unknown_key(key);
        }
        if (value.kind != TomlValue::Kind::text) {
            return key + " must be a text in quotes";
        }
        if (value.text.empty() && key != "reason") {
            return key + " is empty; leave it out, or say what it must match";
        }
        *found->second = key == "reason" ? in_one_line(value.text) : value.text;
        row_.any_frame = frames_ == "any";
        return key != "frames" || frames_ == "any" || frames_ == "heading"
                   ? ""
                   : "frames is '" + frames_ + "' and must be \"heading\" or \"any\"";
    }

    std::string read_rules(const TomlValue& value) {
        const bool is_list = value.kind == TomlValue::Kind::list;
        if (is_list && value.list.empty()) {
            return "rule is an empty list; name one, or \"*\" for all rules";
        }
        for (const TomlValue& one : is_list ? value.list : std::vector{value}) {
            if (one.kind != TomlValue::Kind::text) {
                return "rule must be a rule's name in quotes, or a list of such names";
            }
            if (one.text == "*" && !is_list) {
                return "";
            }
            const RuleInfo* rule = rule_by_slug(one.text);
            if (rule == nullptr) {
                return unknown_rule_text(one.text);
            }
            row_.rules.push_back(rule->rule);
        }
        return "";
    }

    const std::string& path_;
    const TomlValue& table_;
    std::string frames_;
    Suppression row_;
};

}  // namespace

std::string read_suppressions(const std::string& path, std::vector<Suppression>& rows) {
    const TomlFile file = read_toml_file(path);
    if (!file.error.empty()) {
        return file.error + (file.error.starts_with(path + ':') ? "; a row is " + std::string(kExample) : "");
    }
    for (const auto& [key, value] : file.root.entries) {
        if (key != "suppression") {
            const std::string meant = did_you_mean(key, {"suppression"});
            return at_line(
                path, value.line,
                "there is no table '" + key + "'" + (meant.empty() ? "; write " + std::string(kExample) : meant));
        }
        if (value.kind != TomlValue::Kind::list) {
            return at_line(path, value.line, "'suppression' is not a list of tables; write " + std::string(kExample));
        }
        for (const TomlValue& one : value.list) {
            RowReader reader(path, one);
            if (std::string wrong = reader.read(); !wrong.empty()) {
                return wrong;
            }
            rows.push_back(reader.take());
        }
    }
    return "";
}

}  // namespace pincheck
