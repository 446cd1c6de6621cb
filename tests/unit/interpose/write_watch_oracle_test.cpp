// Random watches over slabs, with neighbours on shared pages, against a model that keeps every byte and every page of
// every watch.
#include <map>
#include <random>
#include <set>
#include <vector>

#include "write_watch_fixture.h"

namespace pincheck {
namespace {

constexpr std::size_t kPages = 24;
constexpr std::size_t kBytes = kPages * kPage;

struct Range {
    std::size_t begin;
    std::size_t end;
};

// What a watch has to say, from the rules in write_watch.h alone.
struct Model {
    WatchTicket ticket;
    WatchedSide side{};
    Range bytes{};
    Range pages{};  // bytes too, whole pages
    bool released = false;
    std::vector<bool> changed = std::vector<bool>(kBytes);
    std::set<std::size_t> written_pages;  // by anyone
    std::uint64_t last_mark = 0;
    std::uint64_t found_mark = 0;
    std::uint64_t before_mark = 0;
    bool found = false;

    bool owns(std::size_t page) const { return page * kPage >= bytes.begin && (page + 1) * kPage <= bytes.end; }
    bool dirty_in(std::size_t page) const {
        if (owns(page)) {
            return written_pages.count(page) != 0;
        }
        if (side == WatchedSide::destination) {
            return false;
        }
        for (std::size_t i = std::max(page * kPage, bytes.begin); i < std::min((page + 1) * kPage, bytes.end); ++i) {
            if (changed[i]) {
                return true;
            }
        }
        return false;
    }
    void scanned(Range range, std::uint64_t mark) {
        if (released || range.begin >= pages.end || range.end <= pages.begin) {
            return;
        }
        for (std::size_t page = range.begin / kPage; page < range.end / kPage && !found; ++page) {
            if (page * kPage >= pages.begin && page * kPage < pages.end && dirty_in(page)) {
                found = true;
                found_mark = mark;
                before_mark = last_mark;
            }
        }
        if (range.begin <= pages.begin && range.end >= pages.end) {
            last_mark = mark;
        }
    }
    // Merged, relative to the buffer; and how many pages.
    std::vector<Range> dirty(std::size_t& count) const {
        std::vector<bool> all(kBytes);
        count = 0;
        for (std::size_t page = pages.begin / kPage; page < pages.end / kPage; ++page) {
            if (!dirty_in(page)) {
                continue;
            }
            ++count;
            std::size_t first = std::max(page * kPage, bytes.begin);
            std::size_t last = std::min((page + 1) * kPage, bytes.end);
            if (!owns(page)) {
                while (!changed[first]) {
                    ++first;
                }
                while (!changed[last - 1]) {
                    --last;
                }
            }
            std::fill(all.begin() + static_cast<long>(first), all.begin() + static_cast<long>(last), true);
        }
        std::vector<Range> result;
        for (std::size_t i = bytes.begin; i < bytes.end; ++i) {
            if (all[i]) {
                if (result.empty() || result.back().end != i - bytes.begin) {
                    result.push_back({i - bytes.begin, i - bytes.begin});
                }
                ++result.back().end;
            }
        }
        return result;
    }
};

class Trial {
  public:
    // `pageable`: no memory is added, and only sources are watched.
    Trial(Kind kind, unsigned seed, bool pageable) : slab_(kind, kPages), random_(seed), pageable_(pageable) {
        watch_.open(WatchSettings{});
    }
    bool can_run() const { return watch_.refusal() == WatchRefusal::none; }
    void run(int steps) {
        for (int i = 0; i < 4 && !pageable_; ++i) {
            add(i);
        }
        for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
            ++mark_;
            switch (below(12)) {
                case 0:
                case 1:
                case 2:
                    arm();
                    break;
                case 3:
                case 4:
                    look(true);
                    break;
                case 5:
                    look(false);
                    break;
                case 6:
                    if (!pageable_ && below(8) == 0) {
                        replace();
                    }
                    break;
                default:
                    write();
                    break;
            }
        }
        while (!models_.empty() && !testing::Test::HasFailure()) {
            ++mark_;
            look(true);
        }
    }
    std::uint64_t inexact = 0;
    std::uint64_t written = 0;
    std::uint64_t clean = 0;

