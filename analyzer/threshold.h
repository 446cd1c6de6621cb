// How much of a rule's findings a gate lets pass.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "amounts.h"

namespace pincheck {

// A finding at or below every limit that is given does not gate.
struct Threshold {
    Rule rule{};
    std::optional<std::uint64_t> count;
    std::optional<std::uint64_t> bytes;
    std::optional<std::uint64_t> held_ns;

    std::optional<std::uint64_t>& limit(Quantity quantity);
    const std::optional<std::uint64_t>& limit(Quantity quantity) const;
};

bool is_within(const Amounts& amounts, const Threshold& threshold);

// "RULE:count=10,bytes=1MiB,held=5ms", at least one limit. Returns "" or what is wrong.
std::string parse_threshold(const std::string& text, Threshold& threshold);
// One limit of a threshold whose rule is set. Returns "" or what is wrong.
std::string set_limit(Threshold& threshold, std::string_view key, const std::string& value);

// "count=10, held=5.00 ms"
std::string limits_text(const Threshold& threshold);

}  // namespace pincheck
