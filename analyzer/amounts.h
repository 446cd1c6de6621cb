// How much of a finding there is: what thresholds and --worse compare. Totals of the whole job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pincheck {

struct Capture;
struct Finding;
enum class Rule;

struct Amounts {
    // Calls at its sites; of hidden-wait those that waited for its cause; of what costs no time how often it was found.
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;  // moved by a copy that is judged by its time; else 0
    std::uint64_t held_ns = 0;
    bool operator==(const Amounts&) const = default;
};

enum class Quantity { count, bytes, held };

Amounts amounts_of(const Capture& capture, const Finding& finding);
std::uint64_t amount(const Amounts& amounts, Quantity quantity);

// Whether findings of this rule have such an amount: races take no time of their own, and no wait moves bytes.
bool has_quantity(Rule rule, Quantity quantity);

const char* name_of(Quantity quantity);  // "count", "bytes", "held"
std::optional<Quantity> quantity_by_name(std::string_view name);
// "12", "1 MiB", "5 ms"
std::string amount_text(Quantity quantity, std::uint64_t amount);

// From what a user wrote: "12", "1MiB" or "4096", "5ms"; none where it is no such amount. Whole numbers; sizes in B,
// KiB, MiB, GiB, TiB, times in ns, us, ms, s.
std::optional<std::uint64_t> parse_amount(Quantity quantity, std::string_view text);
// How it is to be written, for messages: "a whole number", …
const char* amount_form(Quantity quantity);

}  // namespace pincheck
