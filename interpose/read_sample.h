// What becomes of the pages of write-combined memory while reads of it are looked for (access_trap.h). Pure.
//
// A sample begins with all pages closed. Stores are what such memory is for, and a page that faults may not be told
// apart from its stores in any other way than by opening it. So a store opens its page, and closes the one that was
// opened before: whoever fills a buffer and then reads it back meets a closed page. After kMostStores all pages that no
// store went to are let go, and after as many again, or after kMostOthers of anything else, the sample ends: what a
// program pays for one is bounded, however much it stores.
//
// A store across the end of a page needs two at a time: a page that is asked for right after it was closed leaves the
// other one open.
#pragma once

#include <cstdint>
#include <span>

namespace pincheck {

class ReadSample {
  public:
    static constexpr std::uint32_t kMostStores = 8;
    static constexpr std::uint32_t kMostOthers = 8;
    static constexpr std::uint32_t kMostFaults = 2 * kMostStores + kMostOthers;

    enum class Then : std::uint8_t {
        go_on,
        narrow,  // only passed() is looked at from here on, but for what is_open()
        end,     // everything is opened, and nothing more of the sample is asked
    };
    struct Step {
        Then then = Then::go_on;
        std::uint32_t count = 0;
        std::uintptr_t close[2] = {};  // the first `count`
    };

    // Each after the page, or all pages of the access, were opened.
    Step stored(std::uintptr_t page) noexcept {
        if (is_open(page)) {
            return {};  // two threads at once
        }
        Step step;
        if (page == closed_[0] || page == closed_[1]) {
            open_[1] = open_[0];
            closed_[0] = closed_[1] = 0;
        } else {
            for (const std::uintptr_t other : open_) {
                if (other != 0) {
                    step.close[step.count++] = other;
                }
            }
            closed_[0] = step.close[0];
            closed_[1] = step.close[1];
            open_[1] = 0;
        }
        open_[0] = page;
        remember(page);
        if (++stores_ == 2 * kMostStores) {
            step.then = Then::end;
        } else if (stores_ == kMostStores) {
            step.then = Then::narrow;
        }
        return step;
    }
    // A read, or what is no single instruction of the program's.
    Step other() noexcept {
        Step step;
        step.then = ++others_ == kMostOthers ? Then::end : Then::go_on;
        return step;
    }

    bool is_open(std::uintptr_t page) const noexcept { return page == open_[0] || page == open_[1]; }
    // Pages that stores went to, each once.
    std::span<const std::uintptr_t> passed() const noexcept { return {passed_, passed_count_}; }

  private:
    void remember(std::uintptr_t page) noexcept {
        for (std::uint32_t i = 0; i < passed_count_; ++i) {
            if (passed_[i] == page) {
                return;
            }
        }
        if (passed_count_ < kMostStores) {
            passed_[passed_count_++] = page;
        }
    }

    // Page 0 is nobody's: no page.
    std::uintptr_t open_[2] = {};
    std::uintptr_t closed_[2] = {};  // by the last store
    std::uintptr_t passed_[kMostStores] = {};
    std::uint32_t passed_count_ = 0;
    std::uint32_t stores_ = 0;
    std::uint32_t others_ = 0;
};

}  // namespace pincheck
