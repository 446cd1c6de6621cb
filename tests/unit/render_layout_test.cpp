// Quantities and columns.
#include <gtest/gtest.h>

#include "analyzer/printable.h"
#include "analyzer/render_text_layout.h"
#include "analyzer/render_text_parts.h"

namespace pincheck::test {
namespace {

TEST(Quantities, durations_have_three_digits) {
    EXPECT_EQ(duration_text(0), "0 ns");
    EXPECT_EQ(duration_text(999), "999 ns");
    EXPECT_EQ(duration_text(1'000), "1.00 us");
    EXPECT_EQ(duration_text(9'996), "10.0 us");
    EXPECT_EQ(duration_text(123'456), "123 us");
    EXPECT_EQ(duration_text(999'499), "999 us");
    EXPECT_EQ(duration_text(999'500), "1.00 ms");
    EXPECT_EQ(duration_text(12'700'000), "12.7 ms");
    EXPECT_EQ(duration_text(999'499'999), "999 ms");
    EXPECT_EQ(duration_text(999'500'000), "1.00 s");
    EXPECT_EQ(duration_text(214'000'000'000), "214 s");
    EXPECT_EQ(duration_text(1'000'000'000'000), "16 min 40 s");
    EXPECT_EQ(duration_text(3'720'000'000'000), "1 h 02 min");
    EXPECT_EQ(duration_text(UINT64_MAX), "5124095 h 34 min");
}

TEST(Quantities, bytes_are_binary) {
    EXPECT_EQ(bytes_text(0), "0 B");
    EXPECT_EQ(bytes_text(1'023), "1023 B");
    EXPECT_EQ(bytes_text(1'024), "1 KiB");
    EXPECT_EQ(bytes_text(1'536), "1.50 KiB");
    EXPECT_EQ(bytes_text((1 << 20) - 1), "1.00 MiB");
    EXPECT_EQ(bytes_text(64 << 20), "64 MiB");
    EXPECT_EQ(bytes_text(1'288'490'188), "1.20 GiB");
    EXPECT_EQ(bytes_text(UINT64_MAX), "16,384 PiB");
}

TEST(Quantities, counts_have_separators) {
    EXPECT_EQ(count_text(0), "0");
    EXPECT_EQ(count_text(999), "999");
    EXPECT_EQ(count_text(1'000), "1,000");
    EXPECT_EQ(count_text(UINT64_MAX), "18,446,744,073,709,551,615");
    EXPECT_EQ(counted(1, "call"), "1 call");
    EXPECT_EQ(counted(0, "call"), "0 calls");
}

TEST(Quantities, shares) {
    EXPECT_EQ(percent_text(0.128), "12.8 %");
    EXPECT_EQ(percent_text(0.0002), "0.02 %");
    EXPECT_EQ(percent_text(0.00001), "< 0.01 %");
    EXPECT_EQ(percent_text(0), "0.00 %");
    EXPECT_EQ(percent_text(1), "100 %");
}

TEST(Columns, count_what_a_terminal_shows) {
    EXPECT_EQ(columns("abc"), 3u);
    EXPECT_EQ(columns("é"), 1u);
    EXPECT_EQ(columns("e\xcc\x81"), 1u) << "combining";
    EXPECT_EQ(columns("日本"), 4u);
    EXPECT_EQ(columns("𝄞…"), 2u);
    EXPECT_EQ(columns("🚀"), 2u);
}

TEST(Columns, cut_between_characters) {
    EXPECT_EQ(clip("abcdef", 6), "abcdef");
    EXPECT_EQ(clip("abcdef", 5), "abcd…");
    EXPECT_EQ(clip("日本語", 5), "日本…");
    EXPECT_EQ(clip("日本語", 4), "日…") << "half a character is none";
    EXPECT_EQ(clip("abc def", 5), "abc…") << "no space at the end";
    EXPECT_EQ(clip("abc", 0), "");
    EXPECT_EQ(clip_left("abcdef", 5), "…cdef");
    EXPECT_EQ(clip_left("日本語", 4), "…語");
    EXPECT_EQ(clip_left("xye\xcc\x81z", 2), "…z");
    EXPECT_EQ(clip_left("xe\xcc\x81z", 2), "…z") << "a mark does not lose its letter";
}

TEST(Columns, paths_are_cut_between_components) {
    EXPECT_EQ(clip_path("/home/user/src/a.cu:1", 40), "/home/user/src/a.cu:1");
    EXPECT_EQ(clip_path("/home/user/src/a.cu:1", 14), "…/src/a.cu:1");
    EXPECT_EQ(clip_path("a-very-long-name.cu:1", 9), "…ame.cu:1");
}

TEST(Wrap, breaks_at_spaces) {
    using Strings = std::vector<std::string>;
    EXPECT_EQ(wrap("", 10), Strings{""});
    EXPECT_EQ(wrap("one two three", 7), (Strings{"one two", "three"}));
    EXPECT_EQ(wrap("one  two", 20), Strings{"one  two"}) << "inner spaces stay";
    EXPECT_EQ(wrap("one  two", 4), (Strings{"one", "two"}));
    EXPECT_EQ(wrap(" abcdefgh ij ", 3), (Strings{"abc", "def", "gh", "ij"})) << "longer words are broken";
    EXPECT_EQ(wrap("日本語", 1), (Strings{"日", "本", "語"})) << "never inside a character";
}

TEST(Lines, put_right_texts_where_they_fit) {
    Lines lines(20, false);
    lines.pair("  left", "right", 2);
    lines.pair("  left", "right", 2, 10);
    lines.pair("  left and more", "right", 2);
    EXPECT_EQ(lines.take(), "  left         right\n  left    right\n  left and more\n  right\n");
}

TEST(Lines, labels_stand_before_paragraphs) {
    Lines lines(12, false);
    lines.paragraph("one two three", 6, "Label");
    lines.paragraph("x", 3, "Longer");
    EXPECT_EQ(lines.take(), "Label one\n      two\n      three\nLonger\n   x\n");
}

TEST(ShellWord, can_be_pasted) {
    EXPECT_EQ(shell_word("a/b-c.pcr"), "a/b-c.pcr");
    EXPECT_EQ(shell_word("a b"), "'a b'");
    EXPECT_EQ(shell_word("it's"), R"('it'\''s')");
    EXPECT_EQ(shell_word(""), "''");
    EXPECT_EQ(shell_word("a\nb'"), R"($'a\x0ab\'')");
    EXPECT_EQ(shell_word("$(x)"), "'$(x)'");
}

}  // namespace
}  // namespace pincheck::test
