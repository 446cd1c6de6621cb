// The command line of a program with verbs. CLI11 parses it, in command_line.cpp alone: a file that includes CLI11
// takes far longer to compile than one that does not.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace pincheck {

// What one verb takes and does. A handle: copies are the same verb. The values that it is given are written by
// CommandLine::run() and must live until then; where they belong to the action, the action owns them.
//
// `name` of an option: "--width", or "-o,--output". `type`: what its value is called in the help; "" leaves that to
// CLI11 (TEXT, INT, UINT).
class Verb {
  public:
    Verb(CLI::App& app, std::function<int()>& chosen) : app_(&app), chosen_(&chosen) {}

    void flag(const std::string& name, bool& value, const std::string& help);
    // `name` is without dashes: --name, and --no-name, which the help leaves out, to undo what a file sets. The last
    // one holds; neither: not given.
    void toggle(const std::string& name, std::optional<bool>& value, const std::string& help);
    void text(const std::string& name, std::string& value, const std::string& help, const std::string& type = "");
    // Repeatable, each time with one value. `problem_of`: "" or what is wrong with one of them.
    void texts(const std::string& name, std::vector<std::string>& values, const std::string& help,
               const std::string& type, const std::function<std::string(const std::string&)>& problem_of = nullptr);
    // The same, and one value may be several separated by commas.
    void list(const std::string& name, std::vector<std::string>& values, const std::string& help,
              const std::string& type, const std::function<std::string(const std::string&)>& problem_of);
    void choice(const std::string& name, std::string& value, const std::vector<std::string>& allowed,
                const std::string& help, const std::string& type = "");
    // From `low` to `high`, both allowed.
    void number(const std::string& name, int& value, int low, int high, const std::string& help,
                const std::string& type = "");
    void number(const std::string& name, unsigned& value, unsigned low, unsigned high, const std::string& help,
                const std::string& type = "");
    // `take` is called with each value.
    void each(const std::string& name, const std::function<void(const std::string&)>& take, const std::string& help,
              const std::string& type);

    // Words that are no options, in the order in which they are added.
    void argument(const std::string& name, std::string& value, const std::string& help, bool required);
    void arguments(const std::string& name, std::vector<std::string>& values, const std::string& help);  // at least one

    // An option that means nothing without another one.
    void only_with(const std::string& name, const std::string& other);
    // The end of the verb's help.
    void footer(const std::string& text);
    // What the verb does; returns the exit status.
    void action(std::function<int()> act);

  private:
    CLI::App* app_;
    std::function<int()>* chosen_;
};

class CommandLine {
  public:
    CommandLine(const std::string& program, const std::string& help);
    ~CommandLine();
    CommandLine(const CommandLine&) = delete;
    CommandLine& operator=(const CommandLine&) = delete;

    Verb add_verb(const std::string& name, const std::string& help);
    // Whether this word is an option of the verb whose value is the next word.
    bool takes_next_word(const std::string& verb, const std::string& word) const;
    // Parses, and does what was asked for: the verb's action, help, or the version. What is wrong is said on standard
    // error; the exit status is then 2.
    int run(int argc, char** argv, const std::string& version);
    // All of it as a page for man, see man_page.h.
    std::string man_page(const std::string& version) const;

  private:
    std::unique_ptr<CLI::App> app_;
    std::function<int()> chosen_;
    bool version_ = false;
};

}  // namespace pincheck
