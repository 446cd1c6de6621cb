#include <algorithm>
#include <nlohmann/json.hpp>

#include "doctor.h"
#include "render_text_layout.h"

namespace pincheck {
namespace {

constexpr std::size_t kStateColumns = 9;
constexpr std::size_t kIndent = 27;  // the widest name and two spaces

Paint paint_of(Health health) {
    return health == Health::ok ? Paint::good : health == Health::limited ? Paint::doubt : Paint::bad;
}

std::string padded(std::string text, std::size_t width) {
    text.resize(std::max(text.size(), width), ' ');
    return text;
}

void add(Lines& lines, const Check& check) {
    const std::string state = name(check.health);
    // Painted where it stands: the width is that of what is seen.
    std::vector<std::string> found = wrap(check.found, lines.width() - kIndent);
    lines.raw(painted(state, paint_of(check.health), lines.color()) + std::string(kStateColumns - state.size(), ' ') +
              padded(check.name, kIndent - kStateColumns) + found.front());
    for (std::size_t i = 1; i < found.size(); ++i) {
        lines.raw(std::string(kIndent, ' ') + found[i]);
    }
    for (const auto& [label, text] : {std::pair("means", &check.means), std::pair("mend", &check.mend)}) {
        if (!text->empty()) {
            lines.paragraph(*text, kIndent, std::string(kStateColumns, ' ') + label);
        }
    }
}

}  // namespace

std::string doctor_text(const std::vector<Check>& checks, std::size_t width, bool color) {
    Lines lines(width, color);
    const auto number = [&](Health health) { return std::ranges::count(checks, health, &Check::health); };
    std::string title = "pincheck doctor: ";
    if (worst_of(checks) == Health::ok) {
        title += "everything works";
    } else {
        for (const Health health : {Health::broken, Health::limited, Health::ok}) {
            if (number(health) != 0) {
                title += (title.ends_with(' ') ? "" : ", ") + std::to_string(number(health)) + " " + name(health);
            }
        }
    }
    lines.line(title);
    lines.empty_line();
    for (const Check& check : checks) {
        add(lines, check);
    }
    return lines.take();
}

std::string doctor_json(const std::vector<Check>& checks) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const Check& check : checks) {
        all.push_back({{"name", check.name},
                       {"status", name(check.health)},
                       {"found", check.found},
                       {"means", check.means},
                       {"mend", check.mend}});
    }
    const nlohmann::ordered_json document = {
        {"schema", "pincheck-doctor-0"}, {"status", name(worst_of(checks))}, {"checks", all}};
    return document.dump(2) + "\n";
}

}  // namespace pincheck
