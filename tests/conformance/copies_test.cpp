// Which asynchronous copies hold the host behind a kernel that runs in their stream, and when their bytes are read.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <tuple>
#include <utility>
#include <vector>

#include "gate.h"
#include "host_memory.h"

using namespace conformance;

namespace {

constexpr std::size_t KiB = 1024;
constexpr std::size_t MiB = 1024 * KiB;

enum class Way { up, down };

bool copy_waits(Kind kind, std::size_t size, Way way) {
    HostMemory host(kind, size);
    DeviceMemory device(size);
    Stream stream;
    Gate gate;
    gate.close_in(stream);
    return waits(gate, [&] {
        const cudaError_t error = way == Way::up
                                      ? cudaMemcpyAsync(device, host.data(), size, cudaMemcpyHostToDevice, stream)
                                      : cudaMemcpyAsync(host.data(), device, size, cudaMemcpyDeviceToHost, stream);
        EXPECT_EQ(error, cudaSuccess);
    });
}

TEST(PageableUpload, WaitsWhenItIsTooLargeToBeStaged) {
    EXPECT_TRUE(copy_waits(Kind::pageable, 4 * MiB, Way::up));
    EXPECT_TRUE(copy_waits(Kind::pageable, 64 * MiB, Way::up));
}

TEST(PageableUpload, DoesNotWaitWhenItIsStaged) {
    for (const std::size_t size : {64ul, 4 * KiB, 64 * KiB, 1 * MiB, 2 * MiB})
        EXPECT_FALSE(copy_waits(Kind::pageable, size, Way::up)) << size;
}

TEST(PageableDownload, WaitsAtEverySize) {
    EXPECT_TRUE(copy_waits(Kind::pageable, 256, Way::down));
    EXPECT_TRUE(copy_waits(Kind::pageable, 1 * MiB, Way::down));
}

// Not even the copy itself is left to do when the call returns.
TEST(PageableDownload, HasArrivedWhenTheCallReturns) {
    for (const std::size_t size : {64ul, 64 * KiB, 8 * MiB}) {
        HostMemory host(Kind::pageable, size);
        DeviceMemory device(size);
        Stream stream;
        CUDA_OK(cudaMemsetAsync(device, 7, size, stream));
        CUDA_OK(cudaMemcpyAsync(host.data(), device, size, cudaMemcpyDeviceToHost, stream));
        EXPECT_EQ(std::vector<char>(host.data(), host.data() + size), std::vector<char>(size, 7)) << size;
    }
}

TEST(ManagedCopy, WaitsAtEverySize) {
    EXPECT_TRUE(copy_waits(Kind::managed, 256, Way::up));
    EXPECT_TRUE(copy_waits(Kind::managed, 256, Way::down));
    EXPECT_TRUE(copy_waits(Kind::managed, 1 * MiB, Way::up));
    EXPECT_TRUE(copy_waits(Kind::managed, 1 * MiB, Way::down));
}

class LockedCopy : public testing::TestWithParam<std::tuple<Kind, std::size_t>> {};

TEST_P(LockedCopy, NeverWaits) {
    const auto [kind, size] = GetParam();
    EXPECT_FALSE(copy_waits(kind, size, Way::up)) << kind << ' ' << size;
    EXPECT_FALSE(copy_waits(kind, size, Way::down)) << kind << ' ' << size;
}

INSTANTIATE_TEST_SUITE_P(AllKinds, LockedCopy,
                         testing::Combine(testing::Values(Kind::pinned, Kind::mapped, Kind::write_combined,
                                                          Kind::registered),
                                          testing::Values(256ul, 1 * MiB, 64 * MiB)));

TEST(ReadOnlyFileMapping, IsPageable) {
    char path[] = "/tmp/conformance-XXXXXX";
    const int file = mkstemp(path);
    unlink(path);
    const std::size_t size = 4 * MiB;
    ASSERT_EQ(ftruncate(file, static_cast<off_t>(size)), 0);
    void* mapping = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    ASSERT_NE(mapping, MAP_FAILED);
    DeviceMemory device(size);
    Stream stream;
    Gate gate;
    gate.close_in(stream);
    EXPECT_TRUE(waits(
        gate, [&] { EXPECT_EQ(cudaMemcpyAsync(device, mapping, size, cudaMemcpyHostToDevice, stream), cudaSuccess); }));
    EXPECT_EQ(cudaHostRegister(mapping, size, cudaHostRegisterReadOnly), cudaSuccess);
    gate.close_in(stream);
    EXPECT_FALSE(waits(
        gate, [&] { EXPECT_EQ(cudaMemcpyAsync(device, mapping, size, cudaMemcpyHostToDevice, stream), cudaSuccess); }));
    EXPECT_EQ(cudaHostUnregister(mapping), cudaSuccess);
    munmap(mapping, size);
    close(file);
}

// What the device gets when the source is overwritten after the call, with the gate still closed.
char byte_that_arrived(Kind kind, std::size_t size) {
    HostMemory host(kind, size);
    DeviceMemory device(size);
    Stream stream;
    Gate gate;
    gate.close_in(stream);
    EXPECT_EQ(cudaMemcpyAsync(device, host.data(), size, cudaMemcpyHostToDevice, stream), cudaSuccess);
    std::memset(host.data(), 2, size);
    gate.open();
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    std::vector<char> seen(size);
    EXPECT_EQ(cudaMemcpy(seen.data(), device, size, cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(seen, std::vector<char>(size, seen[0])) << "the copy is torn";
    return seen[0];
}

TEST(StagedUpload, IsASnapshot) {
    for (const std::size_t size : {64ul, 4 * KiB, 64 * KiB, 1 * MiB})
        EXPECT_EQ(byte_that_arrived(Kind::pageable, size), 1) << size;
}

TEST(LockedUpload, ReadsItsSourceWhenTheDeviceGetsThere) {
    for (const std::size_t size : {64ul, 4 * KiB, 16 * KiB, 64 * KiB, 1 * MiB}) {
        EXPECT_EQ(byte_that_arrived(Kind::pinned, size), 2) << size;
        EXPECT_EQ(byte_that_arrived(Kind::registered, size), 2) << size;
        EXPECT_EQ(byte_that_arrived(Kind::mapped, size), 2) << size;
    }
}

// Staging memory is finite: so many copies behind a busy stream, then the next one waits. Gives 0 if none did.
int staged_copies(std::size_t size, int limit) {
    HostMemory host(Kind::pageable, size);
    DeviceMemory device(size);
    Stream stream;
    Gate gate;
    gate.close_in(stream);
    return calls_before_waiting(gate, limit, [&](int) {
        EXPECT_EQ(cudaMemcpyAsync(device, host.data(), size, cudaMemcpyHostToDevice, stream), cudaSuccess);
    });
}

TEST(Staging, HoldsAFewCopiesAndThenTheNextOneWaits) {
    // A ring of nearly 4 MiB; how much of it earlier copies left free differs by a few percent from run to run.
    EXPECT_NEAR(staged_copies(4 * KiB, 1100), 975, 25);
    EXPECT_NEAR(staged_copies(8 * KiB, 600), 490, 15);
    EXPECT_NEAR(staged_copies(64 * KiB, 100), 63, 2);
    EXPECT_EQ(staged_copies(65 * KiB, 10), 2);
    EXPECT_EQ(staged_copies(256 * KiB, 10), 2);
    EXPECT_EQ(staged_copies(1 * MiB, 10), 2);
    EXPECT_EQ(staged_copies(2 * MiB, 10), 1);
}

TEST(PartlyRegisteredRange, IsAnInvalidArgument) {
    const std::size_t half = 1 * MiB;
    HostMemory host(Kind::pageable, 2 * half);
    DeviceMemory device(2 * half);
    Stream stream;
    CUDA_OK(cudaHostRegister(host.data(), half, cudaHostRegisterDefault));
    const auto up = [&](std::size_t offset, std::size_t size) {
        return cudaMemcpyAsync(device, host.data() + offset, size, cudaMemcpyHostToDevice, stream);
    };
    EXPECT_EQ(up(0, 2 * half), cudaErrorInvalidValue);
    EXPECT_EQ(up(half - 4 * KiB, 8 * KiB), cudaErrorInvalidValue);
    EXPECT_EQ(cudaMemcpyAsync(host.data(), device, 2 * half, cudaMemcpyDeviceToHost, stream), cudaErrorInvalidValue);
    EXPECT_EQ(up(0, half), cudaSuccess);
    EXPECT_EQ(up(half, half), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue) << "of the three calls above";
    EXPECT_EQ(cudaHostUnregister(host.data()), cudaSuccess);
}

// Measured: H200, driver 580.159.04.
TEST(HostToHostCopy, WaitsForItsStream) {
    for (const auto& [to, from] : {std::pair{Kind::pageable, Kind::pageable}, std::pair{Kind::pageable, Kind::pinned},
                                   std::pair{Kind::pinned, Kind::pinned}}) {
        HostMemory destination(to, 1 * MiB), source(from, 1 * MiB);
        std::memset(source.data(), 3, 1 * MiB);
        Stream stream;
        Gate gate;
        gate.close_in(stream);
        EXPECT_TRUE(waits(
            gate,
            [&] {
                EXPECT_EQ(cudaMemcpyAsync(destination.data(), source.data(), 1 * MiB, cudaMemcpyHostToHost, stream),
                          cudaSuccess);
            },
            kSoon))
            << from << " to " << to;
        EXPECT_EQ(destination[1 * MiB - 1], 3);
    }
}

// Measured: H200, driver 580.159.04. Only pageable memory on a side that the kind calls the device's is refused.
TEST(KindThatContradictsThePointers, IsRefusedOnlyForPageableMemoryInTheDevicesPlace) {
    HostMemory pageable(Kind::pageable, 4 * KiB), other(Kind::pageable, 4 * KiB), pinned(Kind::pinned, 4 * KiB);
    DeviceMemory device(4 * KiB), second(4 * KiB);
    Stream stream;
    const auto copy = [&](void* to, const void* from, int kind) {
        return cudaMemcpyAsync(to, from, 4 * KiB, static_cast<cudaMemcpyKind>(kind), stream);
    };
    EXPECT_EQ(copy(other.data(), pageable.data(), cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    EXPECT_EQ(copy(device, pageable.data(), cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    EXPECT_EQ(copy(other.data(), pageable.data(), cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
    EXPECT_EQ(copy(device, pageable.data(), 9), cudaErrorInvalidMemcpyDirection);
    cudaGetLastError();
    EXPECT_EQ(copy(pinned.data(), pageable.data(), cudaMemcpyHostToDevice), cudaSuccess);
    EXPECT_EQ(copy(second, device, cudaMemcpyHostToDevice), cudaSuccess);
    CUDA_OK(cudaStreamSynchronize(stream));
}

TEST(QueueDepth, Is1021BehindARunningKernel) {
    Stream stream;
    Gate gate;
    gate.close_in(stream);
    EXPECT_EQ(calls_before_waiting(gate, 1100, [&](int) { launch_empty(stream); }), 1021);
    CUDA_OK(cudaStreamSynchronize(stream));

    HostMemory host(Kind::pinned, 64);
    DeviceMemory device(64);
    gate.close_in(stream);
    EXPECT_EQ(calls_before_waiting(
                  gate, 1100,
                  [&](int) {
                      EXPECT_EQ(cudaMemcpyAsync(device, host.data(), 64, cudaMemcpyHostToDevice, stream), cudaSuccess);
                  }),
              1021);
    CUDA_OK(cudaStreamSynchronize(stream));

    gate.close_in(stream);
    EXPECT_EQ(calls_before_waiting(gate, 1100,
                                   [&](int) {
                                       EXPECT_EQ(cudaLaunchHostFunc(
                                                     stream, [](void*) {}, nullptr),
                                                 cudaSuccess);
                                   }),
              1100)
        << "host functions take no slot";
}

}  // namespace
