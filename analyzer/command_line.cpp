#include "command_line.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <utility>

#include "man_page.h"
#include "output.h"
#include "printable.h"

namespace pincheck {
namespace {

constexpr int kWrongUsage = 2;

void name_type(CLI::Option& option, const std::string& type) {
    if (!type.empty()) {
        option.type_name(type);
    }
}

int usage_error(const CLI::App& app, const std::string& message) {
    std::string help = app.get_name();
    for (const CLI::App* verb : app.get_subcommands()) {
        help += " " + verb->get_name();
    }
    std::fprintf(stderr, "pincheck: %s; see '%s --help'\n", printable(message).c_str(), help.c_str());
    return kWrongUsage;
}

}  // namespace

void Verb::flag(const std::string& name, bool& value, const std::string& help) {
    app_->add_flag(name, value, help);
}

void Verb::toggle(const std::string& name, std::optional<bool>& value, const std::string& help) {
    app_->add_flag_callback(
        "--" + name, [&value] { value = true; }, help);
    constexpr const char* kHidden = "";
    app_->add_flag_callback("--no-" + name, [&value] { value = false; })->group(kHidden);
}

void Verb::text(const std::string& name, std::string& value, const std::string& help, const std::string& type) {
    name_type(*app_->add_option(name, value, help), type);
}

void Verb::texts(const std::string& name, std::vector<std::string>& values, const std::string& help,
                 const std::string& type, const std::function<std::string(const std::string&)>& problem_of) {
    CLI::Option* option = app_->add_option(name, values, help)->allow_extra_args(false)->type_name(type);
    if (problem_of) {
        option->check(CLI::Validator([problem_of](const std::string& value) { return problem_of(value); }, "", name));
    }
}

void Verb::list(const std::string& name, std::vector<std::string>& values, const std::string& help,
                const std::string& type, const std::function<std::string(const std::string&)>& problem_of) {
    app_->add_option(name, values, help)
        ->delimiter(',')
        ->allow_extra_args(false)
        ->type_name(type)
        ->check(CLI::Validator([problem_of](const std::string& value) { return problem_of(value); }, "", name));
}

void Verb::choice(const std::string& name, std::string& value, const std::vector<std::string>& allowed,
                  const std::string& help, const std::string& type) {
    name_type(*app_->add_option(name, value, help)->check(CLI::IsMember(allowed)), type);
}

void Verb::number(const std::string& name, int& value, int low, int high, const std::string& help,
                  const std::string& type) {
    name_type(*app_->add_option(name, value, help)->check(CLI::Range(low, high)), type);
}

void Verb::number(const std::string& name, unsigned& value, unsigned low, unsigned high, const std::string& help,
                  const std::string& type) {
    name_type(*app_->add_option(name, value, help)->check(CLI::Range(low, high)), type);
}

void Verb::each(const std::string& name, const std::function<void(const std::string&)>& take, const std::string& help,
                const std::string& type) {
    app_->add_option_function<std::string>(name, take, help)->type_name(type);
}

void Verb::argument(const std::string& name, std::string& value, const std::string& help, bool required) {
    app_->add_option(name, value, help)->required(required);
}

void Verb::arguments(const std::string& name, std::vector<std::string>& values, const std::string& help) {
    app_->add_option(name, values, help)->required();
}

void Verb::only_with(const std::string& name, const std::string& other) {
    app_->get_option(name)->needs(app_->get_option(other));
}

void Verb::footer(const std::string& text) {
    app_->footer(text);
}

void Verb::action(std::function<int()> act) {
    app_->callback([chosen = chosen_, act = std::move(act)] { *chosen = act; });
}

CommandLine::CommandLine(const std::string& program, const std::string& help)
    : app_(std::make_unique<CLI::App>(help, program)) {
    app_->set_help_flag("-h,--help", "Show this help, or after a verb the verb's");
    app_->add_flag("--version", version_, "Show the version and the report format it reads");
    app_->require_subcommand(0, 1);
}

CommandLine::~CommandLine() = default;

Verb CommandLine::add_verb(const std::string& name, const std::string& help) {
    return {*app_->add_subcommand(name, help), chosen_};
}

bool CommandLine::takes_next_word(const std::string& verb, const std::string& word) const {
    const CLI::App& with_options = *app_->get_subcommand(verb);
    const CLI::Option* option = with_options.get_option_no_throw(word);
    return option != nullptr && option->get_items_expected_max() > 0;
}

int CommandLine::run(int argc, char** argv, const std::string& version) {
    // CLI11 would take an unknown verb for a stray argument.
    const auto named = [&](const CLI::App* candidate) { return argc > 1 && candidate->get_name() == argv[1]; };
    if (argc > 1 && argv[1][0] != '-' && app_->get_subcommands(named).empty()) {
        return usage_error(*app_, std::string("there is no verb '") + argv[1] + "'");
    }
    try {
        app_->parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        return exit_status_of(write_stdout(app_->help()));
    } catch (const CLI::ParseError& error) {
        return usage_error(*app_, error.what());
    }
    if (version_) {
        return exit_status_of(write_stdout(version));
    }
    if (!chosen_) {
        std::fputs(app_->help().c_str(), stderr);
        return kWrongUsage;
    }
    return chosen_();
}

std::string CommandLine::man_page(const std::string& version) const {
    return pincheck::man_page(*app_, version);
}

}  // namespace pincheck
