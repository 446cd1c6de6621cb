#include "explain_waits.h"

#include "names.h"

namespace pincheck {
namespace {

using report::WaitCause;

constexpr char kHiddenWait[] =
    R"(A call held the host although it is named or documented as asynchronous, or although synchronising is not its purpose: cudaFree, cudaFreeHost, a kernel launch, an event record. Nothing in the program says that the host waits there, and a profiler shows the time as if the call itself were slow.

The finding names what was waited for, where that is known. Each cause has a page of its own:

  device-wide     freeing or unregistering memory waits for everything on the device
  queue-full      the host is so far ahead that the stream has no free place
  legacy-stream   the legacy default stream and blocking streams wait for each other
  host-to-host    a copy between two places of the host, made by CUDA
  lock            another thread was inside a call that probably held the driver's lock
  idle-sync       a wait for nothing: the work was known to be complete
  unknown         held for long, and none of these was seen

What asynchronous copies from pageable and managed memory wait for (staging, earlier-work, managed) is told by pageable-async-copy and managed-async-copy, and is not reported a second time here. Page-locking and loading modules take time too, but wait for nobody (pinning, module-loading): they are added up on the line "Costs". Synchronisations and synchronous copies are what the program asked for: they are added up on the line "Waits" (requested, synchronous-copy).

How a cause is known, strongest first: by the device's times of copies and its overhead records (CUPTI), by the order of work and what the host knew to be complete when the call began, by what the call is. `pincheck show` says which. A cause with a question mark (device-wide?, lock?) is what such a call may have waited for: the order of work was not followed, so that nobody knows whether the device was busy. Releasing memory and being beside another call take time by themselves, so these are a finding only from 10 ms and a thousandth of the run on. Calls shorter than the recorder's threshold (option threshold, 20 microseconds) are not told apart.

  wrong:  for (;;) {
              cudaMalloc(&scratch, n);
              step<<<g, b, 0, s>>>(scratch);
              cudaFree(scratch);
          }

