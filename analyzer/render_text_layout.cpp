#include "render_text_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pincheck {
namespace {

constexpr std::string_view kEllipsis = "…";

// Three significant digits, without an exponent: 1.23, 12.3, 123, and whole numbers as they are.
std::string digits(double value) {
    return value < 9.995   ? fmt::format("{:.2f}", value)
           : value < 99.95 ? fmt::format("{:.1f}", value)
                           : fmt::format("{:.0f}", value);
}

std::size_t sequence_bytes(char lead) noexcept {
    const auto byte = static_cast<unsigned char>(lead);
    return byte < 0x80 ? 1 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
}

std::string_view first_character(std::string_view text) {
    return text.substr(0, sequence_bytes(text[0]));
}

std::size_t character_columns(std::string_view character) {
    std::uint32_t code = static_cast<unsigned char>(character[0]);
    if (character.size() > 1) {
        code &= 0x7fu >> character.size();
        for (const char c : character.substr(1)) {
            code = (code << 6) | (static_cast<unsigned char>(c) & 0x3fu);
        }
    }
    const auto in = [code](std::uint32_t first, std::uint32_t last) { return code >= first && code <= last; };
    // Combining marks and variation selectors.
    if (in(0x300, 0x36f) || in(0x483, 0x489) || in(0x591, 0x5bd) || in(0x1ab0, 0x1aff) || in(0x1dc0, 0x1dff) ||
        in(0x20d0, 0x20ff) || in(0xfe00, 0xfe0f) || in(0xfe20, 0xfe2f)) {
        return 0;
    }
    // East Asian wide and fullwidth, emoji.
    const bool wide = in(0x1100, 0x115f) || in(0x2e80, 0xa4cf) || in(0xa960, 0xa97c) || in(0xac00, 0xd7a3) ||
                      in(0xf900, 0xfaff) || in(0xfe30, 0xfe6f) || in(0xff00, 0xff60) || in(0xffe0, 0xffe6) ||
                      in(0x1f300, 0x1f64f) || in(0x1f680, 0x1f6ff) || in(0x1f900, 0x1f9ff) || in(0x20000, 0x3fffd);
    return wide ? 2 : 1;
}

// Bytes of the longest start of the text that takes at most `width` columns.
std::size_t fitting(std::string_view text, std::size_t width) {
    std::size_t bytes = 0;
    std::size_t used = 0;
    while (bytes < text.size()) {
        const std::string_view character = first_character(text.substr(bytes));
        used += character_columns(character);
        if (used > width) {
            break;
        }
        bytes += character.size();
    }
    return bytes;
}

std::string_view without_trailing_spaces(std::string_view text) {
    const std::size_t last = text.find_last_not_of(' ');
    return last == text.npos ? std::string_view() : text.substr(0, last + 1);
}

}  // namespace

std::string duration_text(std::uint64_t ns) {
    const auto value = static_cast<double>(ns);
    if (ns < 1'000) {
        return fmt::format("{} ns", ns);
    }
    // The limits are where three digits would round up to the next unit.
    if (ns < 999'500) {
        return digits(value / 1e3) + " us";
    }
    if (ns < 999'500'000) {
        return digits(value / 1e6) + " ms";
    }
    const std::uint64_t seconds = ns / 1'000'000'000 + (ns % 1'000'000'000 >= 500'000'000 ? 1 : 0);
    if (seconds < 1'000) {
        return digits(value / 1e9) + " s";
    }
    return seconds < 3'600 ? fmt::format("{} min {:02} s", seconds / 60, seconds % 60)
                           : fmt::format("{} h {:02} min", seconds / 3'600, seconds / 60 % 60);
}

std::string rough_duration_text(std::uint64_t ns) {
    std::uint64_t unit = 1;
    while (ns / unit >= 100) {
        unit *= 10;
    }
    const std::uint64_t rounded = (ns + unit / 2) / unit * unit;
    if (rounded < 1'000) {
        return fmt::format("{} ns", rounded);
    }
    constexpr std::uint64_t kSecond = 1'000'000'000;
    if (rounded >= 600 * kSecond) {
        return duration_text(rounded);
    }
    const auto [of, name] = rounded < 1'000'000 ? std::pair(1e3, "us")
                            : rounded < kSecond ? std::pair(1e6, "ms")
                                                : std::pair(1e9, "s");
    const double value = static_cast<double>(rounded) / of;
    return value < 10 ? fmt::format("{:.1f} {}", value, name) : fmt::format("{:.0f} {}", value, name);
}

