// The relations between two streams (ordering_matrix.cu): device memory is in use in one, and copied or filled in the
// other.
#pragma once

#include <string>

#include "ordering_matrix.h"

// ---- Device memory, and a copy of it in another stream

template <class Memory>
void send_device_wait(bool ordered) {
    Memory memory;
    memory.begin(nullptr);
    if (ordered) {
        CHECK(cudaDeviceSynchronize());
    }
    memory.send();
}
template <class Memory>
void send_stream_wait(bool ordered) {
    Memory memory;
    const cudaStream_t stream = blocking_stream();
    memory.begin(stream);
    if (ordered) {
        CHECK(cudaStreamSynchronize(stream));
    }
    memory.send();
}
template <class Memory>
void send_event_wait(bool ordered) {
    Memory memory;
    const cudaEvent_t event = new_event();
    memory.begin(nullptr);
    CHECK(cudaEventRecord(event, nullptr));
    if (ordered) {
        CHECK(cudaEventSynchronize(event));
    }
    memory.send();
}
template <class Memory>
void send_event_query(bool ordered) {
    Memory memory;
    const cudaStream_t stream = blocking_stream();
    const cudaEvent_t event = new_event();
    memory.begin(stream);
    CHECK(cudaEventRecord(event, stream));
    if (ordered) {
        poll([&] { return cudaEventQuery(event); });
    }
    memory.send();
}
template <class Memory>
void send_legacy_wait(bool ordered) {
    Memory memory;
    memory.begin(blocking_stream());
    launch(nullptr);
    if (ordered) {
        CHECK(cudaStreamSynchronize(nullptr));
    }
    memory.send();
}
inline void copy_on_host() {
    static int from = 0;
    static int to = 0;
    CHECK(cudaMemcpy(&to, &from, sizeof to, cudaMemcpyHostToHost));
}
template <class Memory>
void send_host_copy(bool ordered) {
    Memory memory;
    memory.begin(blocking_stream());
    if (ordered) {
        copy_on_host();
    }
    memory.send();
}
// Between two blocking streams, a call that (they say) orders them.
template <class Memory, class Call>
void between(bool ordered, Call&& call) {
    Memory memory;
    const cudaStream_t second = blocking_stream();
    memory.begin(blocking_stream());
    if (ordered) {
        call();
    }
    memory.use(second);
}
template <class Memory>
void host_copy_between(bool ordered) {
    between<Memory>(ordered, copy_on_host);
}
template <class Memory>
void alloc_between(bool ordered) {
    between<Memory>(ordered, [] { on_device(); });
}
template <class Memory>
void managed_alloc_between(bool ordered) {
    between<Memory>(ordered, managed);
}
template <class Memory>
void host_copy_between_nonblocking(bool ordered) {
    Memory memory;
    const cudaStream_t first = side_stream();
    memory.begin(first);
    copy_on_host();
    if (ordered) {
        CHECK(cudaStreamSynchronize(first));
    }
    memory.use(other_stream());
}
template <class Memory>
void copy_rows_between(bool ordered) {
    Memory memory;
    char* other = static_cast<char*>(std::calloc(kBytes, 1));
    const cudaStream_t second = blocking_stream();
    memory.begin(blocking_stream());
    if (ordered) {
        CHECK(cudaMemcpy2D(other, kPitch, memory.memory, kPitch, kPitch, kRows, cudaMemcpyDeviceToHost));
    }
    memory.use(second);
    std::free(other);
}
template <class Memory>
void memset_rows_between(bool ordered) {
    Memory memory;
    char* other = on_device();
    cudaStream_t second = nullptr;
    CHECK(cudaStreamCreateWithPriority(&second, cudaStreamDefault, -1));
    memory.begin(blocking_stream());
    if (ordered) {
        CHECK(cudaMemset2D(other, kPitch, 0, kPitch, kRows));
    }
    memory.use(second);
}
template <class Memory>
void stream_wait(bool ordered) {
    Memory memory;
    const cudaStream_t first = blocking_stream();
    memory.begin(first);
    if (ordered) {
        CHECK(cudaStreamSynchronize(first));
    }
    memory.use(blocking_stream());
}

// ---- Two streams of the device

// Each has its own buffer; the second one's is then the first one's turn.
template <class Memory>
void two_buffers(bool ordered) {
    Memory one;
    Memory two;
    const cudaStream_t first = blocking_stream();
    const cudaStream_t second = blocking_stream();
    one.begin(first);
    two.begin(second);
    two.begin(second);
    if (ordered) {
        CHECK(cudaDeviceSynchronize());
    }
    two.begin(first);
    CHECK(cudaDeviceSynchronize());
}
template <class Memory>
void send_second_buffer(bool ordered) {
    Memory one;
    Memory two;
    const cudaStream_t second = blocking_stream();
    one.begin(blocking_stream());
    two.begin(second);
    two.begin(second);
    if (ordered) {
        CHECK(cudaDeviceSynchronize());
    }
    two.send();
}
template <class Memory>
void event_between(bool ordered) {
    Memory memory;
    const cudaEvent_t event = new_event();
    const cudaStream_t first = blocking_stream();
    memory.begin(first);
    CHECK(cudaEventRecord(event, first));
    if (ordered) {
        CHECK(cudaEventSynchronize(event));
    }
    memory.begin(blocking_stream());
    CHECK(cudaDeviceSynchronize());
}
template <class Memory>
void stream_waits_for_event(bool ordered) {
    Memory memory;
    const cudaEvent_t event = new_event();
    const cudaStream_t first = blocking_stream();
    const cudaStream_t second = blocking_stream();
    std::string copied(kBytes, 0);
    memory.begin(first);
    CHECK(cudaEventRecord(event, first));
    if (ordered) {
        CHECK(cudaStreamWaitEvent(second, event, 0));
    }
    memory.use(second);
    CHECK(cudaMemcpy(copied.data(), memory.memory, kBytes, cudaMemcpyDeviceToHost));
}
