#include "options.h"

#include <elf.h>

#include <cstddef>

#include "elf_objects.h"
#include "report/rank_variables.h"

// Where the kernel put argc, argv, the environment and the auxiliary vector. Valid from the first instruction of the
// loader on, unlike environ (libc sets it in its own constructor).
extern "C" void* __libc_stack_end;

namespace pincheck {
namespace {

struct Value {
    const char* text;
    std::size_t length;
};

// Own loops instead of libc's: this may run before a sanitizer that intercepts them is initialised.
std::size_t length_of(const char* text) noexcept {
    std::size_t length = 0;
    while (text[length] != '\0') {
        ++length;
    }
    return length;
}

bool equals(Value value, const char* text) noexcept {
    for (std::size_t i = 0; i < value.length; ++i) {
        if (text[i] != value.text[i]) {
            return false;
        }
    }
    return text[value.length] == '\0';
}

void copy(char* target, std::size_t size, Value value) noexcept {
    const std::size_t length = value.length < size - 1 ? value.length : size - 1;
    for (std::size_t i = 0; i < length; ++i) {
        target[i] = value.text[i];
    }
    target[length] = '\0';
}

bool parse_switch(Value value, bool& target) noexcept {
    if (equals(value, "on") || equals(value, "1")) {
        target = true;
        return true;
    }
    if (equals(value, "off") || equals(value, "0")) {
        target = false;
        return true;
    }
    return false;
}

bool parse_number(Value value, std::uint32_t low, std::uint32_t high, std::uint32_t& target) noexcept {
    std::uint32_t number = 0;
    if (value.length == 0 || value.length > 6) {
        return false;
    }
    for (std::size_t i = 0; i < value.length; ++i) {
        if (value.text[i] < '0' || value.text[i] > '9') {
            return false;
        }
        number = number * 10 + static_cast<std::uint32_t>(value.text[i] - '0');
    }
    if (number < low || number > high) {
        return false;
    }
    target = number;
    return true;
}

bool apply(Options& options, Value key, Value value, const char*& expected) noexcept {
    if (equals(key, "output")) {
        expected = "a file name of at most 511 bytes";
        copy(options.output, sizeof(options.output), value);
        return value.length > 0 && value.length < sizeof(options.output);
    }
    if (equals(key, "depth")) {
        expected = "a number from 1 to 64";
        return parse_number(value, 1, 64, options.depth);
    }
    if (equals(key, "threshold")) {
        expected = "microseconds, a number from 1 to 999999";
        return parse_number(value, 1, 999999, options.threshold_us);
    }
    if (equals(key, "verbosity")) {
        expected = "0, 1 or 2";
        std::uint32_t number = 1;
        const bool good = parse_number(value, 0, 2, number);
        options.verbosity = good ? static_cast<int>(number) : options.verbosity;
        return good;
    }
    if (equals(key, "cmdline")) {
        expected = "full or name";
        if (!equals(value, "full") && !equals(value, "name")) {
            return false;
        }
        options.full_command_line = equals(value, "full");
        return true;
    }
    if (equals(key, "cupti")) {
        expected = "copies, full or off";
        constexpr struct {
            const char* name;
            CuptiUse use;
        } kUses[] = {{"copies", CuptiUse::copies}, {"full", CuptiUse::full}, {"off", CuptiUse::off}};
        for (const auto& entry : kUses) {
            if (equals(value, entry.name)) {
                options.cupti = entry.use;
                return true;
            }
        }
        return false;
    }
    if (equals(key, "races")) {
        expected = "trap, watch (watch,pageable), order or off";
        constexpr struct {
            const char* name;
            RaceUse use;
            bool pageable;
        } kUses[] = {{"off", RaceUse::off, false},
                     {"order", RaceUse::order, false},
                     {"watch", RaceUse::watch, false},
                     {"watch,pageable", RaceUse::watch, true},
                     {"trap", RaceUse::trap, false}};
        for (const auto& entry : kUses) {
            if (equals(value, entry.name)) {
                options.races = entry.use;
                options.watch_pageable = entry.pageable;
                return true;
            }
        }
        return false;
    }
    if (equals(key, "sample")) {
        expected = "cost or count";
        if (!equals(value, "cost") && !equals(value, "count")) {
            return false;
        }
        options.sample = equals(value, "count") ? WatchSampling::count : WatchSampling::cost;
        return true;
    }
    if (equals(key, "budget")) {
        expected = "percent, a number from 1 to 100";
        return parse_number(value, 1, 100, options.budget_percent);
    }
    expected = "on or off";
    if (equals(key, "stacks")) {
        return parse_switch(value, options.stacks);
    }
    if (equals(key, "exports")) {
        return parse_switch(value, options.exports);
    }
    if (equals(key, "dlsym")) {
        return parse_switch(value, options.dlsym);
    }
    expected = nullptr;
    return false;
}

// "unknown option 'x' in PINCHECK_OPTIONS; …" without the standard library's formatting.
void complain(Options& options, Value key, const char* expected) noexcept {
    std::size_t used = 0;
    const auto put = [&](Value part) {
        for (std::size_t i = 0; i < part.length && used + 1 < sizeof(options.complaint); ++i) {
            const char c = part.text[i];
            options.complaint[used++] = c >= ' ' && c < 0x7f ? c : '?';
        }
        options.complaint[used] = '\0';
    };
    const auto text = [](const char* s) { return Value{s, length_of(s)}; };
    if (expected == nullptr) {
        put(text("unknown option '"));
        put(key.length > 64 ? Value{key.text, 64} : key);
        put(
            text("' in PINCHECK_OPTIONS is ignored; known: output stacks depth threshold exports dlsym cupti cmdline "
                 "verbosity"));
    } else {
        put(text("option '"));
        put(key);
        put(text("' in PINCHECK_OPTIONS is ignored: it takes "));
        put(text(expected));
    }
}

const char* const* start_vector() noexcept {
    return static_cast<const char* const*>(__libc_stack_end);
}

const char* const* environment() noexcept {
    const char* const* words = start_vector();
    const auto argc = reinterpret_cast<std::uintptr_t>(words[0]);
    return words + 1 + argc + 1;
}

// Calls `visit(key, value)` for each key=value of `text`.
template <class F>
void for_each_option(const char* text, F&& visit) noexcept {
    while (*text != '\0') {
        const char* end = text;
        const char* equal = nullptr;
        for (; *end != '\0' && *end != ':'; ++end) {
            if (*end == '=' && equal == nullptr) {
                equal = end;
            }
        }
        if (end != text) {
            visit(Value{text, static_cast<std::size_t>((equal != nullptr ? equal : end) - text)},
                  equal != nullptr ? Value{equal + 1, static_cast<std::size_t>(end - equal - 1)} : Value{end, 0});
        }
        text = *end == ':' ? end + 1 : end;
    }
}

// One switch alone, for the time before the constructor: no large object, no libc.
bool early_switch(const char* name) noexcept {
    bool wanted = true;
    const char* text = start_environment("PINCHECK_OPTIONS");
    if (text != nullptr) {
        for_each_option(text, [&](Value key, Value value) {
            if (equals(key, name)) {
                parse_switch(value, wanted);
            }
        });
    }
    return wanted;
}

}  // namespace

bool is_set_id() noexcept {
    const char* const* word = environment();
    while (*word != nullptr) {
        ++word;
    }
    // For a set-id process the loader takes variables out of the environment, which leaves as many null words behind
    // it.
    while (*word == nullptr) {
        ++word;
    }
    for (const auto* entry = reinterpret_cast<const Elf64_auxv_t*>(word); entry->a_type != AT_NULL; ++entry) {
        if (entry->a_type == AT_SECURE) {
            return entry->a_un.a_val != 0;
        }
    }
    return false;
}

Options parse_options(const char* text) noexcept {
    Options result;
    if (text == nullptr) {
        return result;
    }
    copy(result.text, sizeof(result.text), Value{text, length_of(text)});
    for_each_option(text, [&](Value key, Value value) {
        const char* expected = nullptr;
        const Options before = result;
        if (!apply(result, key, value, expected)) {
            result = before;
            if (result.complaint[0] == '\0') {
                complain(result, key, expected);
            }
        }
    });
    return result;
}

const char* start_environment(const char* name) noexcept {
    if (is_set_id()) {
        return nullptr;
    }
    for (const char* const* entry = environment(); *entry != nullptr; ++entry) {
        const char* text = *entry;
        const char* wanted = name;
        while (*wanted != '\0' && *text == *wanted) {
            ++text;
            ++wanted;
        }
        if (*wanted == '\0' && *text == '=') {
            return text + 1;
        }
    }
    return nullptr;
}

const Start& start_settings() noexcept {
    static const Start settings = [] {
        Start start;
        start.options = parse_options(start_environment("PINCHECK_OPTIONS"));
        const char* temporary = start_environment("TMPDIR");
        if (temporary != nullptr && temporary[0] == '/') {
            copy(start.temporary_directory, sizeof(start.temporary_directory), {temporary, length_of(temporary)});
        }
        const char* rank = report::rank_of_job([](const char* name) { return start_environment(name); }).text;
        if (rank != nullptr) {
            copy(start.rank, sizeof(start.rank), {rank, length_of(rank)});
        }
        return start;
    }();
    return settings;
}

bool exports_wanted() noexcept {
    return has_process_started() ? options().exports : early_switch("exports");
}
bool dlsym_wanted() noexcept {
    return has_process_started() ? options().dlsym : early_switch("dlsym");
}

}  // namespace pincheck
