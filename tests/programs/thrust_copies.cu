// Copies as Thrust programs make them: host_vector to device_vector and back, thrust::copy, in a stream, vectors in
// page-locked, registered and managed memory. Needs a GPU. Prints one line when every result is right.
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/fill.h>
#include <thrust/host_vector.h>
#include <thrust/mr/allocator.h>
#include <thrust/sequence.h>
#include <thrust/system/cuda/execution_policy.h>
#include <thrust/system/cuda/memory_resource.h>
#include <thrust/universal_vector.h>

#include <cstdio>
#include <vector>

namespace {

// Page-locked memory by Thrust's own resource. To Thrust it is memory of the device: it copies with the kind
// device-to-device (thrust/system/cuda/detail/util.h), and the driver goes by the addresses.
using PinnedAllocator =
    thrust::mr::stateless_resource_allocator<int, thrust::system::cuda::universal_host_pinned_memory_resource>;
using PinnedVector = thrust::host_vector<int, PinnedAllocator>;

template <class Vector>
bool counts_up(const Vector& values, std::size_t size, int from) {
    bool good = values.size() == size;
    for (std::size_t i = 0; good && i < size; ++i) {
        good = values[i] == from + static_cast<int>(i);
    }
    return good;
}

template <class Vector>
bool there_and_back(std::size_t size) {
    Vector host(size);
    thrust::sequence(host.begin(), host.end(), 1);
    thrust::device_vector<int> device = host;
    thrust::device_vector<int> other(size);
    bool good = true;
    for (int i = 0; i < 3; ++i) {
        thrust::copy(host.begin(), host.end(), other.begin());
        device = other;  // inside the device
        Vector back = device;
        good = good && counts_up(back, size, 1);
        thrust::copy(device.begin(), device.end(), host.begin());
        good = good && counts_up(host, size, 1);
    }
    return good;
}

bool in_a_stream(std::size_t size) {
    cudaStream_t stream = nullptr;
    bool good = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess;
    thrust::device_vector<int> device(size);
    thrust::device_vector<int> other(size);
    cudaDeviceSynchronize();
    for (int i = 0; i < 3; ++i) {
        thrust::sequence(thrust::cuda::par.on(stream), device.begin(), device.end(), 5);
        thrust::copy(thrust::cuda::par.on(stream), device.begin(), device.end(), other.begin());
    }
    good = good && cudaStreamSynchronize(stream) == cudaSuccess;
    const thrust::host_vector<int> back = other;
    return cudaStreamDestroy(stream) == cudaSuccess && good && counts_up(back, size, 5);
}

bool managed(std::size_t size) {
    thrust::universal_vector<int> shared(size);
    for (std::size_t i = 0; i < size; ++i) {
        shared[i] = 9 + static_cast<int>(i);
    }
    thrust::device_vector<int> device(size);
    thrust::copy(shared.begin(), shared.end(), device.begin());
    const thrust::host_vector<int> back = device;
    cudaDeviceSynchronize();
    return counts_up(back, size, 9);
}

bool registered(std::size_t size) {
    std::vector<int> plain(size, 7);
    bool good = cudaHostRegister(plain.data(), size * sizeof(int), cudaHostRegisterDefault) == cudaSuccess;
    thrust::device_vector<int> device(size);
    for (int i = 0; i < 3; ++i) {
        thrust::copy(plain.begin(), plain.end(), device.begin());
        thrust::copy(device.begin(), device.end(), plain.begin());
    }
    good = good && plain == std::vector<int>(size, 7);
    return cudaHostUnregister(plain.data()) == cudaSuccess && good;
}

bool from_a_standard_vector(std::size_t size) {
    const std::vector<int> plain(size, 3);
    const thrust::device_vector<int> device(plain.begin(), plain.end());
    std::vector<int> back(size);
    thrust::copy(device.begin(), device.end(), back.begin());
    const int first = device[0];  // four bytes back
    return back == plain && first == 3;
}

}  // namespace

int main() {
    bool good = true;
    for (const std::size_t size : {std::size_t{1}, std::size_t{1000}, std::size_t{65536}, std::size_t{1048579}}) {
        good = good && there_and_back<thrust::host_vector<int>>(size);
        good = good && there_and_back<PinnedVector>(size);
        good = good && in_a_stream(size);
        good = good && managed(size);
        good = good && registered(size);
        good = good && from_a_standard_vector(size);
    }
    std::puts(good ? "thrust copies: right" : "thrust copies: wrong");
    return good ? 0 : 1;
}
