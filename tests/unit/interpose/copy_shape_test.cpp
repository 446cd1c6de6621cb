// Which bytes a strided copy touches, against a byte map painted row by row.
#include "interpose/copy_shape.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace pincheck {
namespace {

using report::Direction;
using report::MemoryClass;

struct Painted {
    std::uint64_t first;
    std::uint64_t last;  // one past
    std::uint64_t count;
};
Painted paint(const Box& box) {
    const std::uint64_t pitch = box.pitch != 0 ? box.pitch : box.x + box.width;
    const std::uint64_t rows = box.slice_height != 0 ? box.slice_height : box.y + box.height;
    std::vector<bool> touched((box.z + box.depth) * rows * pitch + pitch + 1);
    for (std::uint64_t z = 0; z < box.depth; ++z) {
        for (std::uint64_t y = 0; y < box.height; ++y) {
            for (std::uint64_t x = 0; x < box.width; ++x) {
                touched[((box.z + z) * rows + box.y + y) * pitch + box.x + x] = true;
            }
        }
    }
    const auto first = std::find(touched.begin(), touched.end(), true);
    const auto last = std::find(touched.rbegin(), touched.rend(), true);
    return {static_cast<std::uint64_t>(first - touched.begin()), static_cast<std::uint64_t>(touched.rend() - last),
            static_cast<std::uint64_t>(std::count(touched.begin(), touched.end(), true))};
}

TEST(CopyShape, RangeAndBytesAreThoseOfTheRowsThatAreCopied) {
    std::mt19937 random(7);
    const auto up_to = [&](unsigned most) { return std::uint64_t{random() % (most + 1)}; };
    for (int i = 0; i < 2000; ++i) {
        Box box{up_to(9), up_to(4), up_to(3), 0, 0, 1 + up_to(9), 1 + up_to(4), 1 + up_to(3)};
        box.pitch = random() % 3 == 0 ? 0 : box.x + box.width + up_to(5);
        box.slice_height = random() % 3 == 0 ? 0 : box.y + box.height + up_to(3);
        const Painted painted = paint(box);
        EXPECT_EQ(offset_of(box), painted.first);
        EXPECT_EQ(offset_of(box) + span_of(box), painted.last);
        EXPECT_EQ(bytes_of(box), painted.count);
    }
}

TEST(CopyShape, NothingIsCopiedOfAnEmptyBox) {
    EXPECT_EQ(span_of({3, 1, 1, 16, 4, 0, 2, 2}), 0u);
    EXPECT_EQ(span_of({3, 1, 1, 16, 4, 2, 0, 2}), 0u);
    EXPECT_EQ(bytes_of({3, 1, 1, 16, 4, 2, 2, 0}), 0u);
}

TEST(CopyShape, WrongArgumentsSaturateInsteadOfWrapping) {
    const Box huge{0, 0, 0, UINT64_MAX / 2, 0, UINT64_MAX / 2, 1u << 20, 1};
    EXPECT_EQ(span_of(huge), UINT64_MAX);
    EXPECT_EQ(bytes_of(huge), UINT64_MAX);
}

TEST(CopyShape, MemoryTypesSayWhichFieldCountsAndWhatIsKnown) {
    cuda_abi::Copy2DV2 copy{};
    copy.source_host = reinterpret_cast<void*>(0x10000);
    copy.source_device = 0x20000;
    copy.source_array = reinterpret_cast<void*>(0x30000);
    copy.source_x = 8;
    copy.source_y = 2;
    copy.source_pitch = 64;
    copy.destination_type = cuda_abi::kArray;
    copy.destination_array = reinterpret_cast<void*>(0x40000);
    copy.width = 16;
    copy.height = 3;
    copy.source_type = cuda_abi::kHost;
    CopyArguments described = describe(copy);
    EXPECT_EQ(described.source, 0x10000u + 2 * 64 + 8);
    EXPECT_EQ(described.source_span, 2 * 64u + 16);
    EXPECT_EQ(described.bytes, 48u);
    EXPECT_EQ(described.direction, Direction::host_to_device);
    EXPECT_EQ(described.destination, 0x40000u);
    EXPECT_EQ(described.destination_is, MemoryClass::array);
    copy.source_type = cuda_abi::kDevice;
    described = describe(copy);
    EXPECT_EQ(described.source, 0x20000u + 2 * 64 + 8);
    EXPECT_EQ(described.direction, Direction::unknown) << "page-locked memory has device addresses too";
    EXPECT_EQ(described.source_is, MemoryClass::none);
    copy.source_type = cuda_abi::kUnified;
    described = describe(copy);
    EXPECT_EQ(described.source_is, MemoryClass::none) << "unified addresses are asked for";
    EXPECT_EQ(described.direction, Direction::unknown);
    copy.source_type = cuda_abi::kHost;
    copy.destination_type = cuda_abi::kHost;
    EXPECT_EQ(describe(copy).direction, Direction::host_to_host);
}

TEST(CopyShape, BatchExtentsAreElementsOfTheArray) {
    cuda_abi::BatchCopy3D copy{};
    copy.source.type = cuda_abi::kOperandPointer;
    copy.source.pointer.address = 0x1000;
    copy.source.pointer.row_length = 32;
    copy.destination.type = cuda_abi::kOperandArray;
    copy.destination.array.array = reinterpret_cast<void*>(0x40000);
    copy.extent = {16, 4, 2};
    copy.source_access_order = 3;
    const CopyArguments described = describe(copy, 4);
    EXPECT_EQ(described.bytes, 16u * 4 * 4 * 2);
    EXPECT_EQ(described.source_span, ((4 + 3) * 32 + 16) * 4u);
    EXPECT_EQ(described.source_order, report::SourceOrder::any);
    EXPECT_TRUE(described.async);
}

}  // namespace
}  // namespace pincheck
