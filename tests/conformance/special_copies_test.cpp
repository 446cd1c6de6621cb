// Copies of variables, between a device and itself memsets of host memory, and prefetch.
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

TEST(Memset, WithAsyncInItsNameNeverHoldsTheHost) {
    HostMemory pinned(Kind::pinned, kSize), managed(Kind::managed, kSize);
    DeviceMemory device(kSize);
    Stream stream;
    Gate gate;
    for (char* memory : {static_cast<char*>(device), pinned.data(), managed.data()}) {
        gate.close_in(stream);
        EXPECT_FALSE(waits(gate, [&] { EXPECT_EQ(cudaMemsetAsync(memory, 3, kSize, stream), cudaSuccess); }));
        CUDA_OK(cudaStreamSynchronize(stream));
    }
    EXPECT_EQ(pinned[kSize - 1], 3);
    EXPECT_EQ(managed[kSize - 1], 3);
}

TEST(Memset, OfPageableMemoryIsRefused) {
    HostMemory pageable(Kind::pageable, kSize);
    Stream stream;
    EXPECT_EQ(cudaMemset(pageable.data(), 3, kSize), cudaErrorInvalidValue);
    EXPECT_EQ(cudaMemsetAsync(pageable.data(), 3, kSize, stream), cudaErrorInvalidValue);
    cudaGetLastError();
    EXPECT_EQ(pageable[0], 1);
}

#if CUDART_VERSION >= 13000

TEST(Prefetch, DoesNotWaitForItsStream) {
    HostMemory managed(Kind::managed, kSize);
    Stream stream;
    Gate gate;
    for (const cudaMemLocationType type : {cudaMemLocationTypeDevice, cudaMemLocationTypeHost}) {
        const cudaMemLocation where{type, 0};
        gate.close_in(stream);
        EXPECT_FALSE(waits(
            gate, [&] { EXPECT_EQ(cudaMemPrefetchAsync(managed.data(), kSize, where, 0, stream), cudaSuccess); }));
        CUDA_OK(cudaStreamSynchronize(stream));
    }
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
