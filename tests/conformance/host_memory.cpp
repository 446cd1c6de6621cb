#include "host_memory.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

namespace conformance {
namespace {

constexpr std::size_t kPage = 4096;

}  // namespace

HostMemory::HostMemory(Kind kind, std::size_t size) : kind_(kind) {
    void* memory = nullptr;
    cudaError_t error = cudaSuccess;
    switch (kind) {
        case Kind::pageable:
        case Kind::registered:
            // Whole pages of its own, so that registering them touches nobody else's memory.
            memory = std::aligned_alloc(kPage, (size + kPage - 1) / kPage * kPage);
            if (kind == Kind::registered)
                error = cudaHostRegister(memory, size, cudaHostRegisterDefault);
            break;
        case Kind::pinned:
            error = cudaMallocHost(&memory, size);
            break;
        case Kind::mapped:
            error = cudaHostAlloc(&memory, size, cudaHostAllocMapped);
            break;
        case Kind::write_combined:
            error = cudaHostAlloc(&memory, size, cudaHostAllocWriteCombined);
            break;
        case Kind::managed:
            error = cudaMallocManaged(&memory, size, cudaMemAttachGlobal);
            break;
    }
    EXPECT_EQ(error, cudaSuccess);
    data_ = static_cast<char*>(memory);
    std::memset(data_, 1, size);
}

HostMemory::~HostMemory() {
    switch (kind_) {
        case Kind::registered:
            cudaHostUnregister(data_);
            [[fallthrough]];
        case Kind::pageable:
            std::free(data_);
            break;
        case Kind::pinned:
        case Kind::mapped:
        case Kind::write_combined:
            cudaFreeHost(data_);
            break;
        case Kind::managed:
            cudaFree(data_);
            break;
    }
}

}  // namespace conformance
