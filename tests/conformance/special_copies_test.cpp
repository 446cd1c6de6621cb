// Copies of variables, between a device and itself and in batches, memsets of host memory, and prefetch.
#include <cstring>
#include <vector>

#include "gate.h"
#include "host_memory.h"

using namespace conformance;

namespace {

constexpr std::size_t kSize = 4096;

std::vector<char> download(const char* from, std::size_t size = kSize) {
    std::vector<char> bytes(size);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(bytes.data(), from, size, cudaMemcpyDeviceToHost), cudaSuccess);
    return bytes;
}

TEST(PeerCopy, WithinADevice) {
    DeviceMemory one(kSize), two(kSize);
    Stream stream;
    CUDA_OK(cudaMemset(one, 7, kSize));
    CUDA_OK(cudaMemset(two, 0, kSize));
    CUDA_OK(cudaDeviceSynchronize());
    CUDA_OK(cudaMemcpyPeer(two, 0, one, 0, 100));
    CUDA_OK(cudaDeviceSynchronize());
    Gate gate;
    gate.close_in(stream);
    EXPECT_FALSE(waits(gate, [&] { EXPECT_EQ(cudaMemcpyPeerAsync(two + 200, 0, one, 0, 100, stream), cudaSuccess); }));
    std::vector<char> expected(kSize);
    std::memset(&expected[0], 7, 100);
    std::memset(&expected[200], 7, 100);
    EXPECT_EQ(download(two), expected);
}

