// Libraries that tests/programs/scenarios.cu calls: a wrapper of the user's own, a framework's and a vendor's, all
// built from scenario_library.cpp under their names.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

extern "C" {
// The user's wrapper library: up and down, two levels deep.
void scenario_transfer(char* device, char* host, std::size_t bytes, cudaStream_t stream);
// The user's library: copies from its own page-locked buffer.
void scenario_upload_through_staging(char* device, const void* source, std::size_t bytes);
// A framework: an asynchronous copy and the wait for it.
void framework_copy_and_wait(char* device, const char* host, std::size_t bytes, cudaStream_t stream);
// A vendor's library: a download that it reads.
void vendor_download(const char* device, cudaStream_t stream);
}
