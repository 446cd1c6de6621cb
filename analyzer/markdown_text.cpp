#include "markdown_text.h"

namespace pincheck {

std::string html(std::string_view text) {
    std::string result;
    for (const char c : text) {
        result += c == '&'   ? "&amp;"
                  : c == '<' ? "&lt;"
                  : c == '>' ? "&gt;"
                  : c == '"' ? "&quot;"
                  : c == '@' ? "&#64;"  // would call somebody
                             : std::string(1, c);
    }
    return result;
}

std::string markdown(std::string_view text) {
    constexpr std::string_view kMarkup = "\\`*_{}[]#|~!$";
    std::string result;
    for (const char c : text) {
        if (kMarkup.find(c) != kMarkup.npos) {
            result += '\\';
            result += c;
        } else {
            result += c == ':' ? "&#58;"  // would make links and emoji
                               : html(std::string(1, c));
        }
    }
    return result;
}

}  // namespace pincheck
