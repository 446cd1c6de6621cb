#include "explain_races.h"

namespace pincheck {
namespace {

constexpr char kRaces[] =
    R"(An asynchronous copy from or to page-locked memory goes on after its call has returned. From then until the host has learned that it is complete, its memory belongs to the copy. Whoever uses it in between may get old data, new data or a mixture, and may get the right data a thousand times first.

What is found does not depend on luck. The host has learned of a copy's completion when it has waited for its stream, for an event recorded after it or for the device, or when a query has said so. A use of the same bytes before that is a race, whatever the data was like. In a trial on an H200 a training loop that refilled one page-locked buffer without waiting printed the same loss as the correct one; watching the pages told 45 of its 48 copies, and none of the correct loop's.

Whether the device had finished the copy at that moment plays no part: that is a matter of time, and a slower device, a larger copy or a busier stream changes it. A report says which it was where the device's times and that of the other use are known: of another copy, of an access that was caught (races=trap), and of a write that was found soon enough. Corrupting: the copy was still to come or running; latent: the device had finished it, but nobody had asked. Both are errors.

How it was found:

  order   by the order of calls alone; always on
  watch   by the kernel's record of written pages, from the call until it is
          known to be complete (races=watch, the default where the kernel has it)
  trap    by catching the access itself (races=trap): what reads a result or
          writes to it, and what writes a source, with its line

A finding of the watch says between which two calls the host wrote, and not which line did. With races=watch as many copies are watched as 2 % of the time allow (budget=), every site's first ones among them; pincheck run --check watches by count (sample=count), the same copies in every run. "Presumed" findings are notes and never gate: streams that signal through memory, or work that was not followed, may order the two in a way that cannot be seen.

With races=trap every copy is followed. The pages that a download has for itself are taken from the host until it is known to be complete, stores into the sources of uploads stop until their stack is taken; then the access goes on, and its page tells of nothing more until the next copy. Each costs a fault, stores into sources far more than reads, since a thread answers them. After 64 of one copy the rest of it is let go. Reads from write-combined memory are looked for too, by samples (write-combined-read). What the driver does to the memory by itself is not told. Not for programs under a debugger or that use io_uring; system calls on guarded memory that go past the C library fail with EFAULT.

Not seen: what the host reads, without races=trap; accesses to memory that is not watched (counted under "Not seen"); what kernels do to the memory.)";

constexpr char kUnorderedCopies[] =
    R"(Two streams use one range, at least one of them writes it, and neither is ordered behind the other: no event, no legacy default stream, no wait of the host. Which comes first is decided by the copy engines, and can be another one on another device.

  wrong:  cudaMemcpyAsync(host, block, n, cudaMemcpyDeviceToHost, side);
          cudaMemsetAsync(block, 0, n, main);

  right:  cudaMemcpyAsync(host, block, n, cudaMemcpyDeviceToHost, side);
          cudaEventRecord(copied, side);
          cudaStreamWaitEvent(main, copied, 0);
          cudaMemsetAsync(block, 0, n, main);

The event costs some microseconds and holds nobody on the host.

It is never fine, except where what is read is not used.

Limits: copies, fills and graphs are seen, not what kernels read and write. Streams that signal through memory (a write-value, a flag in mapped memory) may be ordered unseen: then it is a note.)";

constexpr char kSourceOverwritten[] =
    R"(The source of a page-locked upload is written again before the host has learned that the copy is complete. Such a call only queues the copy; the device reads the memory when it gets there. On an H200 (driver 580.159) a source that was overwritten after the call changed what the device got, at 64 bytes, 4 KiB, 16 KiB, 64 KiB and 1 MiB.

  wrong:  for (;;) {
              fill(buffer);
              cudaMemcpyAsync(device, buffer, n, cudaMemcpyHostToDevice, s);
              kernel<<<g, b, 0, s>>>(device);
          }

  right:  for (int i = 0;; i ^= 1) {
              cudaEventSynchronize(copied[i]);
              fill(buffer[i]);
              cudaMemcpyAsync(device[i], buffer[i], n, cudaMemcpyHostToDevice, s);
              cudaEventRecord(copied[i], s);
              kernel<<<g, b, 0, s>>>(device[i]);
          }

With two buffers the wait is for the copy before last, and seldom takes time. A wait after the refill is too late, even where it is the right wait, and an event that is recorded before the copy says nothing about it.

With pageable memory the same loop is right, because the driver has read small sources when the call returns: such programs break when their memory is page-locked. See `pincheck explain relies-on-staging`.

Limits: see `pincheck explain races`.)";

constexpr char kDestinationOverwritten[] =
    R"(The host, or another copy, writes memory that a copy may still write to. What is there in the end is what came last, and that is not decided.

  wrong:  cudaMemcpyAsync(buffer, device, n, cudaMemcpyDeviceToHost, s);
          memset(buffer, 0, n);

  right:  cudaMemcpyAsync(buffer, device, n, cudaMemcpyDeviceToHost, s);
          cudaEventRecord(copied, s);
          ...
          cudaEventSynchronize(copied);
          memset(buffer, 0, n);

