// The account of executable graphs, against a plain map; and readers beside a writer.
#include "interpose/graph_book.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <thread>
#include <vector>

namespace pincheck {
namespace {

GraphWork work(std::uintptr_t node, std::uint64_t bytes) {
    GraphWork one;
    one.node = node;
    one.top_node = node;
    one.bytes = bytes;
    one.kind = report::SiteKind::copy;
    return one;
}

TEST(GraphBook, KnowsWhatAMapKnows) {
    GraphBook book;
    std::map<std::uintptr_t, std::multimap<std::uintptr_t, std::uint64_t>> expected;
    std::mt19937 random(11);
    for (int step = 0; step < 20000; ++step) {
        const std::uintptr_t handle = 0x1000 + 16 * (random() % 300);
        switch (random() % 6) {
            case 0:
                ASSERT_NE(book.begin(handle), nullptr);
                expected[handle].clear();
                break;
            case 1:
                book.forget(handle);
                expected.erase(handle);
                break;
            case 2:
                if (ExecGraph* graph = book.find(handle)) {
                    const std::uintptr_t node = random() % 8;
                    book.remove_node(*graph, node);
                    expected.at(handle).erase(node);
                }
                break;
            default:
                if (ExecGraph* graph = book.find(handle)) {
                    const std::uintptr_t node = random() % 8;
                    const std::uint64_t bytes = random() % 1000;
                    ASSERT_TRUE(book.add(*graph, work(node, bytes)));
                    expected.at(handle).emplace(node, bytes);
                }
        }
    }
    for (std::uintptr_t handle = 0x1000; handle < 0x1000 + 16 * 300; handle += 16) {
        const ExecGraph* graph = book.find(handle);
        ASSERT_EQ(graph != nullptr, expected.contains(handle)) << handle;
        if (graph != nullptr) {
            std::multimap<std::uintptr_t, std::uint64_t> found;
            for (const GraphWork& one : *graph) {
                found.emplace(one.node, one.bytes);
            }
            EXPECT_EQ(found, expected.at(handle));
        }
    }
}

TEST(GraphBook, TheNewestOriginOfARangeCounts) {
    GraphBook book;
    EXPECT_EQ(book.origin_of(1, 2, 3).site, 0u);
    book.remember({1, 2, 3, 10, Api::cuMemcpyAsync});
    book.remember({1, 2, 4, 11, Api::cuMemcpyAsync});
    book.remember({1, 2, 3, 12, Api::cudaMemcpyAsync});
    book.remember({1, 2, 3, 0, Api::cuMemcpy});
    EXPECT_EQ(book.origin_of(1, 2, 3).site, 12u);
    EXPECT_EQ(book.origin_of(1, 2, 3).api, Api::cudaMemcpyAsync);
    EXPECT_EQ(book.origin_of(1, 2, 4).site, 11u);
    EXPECT_EQ(book.origin_of(2, 1, 3).site, 0u);
}

TEST(GraphBook, ManyOriginsDoNotMixUp) {
    GraphBook book;
    for (std::uint32_t i = 1; i <= 100000; ++i) {
        book.remember({i * 4096ull, i, 64, i, Api::cuMemcpyAsync});
    }
    std::uint32_t kept = 0;
    for (std::uint32_t i = 1; i <= 100000; ++i) {
        const GraphOrigin origin = book.origin_of(i * 4096ull, i, 64);
        EXPECT_TRUE(origin.site == 0 || origin.site == i);
        kept += origin.site == i;
    }
    EXPECT_GT(kept, 8000u);
}

TEST(GraphBook, UpdatesKeepTheNamesOfTheNodes) {
    GraphBook book;
    ExecGraph* graph = book.begin(0x77);
    ASSERT_NE(graph, nullptr);
    ASSERT_TRUE(book.add(*graph, work(5, 1)));
    const GraphWork names[] = {work(9, 0)};
    book.keep_names(*graph, names);
    book.enable_node(*graph, 9, false);
    EXPECT_EQ(graph->begin()->node, 9u);
    EXPECT_EQ(graph->begin()->bytes, 1u);
    EXPECT_FALSE(graph->begin()->enabled);
}

// Graphs come and go in one thread while others look up theirs.
TEST(GraphBook, LookUpsFindTheirGraphWhileOthersComeAndGo) {
    GraphBook book;
    constexpr std::uintptr_t kMine[] = {0xa000, 0xb000, 0xc000};
    for (const std::uintptr_t handle : kMine) {
        ASSERT_NE(book.begin(handle), nullptr);
    }
    std::atomic<bool> stop{false};
    std::atomic<int> missed{0};
    std::vector<std::thread> readers;
    for (const std::uintptr_t handle : kMine) {
        readers.emplace_back([&, handle] {
            for (int i = 0; i < 50000; ++i) {
                missed += book.find(handle) == nullptr;
            }
        });
    }
    std::thread writer([&] {
        std::uintptr_t handle = 1;
        while (!stop) {
            book.begin(handle);
            book.forget(handle);
            handle = handle % 5000 + 1;
        }
    });
    for (std::thread& reader : readers) {
        reader.join();
    }
    stop = true;
    writer.join();
    EXPECT_EQ(missed, 0);
}

}  // namespace
}  // namespace pincheck
