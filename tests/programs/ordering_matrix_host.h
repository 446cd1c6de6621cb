// The relations between the host and what is in a stream (ordering_matrix.cu): what is in use, what orders it or not,
// and the use.
#pragma once

#include "ordering_matrix.h"

// ---- The host and what is in a stream

template <class Memory>
void event_wait(bool ordered) {
    Memory memory;
    const cudaEvent_t event = new_event();
    memory.begin(nullptr);
    CHECK(cudaEventRecord(event, nullptr));
    if (ordered) {
        CHECK(cudaEventSynchronize(event));
    }
    memory.use();
}
template <class Memory>
void device_wait(bool ordered) {
    Memory memory;
    memory.begin(nullptr);
    if (ordered) {
        CHECK(cudaDeviceSynchronize());
    }
    memory.use();
}
template <class Memory>
void stream_query(bool ordered) {
    Memory memory;
    const cudaStream_t stream = blocking_stream();
    memory.begin(stream);
    if (ordered) {
        poll([&] { return cudaStreamQuery(stream); });
    }
    memory.use();
}
template <class Memory, unsigned flags>
void event_query(bool ordered) {
    Memory memory;
    const cudaStream_t stream = blocking_stream();
    cudaEvent_t event = nullptr;
    CHECK(cudaEventCreateWithFlags(&event, flags));
    memory.begin(stream);
    CHECK(cudaEventRecord(event, stream));
    if (ordered) {
        poll([&] { return cudaEventQuery(event); });
    }
    memory.use();
}
// A fill in the legacy stream is behind what is in blocking streams, and before what comes there.
template <class Memory>
void memset_between(bool ordered) {
    Memory memory;
    char* other = managed();
    const cudaStream_t first = blocking_stream();
    const cudaStream_t second = blocking_stream();
    memory.begin(first);
    if (ordered) {
        CHECK(cudaMemset(other, 0, 4));
    }
    launch(second);
    CHECK(cudaStreamSynchronize(second));
    memory.use();
}
template <class Memory>
void memset_between_nonblocking(bool ordered) {
    Memory memory;
    char* other = managed();
    const cudaStream_t first = side_stream();
    const cudaStream_t second = blocking_stream();
    memory.begin(first);
    CHECK(cudaMemset(other, 0, 4));
    if (ordered) {
        CHECK(cudaStreamSynchronize(first));
    }
    launch(second);
    CHECK(cudaStreamSynchronize(second));
    memory.use();
}
template <class Memory>
void legacy_wait(bool ordered) {
    Memory memory;
    memory.begin(blocking_stream());
    launch(nullptr);
    if (ordered) {
        CHECK(cudaStreamSynchronize(nullptr));
    }
    memory.use();
}
template <class Memory>
void behind_legacy(bool ordered) {
    Memory memory;
    const cudaStream_t stream = blocking_stream();
    memory.begin(nullptr);
    launch(stream);
    if (ordered) {
        CHECK(cudaStreamSynchronize(stream));
    }
    memory.use();
}
template <class Memory>
void behind_legacy_nonblocking(bool ordered) {
    Memory memory;
    const cudaStream_t stream = side_stream();
    memory.begin(nullptr);
    launch(stream);
    CHECK(cudaStreamSynchronize(stream));
    if (ordered) {
        CHECK(cudaDeviceSynchronize());
    }
    memory.use();
}
template <class Memory>
void legacy_wait_nonblocking(bool ordered) {
    Memory memory;
    memory.begin(ordered ? blocking_stream() : side_stream());
    CHECK(cudaStreamSynchronize(nullptr));
    memory.use();
}
template <class Memory>
void legacy_between(bool ordered) {
    Memory memory;
    const cudaStream_t second = blocking_stream();
    memory.begin(blocking_stream());
    launch(nullptr);
    launch(second);
    if (ordered) {
        CHECK(cudaStreamSynchronize(second));
    }
    memory.use();
}

// ---- Two devices

inline bool has_two_devices() {
    int count = 0;
    CHECK(cudaGetDeviceCount(&count));
    if (count < 2) {
        std::puts("no second device");
        pinned();  // for a report
    }
    return count >= 2;
}
template <class Memory>
void other_device_wait(bool ordered) {
    if (!has_two_devices()) {
        return;
    }
    Memory memory;
    memory.begin(nullptr);
    if (ordered) {
        CHECK(cudaDeviceSynchronize());
    }
    CHECK(cudaSetDevice(1));
    launch(nullptr);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaSetDevice(0));
    memory.use();
}
template <class Memory>
void other_device_event(bool ordered) {
    if (!has_two_devices()) {
        return;
    }
    Memory memory;
    const cudaEvent_t event = new_event();
    memory.begin(nullptr);
    CHECK(cudaEventRecord(event, nullptr));
    CHECK(cudaSetDevice(1));
    if (ordered) {
        CHECK(cudaEventSynchronize(event));
    }
    CHECK(cudaSetDevice(0));
    memory.use();
}