std::string bytes_text(std::uint64_t bytes) {
    if (bytes < 1'024) {
        return fmt::format("{} B", bytes);
    }
    double value = static_cast<double>(bytes) / 1'024;
    const char* unit = "KiB";
    for (const char* next : {"MiB", "GiB", "TiB", "PiB"}) {
        if (value < 1'023.5) {
            break;
        }
        value /= 1'024;
        unit = next;
    }
    const bool whole = value == static_cast<double>(static_cast<std::uint64_t>(value));
    return (whole ? count_text(static_cast<std::uint64_t>(value)) : digits(value)) + ' ' + unit;
}

std::string count_text(std::uint64_t number) {
    std::string text = std::to_string(number);
    for (std::size_t at = text.size(); at > 3;) {
        at -= 3;
        text.insert(at, 1, ',');
    }
    return text;
}

std::string percent_text(double part) {
    const double percent = part * 100;
    if (percent > 0 && percent < 0.01) {
        return "< 0.01 %";
    }
    return (percent < 1       ? fmt::format("{:.2f}", percent)
            : percent < 99.95 ? fmt::format("{:.1f}", percent)
                              : fmt::format("{:.0f}", percent)) +
           " %";
}

std::string counted(std::uint64_t number, std::string_view singular) {
    return count_text(number) + ' ' + std::string(singular) + (number == 1 ? "" : "s");
}

std::size_t columns(std::string_view text) {
    std::size_t width = 0;
    while (!text.empty()) {
        const std::string_view character = first_character(text);
        width += character_columns(character);
        text.remove_prefix(character.size());
    }
    return width;
}

std::string clip(std::string_view text, std::size_t width) {
    if (columns(text) <= width) {
        return std::string(text);
    }
    if (width == 0) {
        return "";
    }
    return std::string(without_trailing_spaces(text.substr(0, fitting(text, width - 1)))) + std::string(kEllipsis);
}

std::string clip_left(std::string_view text, std::size_t width) {
    std::size_t left = columns(text);
    if (left <= width) {
        return std::string(text);
    }
    if (width == 0) {
        return "";
    }
    // Combining marks go with the character before them.
    while (left > width - 1 || (!text.empty() && character_columns(first_character(text)) == 0)) {
        const std::string_view character = first_character(text);
        left -= character_columns(character);
        text.remove_prefix(character.size());
    }
    return std::string(kEllipsis) + std::string(text);
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
    width = std::max<std::size_t>(width, 2);  // a wide character must fit
    std::vector<std::string> lines;
    std::string line;
    std::size_t used = 0;
    const auto end_line = [&] {
        lines.push_back(std::move(line));
        line.clear();
        used = 0;
    };
    while (!text.empty()) {
        const std::size_t begin = text.find_first_not_of(' ');
        if (begin == text.npos) {
            break;
        }
        text.remove_prefix(begin);
        const std::size_t gap = used > 0 ? begin : 0;
        std::string_view word = text.substr(0, text.find(' '));
        text.remove_prefix(word.size());
        if (used > 0 && used + gap + columns(word) > width) {
            end_line();
        }
        while (columns(word) > width) {
            const std::size_t bytes = fitting(word, width);
            line = word.substr(0, bytes);
            end_line();
            word.remove_prefix(bytes);
        }
        if (!word.empty()) {
            line.append(used > 0 ? gap : 0, ' ');
            line += word;
            used = columns(line);
        }
    }
    if (!line.empty() || lines.empty()) {
        end_line();
    }
    return lines;
}

std::string painted(std::string_view text, Paint paint, bool color) {
    if (!color || paint == Paint::none) {
        return std::string(text);
    }
    const char* code = paint == Paint::good    ? "32;1"
                       : paint == Paint::bad   ? "31;1"
                       : paint == Paint::doubt ? "33;1"
                                               : "1";
    return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

void Lines::line(std::string_view text) {
    raw(clip(without_trailing_spaces(text), width_));
}

void Lines::raw(std::string_view line) {
    text_ += without_trailing_spaces(line);
    text_ += '\n';
}

void Lines::paragraph(std::string_view text, std::size_t indent, std::string_view label) {
    std::string before(label);
    const std::size_t label_columns = columns(label);
    if (label_columns > indent) {  // no room beside it
        line(label);
        before.clear();
    }
    before.append(indent - (label_columns > indent ? 0 : label_columns), ' ');
    for (const std::string& part : wrap(text, width_ > indent ? width_ - indent : 0)) {
        raw(before + part);
        before.assign(indent, ' ');
    }
}

void Lines::pair(std::string_view left, std::string_view right, std::size_t indent, std::size_t left_column) {
    const std::size_t used = columns(left);
    const std::size_t needed = columns(right);
    if (used + 2 + needed <= width_) {
        const std::size_t at =
            left_column == 0 ? width_ - needed : std::min(std::max(used + 2, left_column), width_ - needed);
        raw(std::string(left) + std::string(at - used, ' ') + std::string(right));
        return;
    }
    line(left);
    paragraph(right, indent, std::string(indent, ' '));
}

}  // namespace pincheck
