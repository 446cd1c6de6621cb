// Which watches are on which pages. The dirty bit of a page is one for all that watch it, so before it is cleared all
// of these must be found, and protection may be lifted only where none is left.
//
// A watch is one node of a search tree (a treap, by first page) with the highest end below it, not an entry for each
// page: a copy of 64 MiB has 16,384. Finding the watches on a range costs O(log watches + those found).
//
// Plain data: nothing here touches the watched memory. Callers lock. No heap: at most kMaxWatches watches, mapped 256
// at a time.
#pragma once

#include <cstdint>

#include "chunk_array.h"
#include "dirty_ranges.h"

namespace pincheck {

enum class WatchedSide : std::uint8_t {
    source,
    destination,
    reads,  // of no copy: memory whose reads are looked for (AccessTrap)
};

// The part of a source in a page that it shares.
struct WatchEdge {
    std::uintptr_t begin;
    std::uint32_t bytes;  // 0: there is none
    std::uint32_t block;  // of EdgeBytes; 0: not saved, so not watched
    bool written;
};

struct Watch {
    std::uintptr_t begin = 0;
    std::uint64_t bytes = 0;
    // Protected pages; none: judged by its checksum alone.
    std::uintptr_t first_page = 0;
    std::uintptr_t end_page = 0;

    std::uint32_t index = 0;       // in the table; stays with the slot
    std::uint32_t generation = 0;  // of the slot's use; stays with it
    WatchedSide side{};
    std::uint8_t end = 0;  // WatchEnd, once it is known before the watch is retired
    bool in_tree = false;
    bool by_checksum = false;
    bool pageable = false;  // its pages are registered for it
    bool found = false;     // found_… and before_… say something
    WatchEdge head{};
    WatchEdge tail{};
    std::uint64_t interior_bytes = 0;  // written, in whole pages
    std::uint64_t unwatched_bytes = 0;
    std::uint64_t checksum = 0;
    std::uint64_t last_mark = 0;  // of the last scan of all its pages, as the next
    std::uint64_t last_ns = 0;    // before it began
    std::uint64_t found_mark = 0;
    std::uint64_t found_ns = 0;
    std::uint64_t before_mark = 0;
    std::uint64_t before_ns = 0;
    DirtyRanges dirty;

    // WatchPages
    std::uint32_t left = 0;
    std::uint32_t right = 0;  // or the next free one
    std::uint32_t priority = 0;
    std::uintptr_t tree_begin = 0;
    std::uintptr_t tree_end = 0;
    std::uintptr_t highest_end = 0;  // in this subtree
};

class WatchPages {
  public:
    static constexpr std::uint32_t kMaxWatches = 4096;

    // Null when the cap is reached or memory refused.
    Watch* make() noexcept;
    // Not in the tree any more.
    void recycle(Watch& watch) noexcept;
    // Null: the slot was used again, or never.
    Watch* find(std::uint32_t index, std::uint32_t generation) const noexcept;

    // [begin, end) is not empty.
    void insert(Watch& watch, std::uintptr_t begin, std::uintptr_t end) noexcept;
    void remove(Watch& watch) noexcept;

    // Calls visit(Watch&) for what overlaps [begin, end), by first page, until it returns false.
    template <class F>
    bool for_each(std::uintptr_t begin, std::uintptr_t end, F&& visit) const noexcept {
        return visit_tree(root_, begin, end, visit);
    }
    bool any(std::uintptr_t begin, std::uintptr_t end) const noexcept {
        return !for_each(begin, end, [](Watch&) { return false; });
    }
    // Calls visit(begin, end) for the longest runs of [begin, end) that no watch with protected pages is on.
    template <class F>
    void for_each_gap(std::uintptr_t begin, std::uintptr_t end, F&& visit) const noexcept {
        std::uintptr_t covered = begin;
        for_each(begin, end, [&](Watch& watch) {
            if (watch.first_page >= watch.end_page) {
                return true;
            }
            if (watch.first_page > covered) {
                visit(covered, watch.first_page);
            }
            covered = watch.end_page > covered ? watch.end_page : covered;
            return covered < end;
        });
        if (covered < end) {
            visit(covered, end);
        }
    }
    std::uint32_t size() const noexcept { return size_; }

  private:
    Watch& at(std::uint32_t index) const noexcept { return watches_.at(index); }
    void update(Watch& watch) const noexcept;
    static bool before(const Watch& left, const Watch& right) noexcept {
        return left.tree_begin != right.tree_begin ? left.tree_begin < right.tree_begin : left.index < right.index;
    }
    void split(std::uint32_t tree, const Watch& key, std::uint32_t& less, std::uint32_t& rest) const noexcept;
    std::uint32_t merge(std::uint32_t less, std::uint32_t rest) const noexcept;
    std::uint32_t inserted(std::uint32_t tree, Watch& watch) const noexcept;
    std::uint32_t removed(std::uint32_t tree, const Watch& watch) const noexcept;

    template <class F>
    bool visit_tree(std::uint32_t tree, std::uintptr_t begin, std::uintptr_t end, F& visit) const noexcept {
        while (tree != 0) {
            Watch& watch = at(tree);
            if (watch.highest_end <= begin) {
                return true;
            }
            if (!visit_tree(watch.left, begin, end, visit)) {
                return false;
            }
            if (watch.tree_begin >= end) {
                return true;
            }
            const std::uint32_t right = watch.right;
            if (watch.tree_end > begin && !visit(watch)) {
                return false;
            }
            tree = right;
        }
        return true;
    }

    ChunkArray<Watch, 256, kMaxWatches> watches_;
    std::uint32_t first_free_ = 0;
    std::uint32_t root_ = 0;
    std::uint32_t size_ = 0;  // in the tree
};

}  // namespace pincheck
