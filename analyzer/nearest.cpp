#include "nearest.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

#include "findings.h"

namespace pincheck {
namespace {

// Levenshtein's, between the text and that start of the name which is nearest to it.
std::size_t edit_distance(const std::string& text, std::string_view name) {
    std::vector<std::size_t> row(name.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= text.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= name.size(); ++j) {
            const std::size_t changed = diagonal + (text[i - 1] == name[j - 1] ? 0 : 1);
            diagonal = std::exchange(row[j], std::min({changed, row[j] + 1, row[j - 1] + 1}));
        }
    }
    return *std::ranges::min_element(row);
}

// The same from the word of the name at which it is least.
std::size_t word_distance(const std::string& text, const std::string& name) {
    std::size_t least = edit_distance(text, name);
    for (std::size_t dash = name.find('-'); dash != name.npos; dash = name.find('-', dash + 1)) {
        least = std::min(least, edit_distance(text, std::string_view(name).substr(dash + 1)));
    }
    return least;
}

}  // namespace

std::vector<std::string> nearest(const std::string& text, const std::vector<std::string>& names) {
    constexpr std::size_t kLongest = 64;
    constexpr std::size_t kShown = 3;
    std::vector<std::pair<std::size_t, std::string>> found;
    if (text.size() > kLongest) {
        return {};
    }
    for (const std::string& name : names) {
        const std::size_t distance = word_distance(text, name);
        if (distance <= text.size() / 3) {
            found.emplace_back(distance, name);
        }
    }
    std::ranges::stable_sort(found, {}, &std::pair<std::size_t, std::string>::first);
    std::vector<std::string> result;
    for (std::size_t i = 0; i < std::min(found.size(), kShown); ++i) {
        result.push_back(found[i].second);
    }
    return result;
}

std::string did_you_mean(const std::string& text, const std::vector<std::string>& names) {
    std::string meant;
    for (const std::string& name : nearest(text, names)) {
        meant += (meant.empty() ? "; did you mean " : " or ") + name;
    }
    return meant.empty() ? "" : meant + '?';
}

std::vector<std::string> rule_slugs() {
    std::vector<std::string> slugs;
    for (const RuleInfo& rule : rules()) {
        slugs.emplace_back(rule.slug);
    }
    return slugs;
}

std::string unknown_rule_text(const std::string& name) {
    const std::string meant = did_you_mean(name, rule_slugs());
    return "there is no rule '" + name + "'" + meant + (meant.empty() ? "; " : " ") + "'pincheck explain' lists them";
}

}  // namespace pincheck
