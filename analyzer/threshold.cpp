#include "threshold.h"

#include "findings.h"
#include "nearest.h"

namespace pincheck {
namespace {

constexpr Quantity kAll[] = {Quantity::count, Quantity::bytes, Quantity::held};

// "count or held"
std::string quantities_of(Rule rule) {
    std::string names;
    for (const Quantity quantity : kAll) {
        if (has_quantity(rule, quantity)) {
            names += (names.empty() ? "" : " or ") + std::string(name_of(quantity));
        }
    }
    return names;
}

}  // namespace

std::optional<std::uint64_t>& Threshold::limit(Quantity quantity) {
    return quantity == Quantity::count ? count : quantity == Quantity::bytes ? bytes : held_ns;
}

const std::optional<std::uint64_t>& Threshold::limit(Quantity quantity) const {
    return quantity == Quantity::count ? count : quantity == Quantity::bytes ? bytes : held_ns;
}

bool is_within(const Amounts& amounts, const Threshold& threshold) {
    bool limited = false;
    for (const Quantity quantity : kAll) {
        if (const std::optional<std::uint64_t>& limit = threshold.limit(quantity)) {
            limited = true;
            if (amount(amounts, quantity) > *limit) {
                return false;
            }
        }
    }
    return limited;
}

std::string set_limit(Threshold& threshold, std::string_view key, const std::string& value) {
    const std::optional<Quantity> quantity = quantity_by_name(key);
    if (!quantity) {
        return "there is no limit '" + std::string(key) + "'; there are count, bytes and held";
    }
    // A limit on what is always 0 would let everything pass.
    if (!has_quantity(threshold.rule, *quantity)) {
        return std::string(key) + " means nothing for " + slug_of(threshold.rule) + "; limit its " +
               quantities_of(threshold.rule);
    }
    std::optional<std::uint64_t>& limit = threshold.limit(*quantity);
    if (limit) {
        return std::string(key) + " is given twice";
    }
    limit = parse_amount(*quantity, value);
    return limit ? "" : std::string(key) + " is '" + value + "' and must be " + amount_form(*quantity);
}

std::string parse_threshold(const std::string& text, Threshold& threshold) {
    const std::size_t colon = text.find(':');
    const std::string slug = text.substr(0, colon);
    const RuleInfo* rule = rule_by_slug(slug);
    if (rule == nullptr) {
        return unknown_rule_text(slug);
    }
    threshold = {};
    threshold.rule = rule->rule;
    if (colon == text.npos) {
        return "'" + text + "' has no limit; write " + slug + ":count=10";
    }
    std::string_view rest = std::string_view(text).substr(colon + 1);
    while (true) {
        const std::string_view one = rest.substr(0, rest.find(','));
        const std::size_t equals = one.find('=');
        if (equals == one.npos) {
            return "'" + std::string(one) + "' is no limit; write " + slug + ":count=10";
        }
        if (std::string wrong = set_limit(threshold, one.substr(0, equals), std::string(one.substr(equals + 1)));
            !wrong.empty()) {
            return wrong;
        }
        if (one.size() == rest.size()) {
            return "";
        }
        rest.remove_prefix(one.size() + 1);
    }
}

std::string limits_text(const Threshold& threshold) {
    std::string text;
    for (const Quantity quantity : kAll) {
        if (const std::optional<std::uint64_t>& limit = threshold.limit(quantity)) {
            text += (text.empty() ? "" : ", ") + std::string(name_of(quantity)) + '=' + amount_text(quantity, *limit);
        }
    }
    return text;
}

}  // namespace pincheck
