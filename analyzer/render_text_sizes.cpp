#include "render_text_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "copy_times.h"
#include "render_text_layout.h"

namespace pincheck {
namespace {

using report::Direction;

constexpr std::size_t kMinimumWidth = 60;
constexpr std::size_t kMaximumWidth = 200;

// Where a row's times are host times of synchronous copies.
constexpr const char* kByHost = "*";
// Behind a size that is the least of several in the row.
constexpr const char* kSeveral = "+";

std::string size_label(const CopyTimes* pageable, const CopyTimes* locked) {
    std::uint64_t low = UINT64_MAX;
    std::uint64_t high = 0;
    for (const CopyTimes* one : {pageable, locked}) {
        if (one != nullptr && one->calls != 0) {
            low = std::min(low, one->bytes_min);
            high = std::max(high, one->bytes_max);
        }
    }
    return low >= high ? bytes_text(high) : bytes_text(low) + kSeveral;
}

// Milliseconds: three digits behind the point, fewer for long times.
std::string milliseconds(std::uint64_t ns) {
    const double value = static_cast<double>(ns) / 1e6;
    return value < 99.9995 ? fmt::format("{:.3f}", value) : fmt::format("{:.0f}", value);
}

struct Cells {
    std::string calls = "-";
    std::string ms = "-";
    std::string rate = "-";
    std::string share = "-";
};

Cells cells_of(const CopyTimes* times) {
    Cells cells;
    if (times == nullptr || times->calls == 0) {
        return cells;
    }
    cells.calls = count_text(times->calls);
    if (times->copies != 0 && times->ns != 0) {
        cells.ms = milliseconds(times->copy_ns()) + (times->by_device ? "" : kByHost);
        const double rate = times->gigabytes_per_second();
        cells.rate = rate < 0.05 ? "<0.1" : fmt::format("{:.1f}", rate);
    }
    if (times->share_completion_ns != 0) {
        cells.share =
            percent_text(static_cast<double>(times->share_host_ns) / static_cast<double>(times->share_completion_ns));
    }
    return cells;
}

// The first copy of a run takes longer, by the driver's start and by pages that are touched for the first time.
bool is_enough(const CopyTimes& times) {
    constexpr std::uint64_t kCopies = 3;
    return times.copies >= kCopies;
}

// How many times as long the pageable copy takes; "-" where one of them is not known, or known by one or two copies. Of
// classes that hold several sizes, by rate.
std::string ratio_text(const CopyTimes* pageable, const CopyTimes* locked) {
    if (pageable == nullptr || locked == nullptr || pageable->ns == 0 || pageable->bytes == 0 ||
        !is_enough(*pageable) || !is_enough(*locked)) {
        return "-";
    }
    const double slow = pageable->gigabytes_per_second();
    const double fast = locked->gigabytes_per_second();
    return slow <= 0 || fast <= 0 ? "-" : fmt::format("{:.2f}x", fast / slow);
}

struct Row {
    std::string size;
    Cells pageable;
    Cells locked;
    std::string ratio;
};

std::vector<Row> rows_of(const CopyTimesTable& table, Direction direction) {
    std::set<std::uint16_t> classes;
    for (const auto& [key, times] : table) {
        if (key.direction == direction && times.calls != 0) {
            classes.insert(key.size_class);
        }
    }
    std::vector<Row> rows;
    for (const std::uint16_t size_class : classes) {
        const auto find = [&](bool page_locked) -> const CopyTimes* {
            const auto found = table.find({direction, page_locked, size_class});
            return found == table.end() ? nullptr : &found->second;
        };
        const CopyTimes* pageable = find(false);
        const CopyTimes* locked = find(true);
        rows.push_back(
            {size_label(pageable, locked), cells_of(pageable), cells_of(locked), ratio_text(pageable, locked)});
    }
    return rows;
}

// Both kinds of memory in one line.
void add_wide(Lines& lines, const std::vector<Row>& rows, std::size_t size_columns) {
    const auto line = [&](const std::string& size, const Cells& a, const Cells& b, const std::string& ratio) {
        lines.line(fmt::format("{:<{}}{:>10}{:>10}{:>6}{:>8}  |{:>10}{:>10}{:>6}{:>8}{:>8}", size, size_columns,
                               a.calls, a.ms, a.rate, a.share, b.calls, b.ms, b.rate, b.share, ratio));
    };
    const Cells head{"calls", "ms", "GB/s", "share"};
    lines.line(fmt::format("{:<{}}{:>34}  |{:>34}", "", size_columns, "pageable", "pinned"));
    line("size", head, head, "ratio");
    for (const Row& row : rows) {
        line(row.size, row.pageable, row.locked, row.ratio);
    }
}

// One line for each kind of memory.
void add_narrow(Lines& lines, const std::vector<Row>& rows, std::size_t size_columns) {
    const auto line = [&](const std::string& size, const char* memory, const Cells& cells, const std::string& ratio) {
        lines.line(fmt::format("{:<{}}{:<9}{:>10}{:>9}{:>6}{:>8}{:>8}", size, size_columns, memory, cells.calls,
                               cells.ms, cells.rate, cells.share, ratio));
    };
    line("size", "memory", {"calls", "ms", "GB/s", "share"}, "ratio");
    for (const Row& row : rows) {
        line(row.size, "pageable", row.pageable, "");
        line("", "pinned", row.locked, row.ratio);
    }
}

}  // namespace

std::string by_size_text(const Capture& capture, const ScreenOptions& options) {
    Lines lines(std::clamp<std::size_t>(options.width, kMinimumWidth, kMaximumWidth), options.color);
    const CopyTimesTable table = copy_times(capture);
    bool any = false;
    bool by_host = false;
    bool by_device = false;
    for (const auto& [key, times] : table) {
        by_host |= times.copies != 0 && !times.by_device;
        by_device |= times.by_device;
    }
    for (const auto& [direction, title] : {std::pair(Direction::host_to_device, "Host to device (H2D)"),
                                           std::pair(Direction::device_to_host, "Device to host (D2H)")}) {
        const std::vector<Row> rows = rows_of(table, direction);
        if (rows.empty()) {
            continue;
        }
        std::size_t size_columns = 8;
        for (const Row& row : rows) {
            size_columns = std::max(size_columns, row.size.size() + 1);
        }
        if (any) {
            lines.empty_line();
        }
        any = true;
        lines.line(title);
        constexpr std::size_t kWide = 2 * 34 + 3 + 8;
        if (size_columns + kWide <= lines.width()) {
            add_wide(lines, rows, size_columns);
        } else {
            add_narrow(lines, rows, size_columns);
        }
    }
    if (!any) {
        lines.paragraph("No copy between the device and pageable or page-locked memory was recorded.", 0);
        return lines.take();
    }
    lines.empty_line();
    if (by_device) {
        lines.paragraph(
            "ms: mean from the call to the copy's end, by the device's times, without waits for earlier work. share: "
            "call share, host time in the calls by the time to completion.",
            0);
    }
    if (by_host) {
        lines.paragraph(
            fmt::format(
                "{} host time of synchronous copies, with what they waited for: the device's times of these are "
                "not known.",
                kByHost),
            0);
    }
    if (!by_device && !by_host) {
        lines.paragraph(
            "The times are not known: the device's times were not recorded, and there was no synchronous copy.", 0);
    }
    lines.paragraph(fmt::format("pinned: page-locked, allocated or registered. ratio: its rate by the pageable rate, "
                                "from three copies of each on. GB/s: "
                                "10^9 bytes a second. {} behind a size: and larger ones, less than four times that.",
                                kSeveral),
                    0);
    return lines.take();
}

}  // namespace pincheck