Clear the buffer before the copy, or wait for the copy first. A sub-allocator that gives a block to somebody else while a copy into it is in flight does the same.

Limits: pages that the destination shares with other data are not watched at its edges. See `pincheck explain races`.)";

constexpr char kDestinationRead[] =
    R"(The result of a page-locked download is read before the host has learned that it is complete. It is then what was there before, or a part of the result.

  wrong:  cudaMemcpyAsync(loss, device, 4, cudaMemcpyDeviceToHost, s);
          printf("%f\n", *loss);

  right:  cudaMemcpyAsync(loss, device, 4, cudaMemcpyDeviceToHost, s);
          cudaEventRecord(copied, s);
          ...
          cudaEventSynchronize(copied);
          printf("%f\n", *loss);

With pageable memory the call itself waits, so that the wrong version works until the memory is page-locked. cudaFree and cudaMalloc are no substitute for the wait: cudaFree was measured to wait for the device, and CUDA does not document that it does.

Limits: what the host itself reads is not seen by this version; copies that read are.)";

constexpr char kResultNeverAwaited[] =
    R"(The destination of a download is copied over, given back, or left when the program ends, and in all that time the host never learned that the download was complete. Nobody can have read what it brought: either the copy is useless, or it is read without a wait, which this version does not see.

  wrong:  for (;;) {
              step<<<g, b, 0, s>>>(device);
              cudaMemcpyAsync(loss, device, 4, cudaMemcpyDeviceToHost, s);
              log(*loss);
          }

  right:  for (;;) {
              step<<<g, b, 0, s>>>(device);
              cudaMemcpyAsync(loss, device, 4, cudaMemcpyDeviceToHost, s);
              cudaEventRecord(copied, s);
              ...
              cudaEventSynchronize(copied);
              log(*loss);
          }

It is fine where the copy is meant to be thrown away, as in a benchmark.

Limits: a result that the host is told of through memory (a flag that the device writes and the host polls) looks the same; where such a signal was seen it is a note.)";

constexpr char kGraphBufferGone[] =
    R"(A copy from or to a local array was captured into a graph, or added as a node, and the function has returned. The graph keeps the address. Each launch then reads or writes whatever lies on the stack there: locals and return addresses of functions that run by then.

  wrong:  cudaGraphExec_t record(cudaStream_t s) {
              float scale[4] = {1, 2, 3, 4};
              cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
              cudaMemcpyAsync(device, scale, sizeof scale, cudaMemcpyHostToDevice, s);
              ...
              return executable;
          }

  right:  the array is a member beside the graph executable, best page-locked

It is never fine.

Limits: stack memory is recognised by its address. Heap memory that was freed before a launch is found where it is watched.)";

constexpr char kReleasedInFlight[] =
    R"(Memory is given back while a copy that uses it is not known to be complete.

With cudaFreeHost and cudaHostUnregister nothing is lost but time: measured on an H200 (driver 580.159), both wait until everything on the device is done. It is a warning, since CUDA does not document that wait, and holds the thread; see `pincheck explain device-wide`.

Where the memory goes without CUDA being asked (munmap or free of a registered range, of a pageable source that a batch copy reads later) nobody waits. The device goes on with pages that are no longer the buffer's. It is an error.

  wrong:  cudaMemcpyAsync(device, buffer, n, cudaMemcpyHostToDevice, s);
          munmap(buffer, n);

  right:  cudaMemcpyAsync(device, buffer, n, cudaMemcpyHostToDevice, s);
          cudaStreamSynchronize(s);
          cudaHostUnregister(buffer);
          munmap(buffer, n);

A container that grows, and a smart pointer that goes out of scope, do it as well.

Limits: a block that goes back to malloc stays mapped; its memory is found in flight when the allocator or the next owner writes to it.)";

constexpr char kStagedTooEarly[] =
    R"(A host function is queued that fills a buffer, and then a copy from that buffer. In the stream's order the copy comes after the function. But the buffer is pageable: the driver reads up to 2 MiB of it inside your call, before the function has run, and old data is uploaded.

  wrong:  float* buffer = (float*)malloc(n);
          cudaLaunchHostFunc(s, fill, buffer);
          cudaMemcpyAsync(device, buffer, n, cudaMemcpyHostToDevice, s);

  right:  cudaMallocHost(&buffer, n);
          cudaLaunchHostFunc(s, fill, buffer);
          cudaMemcpyAsync(device, buffer, n, cudaMemcpyHostToDevice, s);

From page-locked memory the device reads when the copy's turn has come. Or fill the buffer before the call.

It is fine only where the function does not touch the buffer; the tool sees that its bytes changed.

Limits: a staged upload is a snapshot: overwriting the source after the call changed nothing on an H200 (driver 580.159).)";

