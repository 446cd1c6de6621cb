#include "gate_config.h"

#include <algorithm>
#include <utility>

#include "nearest.h"
#include "toml_file.h"

namespace pincheck {
namespace {

using Kind = TomlValue::Kind;

class ConfigReader {
  public:
    ConfigReader(const std::string& path, GateSettings& settings)
        : path_(path), folder_(path.substr(0, path.rfind('/') + 1)), settings_(settings) {}

    std::string read(const TomlValue& root) {
        for (const auto& [key, value] : root.entries) {
            if (std::string wrong = read_key(key, value); !wrong.empty()) {
                // What is wrong further down has its own line.
                return wrong.starts_with(path_ + ':') ? wrong : at(value, wrong);
            }
        }
        return "";
    }

  private:
    using Reader = std::string (ConfigReader::*)(const TomlValue&);

    std::string at(const TomlValue& value, const std::string& text) const { return at_line(path_, value.line, text); }

    std::string read_key(const std::string& key, const TomlValue& value) {
        static constexpr std::pair<const char*, std::optional<bool> GateSettings::*> kSwitches[] = {
            {"strict", &GateSettings::strict},
            {"allow-staged", &GateSettings::allow_staged},
            {"allow-no-cuda", &GateSettings::allow_no_cuda}};
        static constexpr std::pair<const char*, Reader> kOthers[] = {{"fail-on", &ConfigReader::read_fail_on},
                                                                     {"thresholds", &ConfigReader::read_thresholds},
                                                                     {"suppressions", &ConfigReader::read_suppressions},
                                                                     {"baseline", &ConfigReader::read_baseline},
                                                                     {"worse", &ConfigReader::read_worse}};
        std::vector<std::string> known;
        for (const auto& [name, member] : kSwitches) {
            if (key == name) {
                settings_.*member = value.truth;
                return value.kind == Kind::truth ? "" : key + " must be true or false";
            }
            known.emplace_back(name);
        }
        for (const auto& [name, reader] : kOthers) {
            if (key == name) {
                return (this->*reader)(value);
            }
            known.emplace_back(name);
        }
        const std::string meant = did_you_mean(key, known);
        if (!meant.empty()) {
            return "there is no setting '" + key + "'" + meant;
        }
        std::string all;
        for (const std::string& name : known) {
            all += (all.empty() ? "" : ", ") + name;
        }
        return "there is no setting '" + key + "'; there are " + all;
    }

    // A text, or a list of texts.
    std::string read_texts(const std::string& key, const TomlValue& value, std::vector<std::string>& texts) const {
        for (const TomlValue& one : value.kind == Kind::list ? value.list : std::vector{value}) {
            if (one.kind != Kind::text || one.text.empty()) {
                return at(one, key + " must be a text in quotes, or a list of such texts");
            }
            texts.push_back(one.text);
        }
        return "";
    }

    std::string read_fail_on(const TomlValue& value) {
        if (std::string wrong = read_texts("fail-on", value, settings_.fail_on); !wrong.empty()) {
            return wrong;
        }
        for (const std::string& name : settings_.fail_on) {
            if (std::string wrong = check_fail_on(name); !wrong.empty()) {
                return wrong;
            }
        }
        return settings_.fail_on.empty() ? "fail-on is an empty list; leave it out for the default" : "";
    }

    std::string read_suppressions(const TomlValue& value) {
        std::vector<std::string> names;
        std::string wrong = read_texts("suppressions", value, names);
        for (const std::string& name : names) {
            settings_.suppressions.push_back(beside(name, value));
        }
        return wrong;
    }

    std::string read_baseline(const TomlValue& value) {
        if (value.kind != Kind::text || value.text.empty()) {
            return "baseline must be a file's name in quotes";
        }
        settings_.baseline = beside(value.text, value);
        return "";
    }

    std::string read_thresholds(const TomlValue& value) {
        constexpr const char* kForm =
            "a table of limits for each rule, like pageable-async-copy = { count = 10, held = \"5ms\" }";
        if (value.kind != Kind::table) {
            return std::string("thresholds must be ") + kForm;
        }
        for (const auto& [slug, limits] : value.entries) {
            const RuleInfo* rule = rule_by_slug(slug);
            if (rule == nullptr) {
                return at(limits, unknown_rule_text(slug));
            }
            if (limits.kind != Kind::table || limits.entries.empty()) {
                return at(limits, std::string("thresholds must be ") + kForm);
            }
            Threshold& threshold = settings_.thresholds.emplace_back();
            threshold.rule = rule->rule;
            for (const auto& [key, limit] : limits.entries) {
                if (std::string wrong = set_limit(threshold, key, amount_of(limit)); !wrong.empty()) {
                    return at(limit, wrong);
                }
            }
        }
        return "";
    }

    std::string read_worse(const TomlValue& value) {
        if (value.kind != Kind::table) {
            return "worse must be a table, like { count = \"+50%\" }";
        }
        for (const auto& [key, growth] : value.entries) {
            if (std::string wrong = set_worse(settings_.worse, key, amount_of(growth)); !wrong.empty()) {
                return at(growth, wrong);
            }
        }
        return "";
    }

    static std::string amount_of(const TomlValue& value) {
        return value.kind == Kind::whole_number ? std::to_string(value.number) : value.text;
    }

    NamedFile beside(const std::string& name, const TomlValue& value) const {
        return {name.starts_with('/') ? name : folder_ + name, path_ + ':' + std::to_string(value.line)};
    }

    const std::string& path_;
    std::string folder_;
    GateSettings& settings_;
};

}  // namespace

std::string read_gate_config(const std::string& path, GateSettings& settings) {
    const TomlFile file = read_toml_file(path);
    return file.error.empty() ? ConfigReader(path, settings).read(file.root) : file.error;
}

}  // namespace pincheck
