#include "amounts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <utility>

#include "findings.h"
#include "render_text_layout.h"
#include "wait_text.h"

namespace pincheck {
namespace {

constexpr std::array kQuantities = {Quantity::count, Quantity::bytes, Quantity::held};

using Unit = std::pair<std::string_view, std::uint64_t>;
constexpr Unit kCountUnits[] = {{"", 1}};
constexpr Unit kByteUnits[] = {
    {"", 1}, {"B", 1}, {"KiB", 1ull << 10}, {"MiB", 1ull << 20}, {"GiB", 1ull << 30}, {"TiB", 1ull << 40}};
constexpr Unit kTimeUnits[] = {{"ns", 1}, {"us", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000}};

std::span<const Unit> units_of(Quantity quantity) {
    switch (quantity) {
        case Quantity::bytes:
            return kByteUnits;
        case Quantity::held:
            return kTimeUnits;
        case Quantity::count:
            break;
    }
    return kCountUnits;
}

// Calls that waited for the finding's cause, at all its sites.
std::uint64_t waiting_calls(const Capture& capture, const Finding& finding) {
    std::uint64_t calls = 0;
    const auto add = [&](std::uint32_t id) {
        if (id == 0 || id > capture.sites.size()) {
            return;
        }
        for (const CauseTotal& total : causes_of(capture.sites[id - 1])) {
            calls += total.cause == *finding.cause && total.presumed == finding.presumed ? total.calls : 0;
        }
    };
    add(finding.site);
    std::ranges::for_each(finding.also, add);
    return calls;
}

}  // namespace

Amounts amounts_of(const Capture& capture, const Finding& finding) {
    Amounts amounts;
    amounts.held_ns = finding.held_ns;
    if (!finding.is_timed()) {
        amounts.count = finding.count;
    } else if (finding.cause) {
        amounts.count = waiting_calls(capture, finding);
    } else if (finding.site != 0 && finding.site <= capture.sites.size()) {
        const CaptureSite& site = capture.sites[finding.site - 1];
        amounts.count = site.calls;
        amounts.bytes = has_quantity(finding.rule, Quantity::bytes) ? site.bytes : 0;
    }
    return amounts;
}

std::uint64_t amount(const Amounts& amounts, Quantity quantity) {
    return quantity == Quantity::count ? amounts.count : quantity == Quantity::bytes ? amounts.bytes : amounts.held_ns;
}

bool has_quantity(Rule rule, Quantity quantity) {
    switch (rule) {
        case Rule::pageable_async_copy:
        case Rule::managed_async_copy:
        case Rule::copy_then_sync:
            return true;
        case Rule::hidden_wait:
            return quantity != Quantity::bytes;
        default:
            return quantity == Quantity::count;
    }
}

const char* name_of(Quantity quantity) {
    return quantity == Quantity::count ? "count" : quantity == Quantity::bytes ? "bytes" : "held";
}

std::optional<Quantity> quantity_by_name(std::string_view name) {
    const auto found =
        std::ranges::find(kQuantities, name, [](Quantity one) { return std::string_view(name_of(one)); });
    return found == kQuantities.end() ? std::nullopt : std::optional(*found);
}

std::string amount_text(Quantity quantity, std::uint64_t amount) {
    return quantity == Quantity::count   ? count_text(amount)
           : quantity == Quantity::bytes ? bytes_text(amount)
                                         : duration_text(amount);
}

std::optional<std::uint64_t> parse_amount(Quantity quantity, std::string_view text) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) {
        return std::nullopt;
    }
    const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    for (const auto& [name, factor] : units_of(quantity)) {
        if (unit == name && number <= UINT64_MAX / factor) {
            return number * factor;
        }
    }
    return std::nullopt;
}

const char* amount_form(Quantity quantity) {
    return quantity == Quantity::count   ? "a whole number"
           : quantity == Quantity::bytes ? "a whole number of B, KiB, MiB, GiB or TiB, like 64KiB"
                                         : "a whole number of ns, us, ms or s, like 5ms";
}

}  // namespace pincheck
