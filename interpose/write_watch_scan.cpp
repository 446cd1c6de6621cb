// What a scan of the pages says about the watches on them.
#include <cstring>

#include "clock.h"
#include "watch_edges.h"
#include "write_watch.h"

namespace pincheck {
namespace {

constexpr std::uint8_t kComplete = static_cast<std::uint8_t>(WatchEnd::complete);
constexpr std::uint8_t kGone = static_cast<std::uint8_t>(WatchEnd::mapping_gone);
constexpr std::uint8_t kLost = static_cast<std::uint8_t>(WatchEnd::lost);
static_assert(kComplete == 0, "of a fresh watch");

// Four independent lanes, two words by one multiplication. Against chance, not against an enemy.
class Checksum {
  public:
    void add(const unsigned char* data, std::size_t bytes) noexcept {
        for (; bytes >= kBlock; data += kBlock, bytes -= kBlock) {
            for (std::size_t lane = 0; lane < 4; ++lane) {
                std::uint64_t words[2];
                std::memcpy(words, data + 16 * lane, sizeof(words));
                lanes_[lane] = folded(words[0] ^ kKeys[lane], words[1] ^ lanes_[lane]);
            }
        }
        if (bytes != 0) {
            unsigned char rest[kBlock] = {};
            std::memcpy(rest, data, bytes);
            add(rest, kBlock);
        }
    }
    std::uint64_t result() const noexcept {
        return folded(lanes_[0] ^ kKeys[0], lanes_[1] ^ kKeys[1]) ^ folded(lanes_[2] ^ kKeys[2], lanes_[3] ^ kKeys[3]);
    }

