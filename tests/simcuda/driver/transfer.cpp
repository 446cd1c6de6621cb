#include "transfer.h"

#include <algorithm>
#include <thread>

#include "host_access.h"
#include "settings.h"

namespace simcuda {
namespace {

double seconds(Direction direction, std::size_t size) {
    const Settings& s = settings();
    const double rate = direction == Direction::h2d   ? s.h2d_gbps
                        : direction == Direction::d2h ? s.d2h_gbps
                                                      : s.d2d_gbps;
    return rate > 0 ? static_cast<double>(size) / (rate * 1e9) / s.speed : 0;
}

}  // namespace

Engine engine_of(Direction direction) {
    switch (direction) {
        case Direction::h2d:
            return Engine::h2d;
        case Direction::d2h:
            return Engine::d2h;
        default:
            return Engine::compute;
    }
}

void transfer(const Region& to, std::size_t to_position, const Region& from, std::size_t from_position,
              std::size_t size, Direction direction) {
    const auto begin = Clock::now();
    const double total = seconds(direction, size);
    const std::size_t step = total > 0 ? std::max<std::size_t>(size / 16, 1) : size;
    std::size_t done = 0;
    for (std::size_t pause = step; done < size; pause += step) {
        const std::size_t stop = size - std::min(size, pause) < step ? size : pause;
        while (done < stop) {
            Span destination = to.piece(to_position + done, stop - done);
            const Span source = from.piece(from_position + done, destination.size);
            dma_copy(destination, source, 0, source.size);
            done += source.size;
        }
        if (total > 0)
            std::this_thread::sleep_until(begin +
                                          std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
                                              total * static_cast<double>(done) / static_cast<double>(size))));
    }
}

void gather(char* buffer, const Region& from, std::size_t position, std::size_t size) {
    for (std::size_t done = 0; done < size;) {
        const Span piece = from.piece(position + done, size - done);
        raw_copy(buffer + done, reinterpret_cast<const void*>(piece.address), piece.size);
        done += piece.size;
    }
}

void scatter(const Region& to, std::size_t position, const char* buffer, std::size_t size) {
    for (std::size_t done = 0; done < size;) {
        const Span piece = to.piece(position + done, size - done);
        raw_copy(reinterpret_cast<void*>(piece.address), buffer + done, piece.size);
        done += piece.size;
    }
}

Region own(const std::vector<char>& buffer) {
    const Range range{
        .base = reinterpret_cast<std::uintptr_t>(buffer.data()), .size = buffer.size(), .kind = Kind::device};
    return region_inside(range, range.base, {.width = buffer.size()}, buffer.size(), buffer.size());
}

}  // namespace simcuda