constexpr char kReliesOnStaging[] =
    R"(The buffer of a pageable asynchronous copy is used again as if the copy were over, without a wait. That is right today, because the call does not return before the driver has read the source, or written the result. It would be a race if the memory were page-locked, and page-locking is the usual advice for such a copy.

  today:  fill(buffer);
          cudaMemcpyAsync(device, buffer, n, cudaMemcpyHostToDevice, s);
          fill(buffer);

  then:   two page-locked buffers in turn, each filled after an event recorded
          behind its own copy

It is a note and never gates. Where the copy is a finding as well (pageable-async-copy), its fix says the same: double-buffer, or wait for an event, and only then page-lock.

Limits: known are only uses that the tool sees: other copies, whose contents are compared by samples, and, with races=watch,pageable, every write of the host's into the sources of uploads, from the call's return until the host has waited.)";

constexpr char kWriteCombinedRead[] =
    R"(Memory that was allocated with cudaHostAllocWriteCombined is read by the CPU, or a download goes into it, whose result is there to be read. The CPU does not cache such memory: it writes to it in bursts, which is good for buffers that are filled and uploaded, and reads it piece by piece from memory.

  wrong:  cudaHostAlloc(&result, n, cudaHostAllocWriteCombined);
          cudaMemcpyAsync(result, device, n, cudaMemcpyDeviceToHost, s);

  right:  cudaHostAlloc(&result, n, cudaHostAllocDefault);

  wrong:  cudaHostAlloc(&batch, n, cudaHostAllocWriteCombined);
          fill(batch);
          log(sum(batch));
          cudaMemcpyAsync(device, batch, n, cudaMemcpyHostToDevice, s);

  right:  leave the flag out; or compute in ordinary memory and only write to
          the buffer

Downloads are judged by the flag that was requested and the copy's direction, always. What the CPU reads is looked for with races=trap, by samples: when the memory is allocated, after its first 8 copies, then after the 16th, 32nd, and so on, all rights are taken from its pages; what touches one faults, and goes on. A read is told with its stack, the place of the allocation and the bytes. The count is of the samples in which the place read, not of its reads.

A store faults too, since x86-64 has no right to write without the right to read; it is let go on and not told. It opens its page and closes the one that was opened before, so that a buffer which is filled and then read back is found. After 8 stores only the pages that they went to are looked at, and after 8 more, or 8 other accesses, the sample is over: a program that only writes pays at most 24 faults a sample.

Neither is judged by a measured slowdown: in a virtual machine with an H200 such reads were only 1.3 times slower, while CUDA's documentation calls them prohibitively slow.

It is fine where nobody reads a downloaded result on the CPU, for a few bytes that are read once, and for streaming loads (MOVNTDQA), which are made for such memory. It is a warning and gates only with --strict or --fail-on write-combined-read.

Limits: without races=trap the CPU's reads are not seen. With it, not seen are reads between two samples or behind the end of one; of a page that was just stored to; in memory without a page of its own; in a process that has libaio or io_uring, which go past the C library; of allocations beyond 64 MiB, outside the 64 MiB around the copy; by instructions that read and write the same bytes, which count as stores; by the driver; and by other system calls that go past the C library (Go), or that it makes on a thread of its own (aio_read), which fail with EFAULT during a sample.)";

constexpr char kIgnoredError[] =
    R"(CUDA functions may not be called by a host function (cudaLaunchHostFunc, cudaStreamAddCallback): they fail with "operation not permitted" (error 800). A callback that frees the buffer of the copy before it looks right and frees nothing; a loop that allocates one each time page-locks more and more memory.

  wrong:  cudaMallocHost(&buffer, n);
          cudaMemcpyAsync(device, buffer, n, cudaMemcpyHostToDevice, s);
          cudaLaunchHostFunc(s, [](void* p) { cudaFreeHost(p); }, buffer);

  right:  the function tells a thread of the program's own to free it, or to
          use it again

It is an error where page-locked memory is left at the end, else a warning.

Limits: reported where every call from that place failed so.)";

}  // namespace

const char* races_text() {
    return kRaces;
}

const char* race_text(Rule rule) {
    switch (rule) {
        case Rule::unordered_copies:
            return kUnorderedCopies;
        case Rule::source_overwritten_in_flight:
            return kSourceOverwritten;
        case Rule::destination_overwritten_in_flight:
            return kDestinationOverwritten;
        case Rule::destination_read_in_flight:
            return kDestinationRead;
        case Rule::result_never_awaited:
            return kResultNeverAwaited;
        case Rule::graph_buffer_gone:
            return kGraphBufferGone;
        case Rule::released_in_flight:
            return kReleasedInFlight;
        case Rule::staged_too_early:
            return kStagedTooEarly;
        case Rule::relies_on_staging:
            return kReliesOnStaging;
        case Rule::write_combined_read:
            return kWriteCombinedRead;
        case Rule::ignored_error:
            return kIgnoredError;
        default:
            return "";
    }
}

}  // namespace pincheck
