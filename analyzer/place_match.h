// Which places of one fingerprint are the same in two runs: those that are in both; and of the rest, whose lines must
// have moved, as many as both have. Which of these is which nobody can tell.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace pincheck {

class PlaceMatch {
  public:
    PlaceMatch(std::set<std::string> then, const std::set<std::string>& now) : then_(std::move(then)) {
        for (const std::string& place : now) {
            moved_now_ += then_.contains(place) ? 0 : 1;
        }
        moved_then_ = then_.size() + moved_now_ - now.size();
    }

    bool was_there(const std::string& place) const { return then_.contains(place); }
    std::size_t moved_then() const noexcept { return moved_then_; }  // places of then that are not there now
    std::size_t moved_now() const noexcept { return moved_now_; }    // and the other way round
    // Some of the moved ones are new; nobody can tell which, so that none counts as known.
    bool has_more_now() const noexcept { return moved_now_ > moved_then_; }

  private:
    std::set<std::string> then_;
    std::size_t moved_now_ = 0;
    std::size_t moved_then_ = 0;
};

}  // namespace pincheck
