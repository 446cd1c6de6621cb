#include "gate_options.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "gate_config.h"
#include "suppression_file.h"

namespace pincheck {
namespace {

// The configuration file to read, "" for none. `error`: why that cannot be said.
std::string config_of(const GateOptions& options, std::string& error) {
    if (options.no_config) {
        error = options.config.empty() ? "" : "--config and --no-config exclude each other";
        return "";
    }
    if (!options.config.empty()) {
        return options.config;
    }
    std::error_code code;
    const std::filesystem::file_status status = std::filesystem::status(kConfigName, code);
    const bool is_there = std::filesystem::exists(std::filesystem::symlink_status(kConfigName, code));
    if (is_there && std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
        error = std::string(kConfigName) + " is no file that can be read; move it away, or give --no-config";
    }
    return is_there ? kConfigName : "";
}

std::string typed_settings(const GateOptions& options, GateSettings& settings) {
    settings.strict = options.strict;
    settings.allow_staged = options.allow_staged;
    settings.allow_no_cuda = options.allow_no_cuda;
    settings.fail_on = options.fail_on;
    for (const std::string& file : options.suppressions) {
        settings.suppressions.push_back({file, ""});
    }
    settings.baseline.path = options.baseline;
    for (const std::string& text : options.thresholds) {
        Threshold threshold;
        if (const std::string wrong = parse_threshold(text, threshold); !wrong.empty()) {
            return "--gate-threshold: " + wrong;
        }
        if (std::ranges::find(settings.thresholds, threshold.rule, &Threshold::rule) != settings.thresholds.end()) {
            return std::string("--gate-threshold: ") + slug_of(threshold.rule) +
                   " is given twice; write its limits together";
        }
        settings.thresholds.push_back(threshold);
    }
    for (const std::string& text : options.worse) {
        if (const std::string wrong = parse_worse(text, settings.worse); !wrong.empty()) {
            return "--worse: " + wrong;
        }
    }
    return "";
}

template <class T>
void replace(T& value, T typed, bool given) {
    if (given) {
        value = std::move(typed);
    }
}

// What is in `over` wins.
GateSettings combined(GateSettings under, GateSettings over) {
    replace(under.strict, over.strict, over.strict.has_value());
    replace(under.allow_staged, over.allow_staged, over.allow_staged.has_value());
    replace(under.allow_no_cuda, over.allow_no_cuda, over.allow_no_cuda.has_value());
    replace(under.fail_on, over.fail_on, !over.fail_on.empty());
    replace(under.baseline, over.baseline, !over.baseline.path.empty());
    for (const Quantity quantity : {Quantity::count, Quantity::bytes, Quantity::held}) {
        replace(under.worse.percent(quantity), over.worse.percent(quantity), over.worse.percent(quantity).has_value());
    }
    std::erase_if(under.thresholds, [&](const Threshold& threshold) {
        return std::ranges::find(over.thresholds, threshold.rule, &Threshold::rule) != over.thresholds.end();
    });
    under.thresholds.insert(under.thresholds.end(), over.thresholds.begin(), over.thresholds.end());
    for (NamedFile& file : over.suppressions) {
        if (std::ranges::find(under.suppressions, file.path, &NamedFile::path) == under.suppressions.end()) {
            under.suppressions.push_back(std::move(file));
        }
    }
    return under;
}

std::string named(const NamedFile& file, const std::string& wrong) {
    return file.named_at.empty() ? wrong : file.named_at + ": " + wrong;
}

// Reads the files that the settings name.
std::string apply(const GateSettings& settings, PolicyOptions& policy) {
    policy.strict = settings.strict.value_or(false);
    policy.allow_staged = settings.allow_staged.value_or(false);
    policy.allow_no_cuda = settings.allow_no_cuda.value_or(false);
    policy.fail_on = settings.fail_on;
    policy.thresholds = settings.thresholds;
    policy.worse = settings.worse;
    for (const NamedFile& file : settings.suppressions) {
        if (const std::string wrong = read_suppressions(file.path, policy.suppressions); !wrong.empty()) {
            return named(file, wrong);
        }
    }
    if (settings.baseline.path.empty()) {
        return settings.worse.any() ? "worse means nothing without a baseline: give --baseline FILE too" : "";
    }
    auto baseline = std::make_shared<Baseline>();
    const std::string wrong = read_baseline(settings.baseline.path, *baseline);
    policy.baseline = std::move(baseline);
    return wrong.empty() ? "" : named(settings.baseline, wrong);
}

bool is_plain(const GateOptions& options) {
    return options.config.empty() && !options.no_config && !options.strict && !options.allow_staged &&
           !options.allow_no_cuda && options.fail_on.empty() && options.thresholds.empty() &&
           options.suppressions.empty() && options.baseline.empty() && options.worse.empty();
}

}  // namespace

void add_config_options(Verb verb, GateOptions& options) {
    verb.text("--config", options.config, "Settings of the gate (default: pincheck.toml of the working directory)",
              "FILE");
    verb.flag("--no-config", options.no_config, "Read no pincheck.toml");
}

void add_gate_options(Verb verb, GateOptions& options) {
    verb.toggle("strict", options.strict, "Gate everything: warnings, and copies of libraries and vendors too");
    verb.toggle("allow-staged", options.allow_staged,
                "Exempt pageable uploads up to 2 MiB that were measured not to wait");
    verb.toggle("allow-no-cuda", options.allow_no_cuda, "A program that made no CUDA call passes");
    verb.list("--fail-on", options.fail_on,
              "What gates instead of the default: rules, error or warning, separated by commas", "RULE[,RULE]",
              check_fail_on);
    verb.texts("--gate-threshold", options.thresholds,
               "A finding of this rule gates only when it is above a limit: RULE:count=10,bytes=1MiB,held=5ms "
               "(repeatable)",
               "RULE:LIMITS");
    verb.texts("--suppressions", options.suppressions,
               "Findings that are let pass, with reasons; see 'pincheck explain gate' (TOML, repeatable)", "FILE");
    verb.text("--baseline", options.baseline, "Findings that this export of an earlier run has do not gate (JSON)",
              "FILE");
    verb.list("--worse", options.worse,
              "Findings of the baseline gate again when they grew by more: count=+50%, bytes=…, held=…",
              "WHAT=+N%[,...]", [](const std::string&) { return std::string(); });
    add_config_options(verb, options);
}

Gate read_gate(const GateOptions& options) {
    Gate gate;
    gate.plain = is_plain(options);
    gate.policy.today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
    gate.policy.config = config_of(options, gate.error);
    GateSettings file;
    GateSettings typed;
    if (gate.error.empty() && !gate.policy.config.empty()) {
        gate.error = read_gate_config(gate.policy.config, file);
    }
    if (gate.error.empty()) {
        gate.error = typed_settings(options, typed);
    }
    if (gate.error.empty()) {
        gate.error = apply(combined(std::move(file), std::move(typed)), gate.policy);
    }
    return gate;
}

}  // namespace pincheck
