#include "watch_edges.h"

#include <cstring>

#include "kernel_page_watch.h"

namespace pincheck {

bool save_edges(Watch& watch, EdgeBytes& edges) noexcept {
    const std::uintptr_t end = watch.begin + watch.bytes;
    const std::uintptr_t second_page = watch.first_page + kPageBytes;
    const std::uintptr_t stop = end < second_page ? end : second_page;
    if (stop - watch.begin < kPageBytes) {
        watch.head = {watch.begin, static_cast<std::uint32_t>(stop - watch.begin), 0, false};
    }
    const std::uintptr_t last_page = watch.end_page - kPageBytes;
    if (end != watch.end_page && last_page != watch.first_page) {
        watch.tail = {last_page, static_cast<std::uint32_t>(end - last_page), 0, false};
    }
    for (WatchEdge* edge : {&watch.head, &watch.tail}) {
        if (edge->bytes == 0) {
            continue;
        }
        edge->block = edges.take(edge->bytes);
        if (edge->block != 0 && !read_own_memory(edge->begin, edges.bytes(edge->block), edge->bytes)) {
            edges.give_back(edge->block);
            edge->block = 0;
        }
        watch.unwatched_bytes += edge->block == 0 ? edge->bytes : 0;
    }
    return watch.unwatched_bytes == 0;
}

void give_back_edges(const Watch& watch, EdgeBytes& edges) noexcept {
    edges.give_back(watch.head.block);
    edges.give_back(watch.tail.block);
}

ChangedBytes changed_bytes(const WatchEdge& edge, const EdgeBytes& edges, const unsigned char* now) noexcept {
    const unsigned char* then = edges.bytes(edge.block);
    if (std::memcmp(now, then, edge.bytes) == 0) {
        return {};
    }
    ChangedBytes changed{0, edge.bytes};
    while (now[changed.begin] == then[changed.begin]) {
        ++changed.begin;
    }
    while (now[changed.end - 1] == then[changed.end - 1]) {
        --changed.end;
    }
    return changed;
}

}  // namespace pincheck