  private:
    static constexpr std::size_t kBlock = 64;
    static constexpr std::uint64_t kKeys[4] = {0xa0761d6478bd642full, 0xe7037ed1a0b428dbull, 0x8ebc6af09c88c6e3ull,
                                               0x589965cc75374cc3ull};
    static std::uint64_t folded(std::uint64_t left, std::uint64_t right) noexcept {
        const auto product = static_cast<unsigned __int128>(left) * right;
        return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
    }
    std::uint64_t lanes_[4] = {1, 2, 3, 4};
};

// The first write, by the look that has just been taken.
void note_found(Watch& watch, std::uint64_t mark) noexcept {
    watch.found = true;
    watch.found_mark = mark;
    watch.found_ns = now_ns();
    watch.before_mark = watch.last_mark;
    watch.before_ns = watch.last_ns;
}

}  // namespace

bool WriteWatch::checksum(std::uintptr_t address, std::uint64_t bytes, std::uint64_t& sum) noexcept {
    Checksum whole;
    while (bytes > 0) {
        const std::size_t part = bytes < kScratchBytes ? static_cast<std::size_t>(bytes) : kScratchBytes;
        if (!read_own_memory(address, scratch_, part)) {
            return false;
        }
        whole.add(scratch_, part);
        address += part;
        bytes -= part;
    }
    sum = whole.result();
    return true;
}

// Returns how many bytes are newly known to be written. The page is read once for all the watches that share it.
std::uint64_t WriteWatch::compare_edge(Watch& watch, WatchEdge& edge) noexcept {
    if (edge.block == 0) {
        return 0;
    }
    const std::uintptr_t page = page_floor(edge.begin);
    if (page_in_scratch_ != page) {
        page_in_scratch_ = page;
        page_was_readable_ = read_own_memory(page, scratch_, kPageBytes);
    }
    if (!page_was_readable_) {
        watch.end = kGone;
        return 0;
    }
    const ChangedBytes changed = changed_bytes(edge, edges_, scratch_ + (edge.begin - page));
    if (!changed) {
        return 0;
    }
    edge.written = true;
    const std::uint64_t at = edge.begin - watch.begin;
    return watch.dirty.add(at + changed.begin, at + changed.end);
}

// The pages [begin, end) are dirty.
void WriteWatch::give(Watch& watch, std::uintptr_t begin, std::uintptr_t end, std::uint64_t mark) noexcept {
    if (watch.by_checksum) {
        return;
    }
    std::uint64_t added = 0;
    const auto holds = [&](const WatchEdge& edge) {
        return edge.bytes != 0 && edge.begin >= begin && edge.begin < end;
    };
    if (holds(watch.head)) {
        added += compare_edge(watch, watch.head);
    }
    const std::uintptr_t own_begin = watch.first_page + (watch.head.bytes != 0 ? kPageBytes : 0);
    const std::uintptr_t own_end = watch.end_page - (watch.tail.bytes != 0 ? kPageBytes : 0);
    const std::uintptr_t from = begin > own_begin ? begin : own_begin;
    const std::uintptr_t to = end < own_end ? end : own_end;
    if (from < to) {
        const std::uint64_t pages = watch.dirty.add(from - watch.begin, to - watch.begin);
        watch.interior_bytes += pages;
        added += pages;
    }
    if (holds(watch.tail)) {
        added += compare_edge(watch, watch.tail);
    }
    if (added != 0 && !watch.found) {
        note_found(watch, mark);
    }
}

WriteWatch::Answer WriteWatch::scan_and_share(std::uintptr_t begin, std::uintptr_t end, bool protect,
                                              std::uint64_t mark, std::uint64_t& dirty_pages) noexcept {
    page_in_scratch_ = 0;
    const std::uint64_t begin_ns = now_ns();
    std::uint32_t room = kFewRegions;
    for (std::uintptr_t at = begin; at < end;) {
        std::uint32_t count = 0;
        std::uintptr_t next = end;
        const Answer answer = kernel_.scan(at, end, protect, regions_, room, count, next);
        if (answer != Answer::done) {
            return answer;
        }
        for (std::uint32_t i = 0; i < count; ++i) {
            const uffd::PageRegion& region = regions_[i];
            dirty_pages += (region.end - region.begin) / kPageBytes;
            pages_.for_each(region.begin, region.end, [&](Watch& watch) {
                give(watch, region.begin, region.end, mark);
                return true;
            });
        }
        if (next <= at) {
            return Answer::gone;
        }
        at = next;
        room = kRegions;
    }
    // All of these were looked at. Past some the bound on when a write happened is left as loose as it is.
    int most = kMostRemarked;
    pages_.for_each(begin, end, [&](Watch& watch) {
        if (watch.first_page >= begin && watch.end_page <= end && !watch.by_checksum) {
            watch.last_mark = mark;
            watch.last_ns = begin_ns;
        }
        return --most > 0;
    });
    return Answer::done;
}

// Brings what is known of a watch up to date.
void WriteWatch::look(Watch& watch, std::uint64_t mark, std::uint64_t& dirty_pages) noexcept {
    if (!watch.in_tree || watch.end != kComplete) {
        return;
    }
    if (watch.by_checksum) {
        const std::uint64_t begin_ns = now_ns();
        std::uint64_t sum;
        if (!checksum(watch.begin, watch.bytes, sum)) {
            watch.end = kGone;
        } else if (sum != watch.checksum && !watch.found) {
            watch.dirty.add(0, watch.bytes);
            note_found(watch, mark);
        }
        watch.last_mark = mark;
        watch.last_ns = begin_ns;
        return;
    }
    if (!kernel_.is_open()) {
        watch.end = kLost;
        return;
    }
    const Answer answer = scan_and_share(watch.first_page, watch.end_page, false, mark, dirty_pages);
    if (answer == Answer::lost) {
        lose();
        watch.end = kLost;
    } else if (answer == Answer::refused) {
        watch.end = kLost;
    } else if (answer == Answer::gone || !KernelPageWatch::is_mapped(watch.first_page, watch.end_page)) {
        // Another mapping is an error of the scan's; none at all it passes over.
        watch.end = kGone;
    }
}

// Of a watch that is no longer in the tree.
void WriteWatch::unprotect_unwatched(Watch& watch) noexcept {
    if (watch.by_checksum || !kernel_.is_open()) {
        return;
    }
    if (watch.pageable) {
        unregister_unwatched(watch.first_page, watch.end_page);
        return;
    }
    bool lost = false;
    pages_.for_each_gap(watch.first_page, watch.end_page, [&](std::uintptr_t begin, std::uintptr_t end) {
        const Answer answer = lost ? Answer::lost : kernel_.unprotect(begin, end);
        lost = answer == Answer::lost;
        if (answer == Answer::gone && watch.end == kComplete) {
            watch.end = kGone;
        }
    });
    if (lost) {
        lose();
    }
}

WatchFinding WriteWatch::finding(const Watch& watch) const noexcept {
    WatchFinding result;
    const DirtyRanges::Range first = watch.dirty.first();
    result.end = static_cast<WatchEnd>(watch.end);
    result.begin = first.begin;
    result.end_byte = first.end;
    result.unwatched_bytes = watch.unwatched_bytes;
    result.exact = watch.dirty.exact();
    result.located = !watch.by_checksum;
    result.written_bytes = watch.dirty.bytes() < watch.bytes ? watch.dirty.bytes() : watch.bytes;
    if (watch.by_checksum) {
        result.written_pages = watch.found ? (watch.bytes + kPageBytes - 1) / kPageBytes : 0;
    } else {
        const std::uint64_t edges = (watch.head.written ? 1u : 0u) + (watch.tail.written ? 1u : 0u);
        const std::uint64_t most = (watch.end_page - watch.first_page) / kPageBytes;
        const std::uint64_t pages = watch.interior_bytes / kPageBytes + edges;
        result.written_pages = pages < most ? pages : most;
    }
    result.found_mark = watch.found_mark;
    result.before_mark = watch.before_mark;
    result.found_ns = watch.found_ns;
    result.before_ns = watch.before_ns;
    return result;
}

}  // namespace pincheck