  right:  cudaMalloc(&scratch, n);
          for (;;) {
              step<<<g, b, 0, s>>>(scratch);
          }
          cudaFree(scratch);

To fix one, see the page of its cause; most come down to keeping the call out of the loop. It is fine at start-up and at the end, where nothing else could have run. It is a warning and gates only with --strict or --fail-on hidden-wait; where the cause has a question mark or is unknown it is a note, which never gates, since a busy machine can make one.

Limits: the device's wait inside a call is not reported by CUPTI for frees and pageable copies; it follows from comparing the call's time with the device's. Two causes at once count as the stronger one.)";

struct CauseText {
    WaitCause cause;
    const char* claim;
    const char* text;
};

constexpr CauseText
    kCauses[] =
        {
            {WaitCause::staging, "the driver moved the bytes of pageable memory through the CPU, inside the call",
             R"(The copy engine cannot reach pageable memory, so the driver copies the bytes between it and a page-locked buffer of its own, by the CPU, while your call waits. The time grows with the size: 64 MiB took 12.7 ms on an H200 (driver 580.159), against 1.2 ms from page-locked memory, of which the call is 10 microseconds.

The staging memory is finite. Behind a busy stream, repeated uploads return at once until about 4 MiB are staged (966 copies of 4 KiB, 63 of 64 KiB, 2 of 1 MiB were measured) and then wait for room.

Page-locked memory ends it: see `pincheck explain pageable-async-copy`.)"},
            {WaitCause::earlier_work, "the call waited for work queued before it in its stream",
             R"(A stream does its work in order. A copy that the driver must carry through the CPU can only begin when everything before it in the stream has ended, and the host waits for that inside the call. Behind a 30 ms kernel, a download of 4 bytes into pageable memory took 30 ms on an H200 (driver 580.159); so did uploads of 4 MiB and more, and copies of managed memory of any size.

The finding names the stream, the newest work in front of the longest call, and the kernel that ran meanwhile, where they are known. The work is not at fault: the wait is.

With page-locked memory the call returns at once. The data is not there any earlier: the wait moves to where the result is needed, an event or the stream's synchronisation, and the host can do other work until then. Where it has none, nothing is gained, and no saving is promised.)"},
            {WaitCause::device_wide, "the call waited until everything on the device was done",
             R"(cudaFree, cudaFreeHost and cudaHostUnregister may only take memory away when nothing uses it. The driver does not track which work uses what: it waits for all of it, in all streams, of all threads. Measured on an H200 (driver 580.159): all three waited for an unrelated 30 ms kernel in another non-blocking stream.

Not so cudaMalloc, cudaHostRegister, cudaMallocAsync and cudaFreeAsync, creating and destroying streams and events, cudaMemset, and launches of graphs.

Keep the buffer and use it again; free it outside the loop; or use cudaMallocAsync and cudaFreeAsync, which are ordered in a stream and hold nobody. For page-locked memory: allocate a ring of transfer buffers once.

Such a call is no substitute for a synchronisation: CUDA does not document it as one.)"},
            {WaitCause::queue_full, "the stream's queue was full, and the call waited for a free place",
             R"(A stream holds a limited number of launches and copies that have not run: 1,021 were measured on an H200 (driver 580.159). The next call then waits until the device has finished one. It is backpressure: the host issues work faster than the device does it.

By itself that costs nothing, since the device is never idle: the host would only wait later. It matters when this thread has other work to do, such as preparing batches or feeding another stream or device: that is held up too.

Fewer, larger launches and copies take fewer places; a graph launch takes one for all its nodes. Waiting for an event every few hundred launches makes the wait explicit. Issuing from a thread of its own keeps others going.)"},
            {WaitCause::legacy_stream, "the legacy default stream and blocking streams waited for each other",
             R"(Work given no stream goes to the legacy default stream, which waits for all streams made without cudaStreamNonBlocking, and they for it. One call without a stream, often inside a library, then serialises streams that were meant to overlap, and a wait for one of them waits for the others.

Make streams with cudaStreamNonBlocking, give every call a stream, or compile with --default-stream per-thread, which gives every thread a default stream of its own. Libraries usually have a function that sets their stream.)"},
            {WaitCause::managed, "an asynchronous copy of managed memory waited for earlier work",
             R"(Where the pages of managed memory are is decided when they are used, so a copy cannot be handed to a copy engine in advance: the host waits inside the call for the work before it, even for 256 bytes (measured: H200, driver 580.159). See `pincheck explain managed-async-copy`.)"},
            {WaitCause::idle_sync, "a synchronisation that had nothing to wait for",
             R"(The host already knew that the work was complete, by an earlier wait or a successful query, and nothing had been issued since. The call is short, some microseconds, and is not needed.

They are counted on the line "Waits". They are a finding when a site made ten or more and they took a thousandth of the run or more: with less, nobody can measure what leaving them out has gained. Libraries that synchronise after every step are a common source: the finding is headed by your own frame, and names the library's function.

Leave the call out, or wait for an event once, where a result is needed. It is fine in tests and in code that checks for errors.)"},
            {WaitCause::host_to_host, "a copy between two places of the host, made by CUDA",
             R"(Both ends of the copy are host memory; cudaMemcpyDefault lets CUDA find that out. It treats the copy like any other in its stream: first the work queued before it, then the bytes, and the host waits for both. memcpy waits for nothing.

Use memcpy, or std::copy. If the wait for the device is meant, cudaStreamSynchronize says so.)"},
            {WaitCause::lock, "another thread was inside a call that probably held the driver's lock",
             R"(Some calls hold a lock of the driver for as long as they take: page-locking a large buffer, loading a module, waiting for the whole device. Calls of other threads wait for the lock, whatever they are for.

That another thread was inside a call meanwhile, and that this call waits for nothing by itself, is what is known; the lock is concluded from it (lock?). Where the order of work was not followed, a launch may have found its stream's queue full instead. The finding names the other thread's call. Make that call at start-up, or outside the loop. It is fine where both only happen at start-up.)"},
            {WaitCause::pinning, "page-locking or unlocking memory: a cost, not a wait",
             R"(cudaMallocHost, cudaHostAlloc and cudaHostRegister make the kernel lock every page, and freeing undoes it. The call takes time by size and waits for nobody: 64 MiB took 20 to 38 ms, 1 MiB allocated and freed 0.95 ms, registering and unregistering 1 MiB 0.16 ms (measured: H200, driver 580.159).

Do it once, outside the loop, for transfer buffers and not for data sets. It is added up on the line "Costs". Freeing may wait as well: see `pincheck explain device-wide`.)"},
            {WaitCause::module_loading, "lazy loading of a module or a kernel: a cost, not a wait",
             R"(CUDA loads a kernel when it is first launched (CUDA_MODULE_LOADING=LAZY, the default since CUDA 12.2). The first launch of each then takes milliseconds. It happens once and waits for nobody; it is added up on the line "Costs".

CUDA_MODULE_LOADING=EAGER moves the time to the start. A first launch outside the measured part does too.)"},
            {WaitCause::requested, "a synchronisation that the program asked for",
             R"(cudaStreamSynchronize, cudaEventSynchronize, cudaDeviceSynchronize and their kind, where there was work to wait for. It is no finding: the program says that it waits. The time is added up on the line "Waits".

Whether waiting there is wise is another question: a wait right behind a copy leaves no room for overlap (see `pincheck explain copy-then-sync`).)"},
            {WaitCause::synchronous_copy, "a copy that is documented to return when it is done",
             R"(cudaMemcpy and its kind hold the host until the copy is done, and before that for the work queued before it. It is no finding: the name says so. The time is added up on the line "Waits".

From page-locked memory a synchronous copy is faster too: `pincheck report --by-size` compares both, where the run has both.)"},
            {WaitCause::unknown, "a call held the host, and why is not known",
             R"(None of the causes that pincheck knows was seen. It may be the operating system (a thread that lost its CPU, a page fault), a profiler or debugger, the driver starting up, or a wait that the tool does not know.

Where the order of work was not followed, launches and copies that found the stream's queue full are among them. Such calls are a finding when a site's add up to 10 ms and a thousandth of the run.)"},
};

}  // namespace

const char* hidden_wait_text() {
    return kHiddenWait;
}

std::vector<ExplainTopic> wait_topics() {
    std::vector<ExplainTopic> topics;
    for (const CauseText& one : kCauses) {
        topics.push_back({name(one.cause), one.claim, one.text});
    }
    return topics;
}

}  // namespace pincheck