  private:
    std::size_t below(std::size_t limit) { return random_() % limit; }
    // Four ranges, no boundary at a page's: the pages between two belong to both.
    static Range memory(std::size_t index) {
        constexpr std::size_t kCuts[] = {100, 7 * kPage - 90, 7 * kPage + 90, 15 * kPage + 2000, kBytes - 60};
        return {kCuts[index], kCuts[index + 1]};
    }
    void add(std::size_t index) {
        const Range range = memory(index);
        ASSERT_EQ(watch_.add_memory(slab_.at(range.begin), range.end - range.begin), MemoryState::registered);
    }
    void replace() {
        const std::size_t index = below(4);
        const Range range = memory(index);
        std::uint32_t in_it = 0;
        // It looks for each watch of the range in turn, and nothing is written in between.
        std::vector<Model*> ending;
        for (Model& model : models_) {
            if (!model.released && model.bytes.begin >= range.begin && model.bytes.end <= range.end) {
                ending.push_back(&model);
                ++in_it;
            }
        }
        for (Model* model : ending) {
            for (Model& other : models_) {
                other.scanned(model->pages, mark_);
            }
        }
        for (Model* model : ending) {
            model->released = true;
        }
        ASSERT_EQ(watch_.remove_memory(slab_.at(range.begin), mark_), in_it);
        add(index);
    }
    void arm() {
        if (models_.size() > 40) {
            return;
        }
        const Range range = memory(below(4));
        const std::size_t begin = range.begin + below(range.end - range.begin);
        std::size_t end = begin + 1 + below(range.end - begin);
        if (below(3) == 0) {
            end = std::min(end, begin + 300);
        }
        Model model;
        model.side = !pageable_ && below(3) == 0 ? WatchedSide::destination : WatchedSide::source;
        model.bytes = {begin, end};
        const bool whole = model.side == WatchedSide::destination;
        model.pages = whole ? Range{page_ceil(begin), page_floor(end)} : Range{page_floor(begin), page_ceil(end)};
        model.last_mark = mark_;
        const Armed result = watch_.arm({slab_.at(begin), end - begin, model.side, false, mark_, pageable_});
        if (model.pages.begin >= model.pages.end) {
            ASSERT_FALSE(result);
            return;
        }
        ASSERT_TRUE(result);
        model.ticket = result.ticket;
        for (Model& other : models_) {
            other.scanned(model.pages, mark_);
        }
        models_.push_back(model);
    }
    void look(bool retire) {
        if (models_.empty()) {
            return;
        }
        const std::size_t index = below(models_.size());
        Model& model = models_[index];
        const WatchFinding finding = retire ? watch_.retire(model.ticket, mark_) : watch_.check(model.ticket, mark_);
        if (!model.released) {
            const Range pages = model.pages;
            for (Model& other : models_) {
                other.scanned(pages, mark_);
            }
        }
        compare(model, finding);
        if (retire) {
            models_.erase(models_.begin() + static_cast<long>(index));
        }
    }
    void compare(const Model& model, const WatchFinding& finding) {
        std::size_t pages = 0;
        const std::vector<Range> dirty = model.dirty(pages);
        std::size_t bytes = 0;
        for (const Range& range : dirty) {
            bytes += range.end - range.begin;
        }
        ASSERT_EQ(finding.end, model.released ? WatchEnd::released : WatchEnd::complete);
        ASSERT_EQ(finding.written(), !dirty.empty());
        ASSERT_EQ(finding.written(), model.found);
        ++(dirty.empty() ? clean : written);
        if (dirty.empty()) {
            return;
        }
        ASSERT_EQ(finding.begin, dirty[0].begin);
        ASSERT_EQ(finding.end_byte, dirty[0].end);
        ASSERT_EQ(finding.found_mark, model.found_mark);
        ASSERT_EQ(finding.before_mark, model.before_mark);
        if (finding.exact) {
            ASSERT_EQ(finding.written_bytes, bytes);
            ASSERT_EQ(finding.written_pages, pages);
        } else {
            ++inexact;
            ASSERT_GE(finding.written_bytes, bytes);
            ASSERT_GE(finding.written_pages, pages);
        }
    }
    // Adds one to each byte, so that none comes back to its value (no byte is written 256 times in a watch's life:
    // watches live for some 40 steps).
    void write() {
        const std::size_t begin = below(kBytes);
        const std::size_t longest = below(4) == 0 ? 3 * kPage : 40;
        const std::size_t end = std::min(kBytes, begin + 1 + below(longest));
        for (std::size_t i = begin; i < end; ++i) {
            slab_.write(i, static_cast<unsigned char>(slab_[i] + 1));
        }
        for (Model& model : models_) {
            if (model.released) {
                continue;
            }
            for (std::size_t i = begin; i < end; ++i) {
                model.changed[i] = true;
            }
            for (std::size_t page = begin / kPage; page <= (end - 1) / kPage; ++page) {
                model.written_pages.insert(page);
            }
        }
    }

    WriteWatch watch_;
    Slab slab_;
    std::mt19937 random_;
    const bool pageable_;
    std::vector<Model> models_;
    std::uint64_t mark_ = 0;
};

TEST(WriteWatchOracle, agreesWithAModelOfEveryByte) {
    std::uint64_t written = 0;
    std::uint64_t clean = 0;
    for (const Kind kind : {Kind::shared, Kind::anonymous}) {
        for (unsigned seed = 1; seed <= 80; ++seed) {
            Trial trial(kind, seed, seed > 40);
            if (!trial.can_run()) {
                GTEST_SKIP() << "the kernel does not help here";
            }
            SCOPED_TRACE(testing::Message() << "seed " << seed << (kind == Kind::shared ? " shared" : " anonymous"));
            trial.run(300);
            ASSERT_FALSE(HasFailure());
            written += trial.written;
            clean += trial.clean;
        }
    }
    // Both answers were given often: the model is no constant.
    EXPECT_GT(written, 1000u);
    EXPECT_GT(clean, 500u);
}

}  // namespace
}  // namespace pincheck