TEST(Symbol, HasASizeAnAddressAndContents) {
    std::size_t size = 0;
    char* address = nullptr;
    CUDA_OK(cudaGetSymbolSize(&size, symbol()));
    EXPECT_EQ(size, kSymbolSize);
    CUDA_OK(cudaGetSymbolAddress(reinterpret_cast<void**>(&address), symbol()));
    std::vector<char> up(kSymbolSize, 5), down(kSymbolSize);
    CUDA_OK(cudaMemcpyToSymbol(symbol(), up.data(), kSymbolSize, 0, cudaMemcpyHostToDevice));
    EXPECT_EQ(download(address, kSymbolSize), up);
    up.assign(8, 6);
    CUDA_OK(cudaMemcpyToSymbol(symbol(), up.data(), 8, 16, cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemcpyFromSymbol(down.data(), symbol(), kSymbolSize - 8, 8, cudaMemcpyDeviceToHost));
    EXPECT_EQ(down[7], 5);
    EXPECT_EQ(down[8], 6);
    EXPECT_EQ(down[15], 6);
    EXPECT_EQ(down[16], 5);
    EXPECT_EQ(cudaMemcpyToSymbol(&size, up.data(), 1, 0, cudaMemcpyHostToDevice), cudaErrorInvalidSymbol);
    cudaGetLastError();
}

TEST(Symbol, IsCopiedAsOtherDeviceMemory) {
    HostMemory pinned(Kind::pinned, kSymbolSize), pageable(Kind::pageable, kSymbolSize);
    Stream stream;
    Gate gate;
    const auto up = [&](const HostMemory& host) {
        gate.close_in(stream);
        return waits(gate, [&] {
            EXPECT_EQ(cudaMemcpyToSymbolAsync(symbol(), host.data(), kSymbolSize, 0, cudaMemcpyHostToDevice, stream),
                      cudaSuccess);
        });
    };
    const auto down = [&](const HostMemory& host) {
        gate.close_in(stream);
        return waits(gate, [&] {
            EXPECT_EQ(cudaMemcpyFromSymbolAsync(host.data(), symbol(), kSymbolSize, 0, cudaMemcpyDeviceToHost, stream),
                      cudaSuccess);
        });
    };
    EXPECT_FALSE(up(pinned));
    EXPECT_FALSE(up(pageable)) << "staged";
    EXPECT_FALSE(down(pinned));
    EXPECT_TRUE(down(pageable));
}

// CUDA Runtime API, "API synchronization behavior": memsets are asynchronous except for pinned host memory; those with
// Async in their name always are.
TEST(Memset, OfPinnedMemoryHoldsTheHost) {
    HostMemory pinned(Kind::pinned, kSize);
    DeviceMemory device(kSize);
    cudaStream_t blocking = nullptr;  // the legacy default stream, in which the memset runs, waits for it
    CUDA_OK(cudaStreamCreate(&blocking));
    Gate gate;
    gate.close_in(blocking);
    EXPECT_TRUE(waits(gate, [&] { EXPECT_EQ(cudaMemset(pinned.data(), 2, kSize), cudaSuccess); }));
    EXPECT_EQ(pinned[0], 2);
    EXPECT_EQ(pinned[kSize - 1], 2);
    gate.close_in(blocking);
    EXPECT_FALSE(waits(gate, [&] { EXPECT_EQ(cudaMemset(device, 3, kSize), cudaSuccess); }));
    gate.close_in(blocking);
    EXPECT_FALSE(waits(gate, [&] { EXPECT_EQ(cudaMemsetAsync(pinned.data(), 4, kSize - 1, blocking), cudaSuccess); }));
    CUDA_OK(cudaStreamSynchronize(blocking));
    EXPECT_EQ(pinned[kSize - 2], 4);
    EXPECT_EQ(pinned[kSize - 1], 2);
    EXPECT_EQ(download(device), std::vector<char>(kSize, 3));
    CUDA_OK(cudaStreamDestroy(blocking));
}

#if CUDART_VERSION >= 13000

cudaError_t upload_in_batch(char* to, const char* from, cudaMemcpySrcAccessOrder order, cudaStream_t stream) {
    void* const destinations[] = {to, to + kSize / 2};
    const void* const sources[] = {from, from + kSize / 2};
    const std::size_t sizes[] = {kSize / 2, kSize / 2};
    std::size_t first = 0;
    cudaMemcpyAttributes attributes{};
    attributes.srcAccessOrder = order;
    return cudaMemcpyBatchAsync(destinations, sources, sizes, 2, &attributes, &first, 1, stream);
}

class Batch : public testing::TestWithParam<cudaMemcpySrcAccessOrder> {};

TEST_P(Batch, Arrives) {
    for (const Kind kind : {Kind::pageable, Kind::pinned, Kind::registered}) {
        HostMemory host(kind, kSize);
        DeviceMemory device(kSize);
        Stream stream;
        CUDA_OK(cudaMemset(device, 0, kSize));
        CUDA_OK(cudaDeviceSynchronize());
        CUDA_OK(upload_in_batch(device, host.data(), GetParam(), stream));
        CUDA_OK(cudaStreamSynchronize(stream));
        EXPECT_EQ(download(device), std::vector<char>(kSize, 1)) << kind;
    }
}
INSTANTIATE_TEST_SUITE_P(Orders, Batch,
                         testing::Values(cudaMemcpySrcAccessOrderStream, cudaMemcpySrcAccessOrderDuringApiCall,
                                         cudaMemcpySrcAccessOrderAny));

TEST(BatchInStreamOrder, ReadsPinnedSourcesWhenTheDeviceGetsThere) {
    HostMemory host(Kind::pinned, kSize);
    DeviceMemory device(kSize);
    Stream stream;
    Gate gate;
    gate.close_in(stream);
    EXPECT_FALSE(waits(gate, [&] {
        EXPECT_EQ(upload_in_batch(device, host.data(), cudaMemcpySrcAccessOrderStream, stream), cudaSuccess);
        std::memset(host.data(), 2, kSize);
    }));
    CUDA_OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(download(device), std::vector<char>(kSize, 2));
}

// Whether the call waits for that is the driver's choice.
TEST(BatchDuringTheCall, HasReadItsSourcesWhenItReturns) {
    for (const Kind kind : {Kind::pageable, Kind::pinned}) {
        HostMemory host(kind, kSize);
        DeviceMemory device(kSize);
        Stream stream;
        Gate gate;
        gate.close_in(stream);
        waits(gate, [&] {
            EXPECT_EQ(upload_in_batch(device, host.data(), cudaMemcpySrcAccessOrderDuringApiCall, stream), cudaSuccess);
            std::memset(host.data(), 2, kSize);
        });
        CUDA_OK(cudaStreamSynchronize(stream));
        EXPECT_EQ(download(device), std::vector<char>(kSize, 1)) << kind;
    }
}

TEST(WrongBatch, NeedsAnOrderAndAStream) {
    HostMemory host(Kind::pinned, kSize);
    DeviceMemory device(kSize);
    Stream stream;
    EXPECT_EQ(upload_in_batch(device, host.data(), cudaMemcpySrcAccessOrderInvalid, stream), cudaErrorInvalidValue);
    EXPECT_NE(upload_in_batch(device, host.data(), cudaMemcpySrcAccessOrderStream, cudaStreamLegacy), cudaSuccess);
    cudaGetLastError();
}

TEST(BoxesInABatch, Arrive) {
    HostMemory host(Kind::pinned, kSize);
    DeviceMemory device(kSize);
    Stream stream;
    CUDA_OK(cudaMemset(device, 0, kSize));
    CUDA_OK(cudaDeviceSynchronize());
    cudaMemcpy3DBatchOp operation{};
    operation.src.type = operation.dst.type = cudaMemcpyOperandTypePointer;
    operation.src.op.ptr.ptr = host.data();  // rows without gaps
    operation.dst.op.ptr.ptr = device + 8;
    operation.dst.op.ptr.rowLength = 64;
    operation.dst.op.ptr.layerHeight = 4;
    operation.extent = {16, 3, 2};
    operation.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    CUDA_OK(cudaMemcpy3DBatchAsync(1, &operation, 0, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    std::vector<char> expected(kSize);
    for (std::size_t row = 0; row < 7; ++row)
        if (row != 3)
            std::memset(&expected[row * 64 + 8], 1, 16);
    EXPECT_EQ(download(device), expected);
    operation.extent.depth = 0;
    EXPECT_EQ(cudaMemcpy3DBatchAsync(1, &operation, 0, stream), cudaErrorInvalidValue);
    cudaGetLastError();
}

TEST(Prefetch, OfManagedMemoryDoesNotWaitForOtherStreams) {
    HostMemory managed(Kind::managed, kSize);
    DeviceMemory device(kSize);
    Stream stream, other;
    const cudaMemLocation there{cudaMemLocationTypeDevice, 0}, back{cudaMemLocationTypeHost, 0};
    Gate gate;
    gate.close_in(other);
    EXPECT_FALSE(
        waits(gate, [&] { EXPECT_EQ(cudaMemPrefetchAsync(managed.data(), kSize, there, 0, stream), cudaSuccess); }));
    CUDA_OK(cudaDeviceSynchronize());
    CUDA_OK(cudaMemPrefetchAsync(managed.data(), kSize, back, 0, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(managed[0], 1);
    EXPECT_EQ(managed[kSize - 1], 1);
    EXPECT_EQ(cudaMemPrefetchAsync(device, kSize, there, 0, stream), cudaErrorInvalidValue) << "no managed memory";
    CUDA_OK(cudaMemAdvise(managed.data(), kSize, cudaMemAdviseSetPreferredLocation, back));
    cudaGetLastError();
}

#endif

}  // namespace
