// Quantities for people, and text in columns. Pure. Texts are valid UTF-8 (printable.h sees to that); widths are
// terminal columns. Nothing here cuts a character.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pincheck {

// ---- Quantities, three significant digits unless said

std::string duration_text(std::uint64_t ns);  // "870 ns", "12.7 ms", "27.3 s", "1 h 02 min"
// Of an estimate: two significant digits, "5.3 s", "33 us", "120 ms".
std::string rough_duration_text(std::uint64_t ns);
std::string bytes_text(std::uint64_t bytes);   // "4 B", "1.20 GiB"
std::string count_text(std::uint64_t number);  // "6,240"
std::string percent_text(double part);         // of 1: "12.8 %", "0.02 %"
// "1 call", "6,240 calls"; the plural is the singular and an s.
std::string counted(std::uint64_t number, std::string_view singular);

// ---- Columns

// How many columns the text takes: two for wide characters, none for combining ones.
std::size_t columns(std::string_view text);
// At most `width` columns: the start and "…", or for clip_left "…" and the end.
std::string clip(std::string_view text, std::size_t width);
std::string clip_left(std::string_view text, std::size_t width);
// At spaces, which are kept inside a line; a word longer than the width is broken. Never empty.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

// ---- Lines

enum class Paint { none, good, bad, doubt, strong };  // green, red, yellow, bold
std::string painted(std::string_view text, Paint paint, bool color);

// Lines of one width, without trailing spaces.
class Lines {
  public:
    Lines(std::size_t width, bool color) : width_(width), color_(color) {}

    std::size_t width() const noexcept { return width_; }
    bool color() const noexcept { return color_; }
    void empty_line() { text_ += '\n'; }
    // One line as it is, cut to the width. Not for painted text.
    void line(std::string_view text);
    // Wrapped, every line behind `indent` spaces, the first behind `label` instead.
    void paragraph(std::string_view text, std::size_t indent, std::string_view label = "");
    // Left and right in one line with at least two spaces between them; when they do not fit, the right text wrapped
    // below, behind `indent` spaces. `left_column`: where the right text begins at the earliest, 0: it ends at the
    // width.
    void pair(std::string_view left, std::string_view right, std::size_t indent, std::size_t left_column = 0);
    // Already laid out by the caller, painted or not.
    void raw(std::string_view line);

    std::string take() { return std::move(text_); }

  private:
    std::string text_;
    std::size_t width_;
    bool color_;
};

}  // namespace pincheck
