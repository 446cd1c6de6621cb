#include "render_text_saving.h"

#include <fmt/format.h>

#include "render_text_layout.h"

namespace pincheck {

std::string saving_text(const Saving& saving) {
    return saving.state != Saving::State::given
               ? ""
               : fmt::format("Saves up to {} (median page-locked call here: under {}).", rough_duration_text(saving.ns),
                             rough_duration_text(saving.pinned_call_ns));
}

std::string full_saving_text(const Saving& saving) {
    switch (saving.state) {
        case Saving::State::none:
            return "";
        case Saving::State::given:
            return fmt::format(
                "up to {}, where {}. The median page-locked call of {} and up took under {} in this run.",
                rough_duration_text(saving.ns), saving.text, bytes_text(saving.pinned_size),
                rough_duration_text(saving.pinned_call_ns));
        case Saving::State::withheld:
            return "not estimated: " + saving.text + '.';
        case Saving::State::not_worth:
            break;
    }
    return "none: " + saving.text + '.';
}

}  // namespace pincheck
