#include "printable.h"

#include <cstdint>

namespace pincheck {
namespace {

// One character at the start of a text: how many bytes, and its code point; 0 bytes when it is not valid UTF-8.
struct Character {
    std::size_t bytes;
    std::uint32_t code;
};

Character first_character(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
    const std::uint8_t lead = byte(0);
    if (lead < 0x80) {
        return {1, lead};
    }
    const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) {
        return {0, 0};
    }
    std::uint32_t code = lead & (0x7fu >> bytes);
    for (std::size_t i = 1; i < bytes; ++i) {
        if ((byte(i) & 0xc0) != 0x80) {
            return {0, 0};
        }
        code = (code << 6) | (byte(i) & 0x3fu);
    }
    constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const bool surrogate = code >= 0xd800 && code <= 0xdfff;
    return code < kSmallest[bytes] || code > 0x10ffff || surrogate ? Character{0, 0} : Character{bytes, code};
}

bool harmless(std::uint32_t code) {
    const auto in = [code](std::uint32_t first, std::uint32_t last) { return code >= first && code <= last; };
    return !(code < 0x20 || in(0x7f, 0x9f) ||                               // C0, DEL, C1
             code == 0xad || code == 0x61c || code == 0x180e ||             // soft hyphen, Arabic mark, vowel separator
             in(0x200b, 0x200f) || in(0x2028, 0x202e) ||                    // zero width, marks, separators, embeddings
             in(0x2060, 0x206f) || code == 0xfeff || in(0xfff9, 0xfffb) ||  // joiners, isolates, BOM, annotations
             in(0xe0000, 0xe007f));                                         // tags
}

std::string escape(std::string_view text, std::string_view also_hex) {
    std::string result;
    result.reserve(text.size());
    const auto hex = [&](std::string_view bytes) {
        for (const char c : bytes) {
            const auto byte = static_cast<std::uint8_t>(c);
            result += "\\x";
            result += "0123456789abcdef"[byte >> 4];
            result += "0123456789abcdef"[byte & 15];
        }
    };
    while (!text.empty()) {
        const Character character = first_character(text);
        const std::string_view bytes = text.substr(0, character.bytes == 0 ? 1 : character.bytes);
        if (character.bytes == 0 || !harmless(character.code) || also_hex.find(bytes[0]) != also_hex.npos) {
            hex(bytes);
        } else if (bytes == "\\") {
            result += "\\\\";
        } else {
            result += bytes;
        }
        text.remove_prefix(bytes.size());
    }
    return result;
}

}  // namespace

std::string printable(std::string_view text) {
    return escape(text, "");
}

std::string quoted(std::string_view text) {
    return '"' + escape(text, "\"") + '"';
}

std::string token(std::string_view text) {
    return escape(text, " ,=[]\"");
}

}  // namespace pincheck
