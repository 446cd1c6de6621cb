#include "preload_options.h"

#include <charconv>

#include "printable.h"

namespace pincheck {
namespace {

bool is_number(std::string_view text, unsigned low, unsigned high) {
    unsigned number = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
    return result.ec == std::errc() && result.ptr == text.data() + text.size() && number >= low && number <= high;
}

bool is_good(std::string_view key, std::string_view value) {
    if (key == "depth") {
        return is_number(value, 1, 64);
    }
    if (key == "threshold") {
        return is_number(value, 1, 999999);
    }
    if (key == "verbosity") {
        return is_number(value, 0, 2);
    }
    if (key == "cmdline") {
        return value == "full" || value == "name";
    }
    if (key == "races") {
        return value == "off" || value == "order" || value == "watch" || value == "watch,pageable" || value == "trap";
    }
    if (key == "sample") {
        return value == "cost" || value == "count";
    }
    if (key == "budget") {
        return is_number(value, 1, 100);
    }
    if (key == "cupti") {
        return value == "copies" || value == "full" || value == "off";
    }
    return value == "on" || value == "off" || value == "1" || value == "0";
}

const PreloadOption* option_named(std::string_view key) {
    for (const PreloadOption& option : preload_options()) {
        if (key == option.key) {
            return &option;
        }
    }
    return nullptr;
}

std::string known_keys() {
    std::string all = "output";
    for (const PreloadOption& option : preload_options()) {
        all += std::string(" ") + option.key;
    }
    return all;
}

void set(std::vector<std::pair<std::string, std::string>>& all, const std::string& key, const std::string& value) {
    for (auto& [known, old] : all) {
        if (known == key) {
            old = value;
            return;
        }
    }
    all.emplace_back(key, value);
}

}  // namespace

const std::vector<PreloadOption>& preload_options() {
    static const std::vector<PreloadOption> all = {
        {"stacks", "on|off", "Record call stacks"},
        {"depth", "1-64", "Frames of a stack"},
        {"threshold", "1-999999", "Microseconds from which on a call held the host, and its cause is recorded"},
        {"exports", "on|off", "Hook calls to exported functions of the CUDA runtime and driver"},
        {"dlsym", "on|off", "Hook functions that the program looks up in the driver"},
        {"cupti", "copies|full|off", "What CUPTI records: copies, kernels too, or nothing"},
        {"races", "off|order|watch|watch,pageable|trap",
         "How buffers in flight are followed: not, by the order of calls, written pages too (of pageable sources as "
         "well), each access caught"},
        {"sample", "cost|count", "Which copies are watched: as the budget allows, or by count, the same in every run"},
        {"budget", "1-100", "Percent of the time that watching may cost (sample=cost)"},
        {"cmdline", "full|name", "How much of the command line is recorded"},
        {"verbosity", "0|1|2", "0 silent, 1 problems, 2 also what is done"},
    };
    return all;
}

MergedOptions merge_options(std::string_view users, const std::vector<std::pair<std::string, std::string>>& flags) {
    MergedOptions merged;
    std::vector<std::pair<std::string, std::string>> all;
    const auto take = [&](std::string_view key, std::string_view value, const std::string& where) {
        const PreloadOption* option = option_named(key);
        if (!merged.error.empty()) {
            return;
        }
        if (option == nullptr) {
            merged.error = "unknown option '" + printable(key) + "' in " + where + "; known: " + known_keys();
        } else if (!is_good(key, value)) {
            merged.error = "option '" + printable(key) + "' in " + where + " takes " + option->values + ", not '" +
                           printable(value) + "'";
        } else {
            set(all, std::string(key), std::string(value));
        }
    };
    while (!users.empty()) {
        const std::string_view part = users.substr(0, users.find(':'));
        users.remove_prefix(part.size() < users.size() ? part.size() + 1 : users.size());
        const std::size_t equal = part.find('=');
        const std::string_view key = part.substr(0, equal);
        const std::string_view value = equal == std::string_view::npos ? std::string_view() : part.substr(equal + 1);
        if (key == "output") {
            merged.users_output = value;
        } else if (!part.empty()) {
            take(key, value, "PINCHECK_OPTIONS");
        }
    }
    for (const auto& [key, value] : flags) {
        take(key, value, "--" + key);
    }
    for (const auto& [key, value] : all) {
        merged.text += (merged.text.empty() ? "" : ":") + key + "=" + value;
        merged.traps = merged.traps || (key == "races" && value == "trap");
        if (key == "verbosity") {
            merged.verbosity = value.back() - '0';
        }
    }
    return merged;
}

}  // namespace pincheck
