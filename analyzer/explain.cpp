#include "explain.h"

#include <algorithm>
#include <iterator>

#include "explain_gate.h"
#include "explain_races.h"
#include "explain_waits.h"

namespace pincheck {
namespace {

constexpr char kPageableAsyncCopy[] =
    R"(A call that is named asynchronous (cudaMemcpyAsync, cuMemcpyHtoDAsync, …) was given host memory that CUDA has not page-locked: malloc, new, a vector, the stack, a NumPy array, a file mapping. The copy engine cannot read or write such memory, so the driver copies through a page-locked staging buffer of its own, by the CPU, inside your call. CUDA reports no error, the results are right, and the call is no longer asynchronous.

What it costs, measured on an H200 (driver 580.159, CUDA 13.0), 64 MiB on an idle stream: from pageable memory the call takes 12.7 ms, which is 99.8 % of the whole copy; from pinned memory 10 microseconds, 0.8 % of a copy that also runs ten times as fast. Behind a 30 ms kernel in the same stream:

  device-to-host, any size       the call waits until the kernel has ended
  host-to-device, 4 MiB and up   the same
  host-to-device, up to 2 MiB    staged: returns in 11 to 330 microseconds, does not wait
  the same, again and again      waits once the staging memory is full (about 4 MiB)

So a 4-byte download of a loss or a counter can hold a thread longer than a large upload: it waits for everything that was queued before it. That is why findings are ranked by the host time held and not by bytes.

  wrong:  std::vector<float> batch(n);
          for (;;) {
              fill(batch);
              cudaMemcpyAsync(device, batch.data(), bytes, cudaMemcpyHostToDevice, s);
              step<<<g, b, 0, s>>>(device);
          }

  right:  float* batch;
          cudaMallocHost(&batch, bytes);
          for (;;) {
              cudaEventSynchronize(copied);
              fill(batch);
              cudaMemcpyAsync(device, batch, bytes, cudaMemcpyHostToDevice, s);
              cudaEventRecord(copied, s);
              step<<<g, b, 0, s>>>(device);
          }

To fix it, allocate the transfer buffer page-locked, once, outside the loop: cudaMallocHost or cudaHostAlloc; cudaHostRegister for memory that another library allocated (and cudaHostUnregister before it is freed); DataLoader(pin_memory=True) with .to(device, non_blocking=True) in PyTorch. Pin transfer buffers, not data sets: page-locked memory cannot be swapped and counts against the container's limit, and pinning 64 MiB takes 20 to 40 ms.

Pinning changes what the program may do next. A pageable upload has been read when the call returns, and a pageable download has arrived; a pinned copy is still running. Wait for an event or for the stream before the source is written again or the result is read. A program that reused the buffer at once was safe only because the copy was slow: where that was seen, the finding says so (see `pincheck explain relies-on-staging`).

It is fine to leave alone where the copy runs once (such sites are labelled "once"), or where the call is cheap and nothing could overlap with it. If the copy is meant to block, say so: cudaMemcpy does the same work, and pincheck does not report it. --allow-staged exempts uploads that were measured not to wait.

Limits: the class of the memory is the driver's answer at the time of the call. Memory locked by mlock is still pageable for CUDA. On systems where the device uses the host's page tables (Grace) "pageable" does not mean "slow": judge by the times. Copies that go into a graph are marked and move nothing by themselves.)";

constexpr char kManagedAsyncCopy[] =
    R"(The host side of an asynchronous copy is managed memory (cudaMallocManaged). Where its pages are is decided when they are used, so the driver cannot hand the address to a copy engine in advance.

Measured on an H200 (driver 580.159, CUDA 13.0): a copy from managed memory behind a 30 ms kernel in the same stream waited for that kernel in the call, even for 256 bytes, in both directions. There is no small size that is staged, as there is for pageable uploads.

  wrong:  cudaMallocManaged(&batch, n);
          cudaMemcpyAsync(device, batch, n, cudaMemcpyHostToDevice, s);
          step<<<g, b, 0, s>>>(device);

  right:  cudaMallocHost(&batch, n);
          cudaMemcpyAsync(device, batch, n, cudaMemcpyHostToDevice, s);
          step<<<g, b, 0, s>>>(device);

To fix it, either drop the copy and let the kernel use the managed pointer (cudaMemPrefetchAsync moves the pages ahead of time and does not block), or copy from a pinned buffer instead. Mixing both, managed memory that is then copied, pays for the migration and for the copy.

It is fine where the copy runs once, or where the host has nothing else to do then. It is a warning and gates only with --strict or --fail-on managed-async-copy.

Limits: pincheck sees that the memory is managed and how long the call held the host, not where the pages were. On systems with hardware-coherent memory the cost may be small: judge by the times.)";

constexpr char kCopyThenSync[] =
    R"(A copy was issued asynchronously, and the same thread's very next CUDA call waited for that stream. The host spends the copy's time waiting, in one call or in the other: nothing overlaps.

There are two kinds. Inside a library it is a blocking copy built from two calls: PyTorch implements .to(device), .cpu(), .item() and model.to() as cudaMemcpyAsync from pageable memory followed by cudaStreamSynchronize. In one training job on an H200, 253 of 382 pageable asynchronous copies were of this kind. The library meant to block; reporting each as a failed asynchronous copy would bury the ones that you wrote. In your own code it is a pinned copy whose wait comes straight after it: the memory is right, the asynchrony is not used.

  wrong:  cudaMemcpyAsync(next, batch, n, cudaMemcpyHostToDevice, s);
          cudaStreamSynchronize(s);
          prepare(other_batch);

  right:  cudaMemcpyAsync(next, batch, n, cudaMemcpyHostToDevice, s);
          cudaEventRecord(copied, s);
          prepare(other_batch);
          cudaEventSynchronize(copied);

To fix it in a framework, ask for the asynchronous form: pin_memory=True and non_blocking=True for batches; keep losses on the device and fetch them every hundred steps; and wait for an event before a non-blocking download is read. In your own code, issue other work between the copy and the wait: the next batch's copy on a second stream, a kernel that does not need the result, or work of the CPU.

It is fine where the result is needed at once and there is nothing else to do, or outside the loop that matters. It is counted in one line and does not gate; `pincheck report --all` lists the sites, --strict gates them.

Limits: "the very next call" is judged for each thread and knows copies, allocations, waits, launches, event records and graph launches. A wait after some other call in between is not counted. A pageable asynchronous copy in your own code is reported as pageable-async-copy whether it is waited for or not.)";

constexpr char kStraddlesRegistration[] =
    R"(The host range of a copy is page-locked in one part and not in the other: a buffer was registered with too short a length, or grew after it was registered, or two registrations were taken for one. CUDA refuses such a copy with "invalid argument", and a program that does not check the result goes on with old data.

Measured on an H200 (driver 580.159, CUDA 13.0): 32 MiB registered of a 64 MiB buffer, and also an 8 KiB copy across the edge of a registration, both failed. The unregistered part alone is simply pageable; the registered part alone is pinned.

  wrong:  cudaHostRegister(buffer, n / 2, cudaHostRegisterDefault);
          cudaMemcpyAsync(device, buffer, n, cudaMemcpyHostToDevice, s);

  right:  check(cudaHostRegister(buffer, n, cudaHostRegisterDefault));
          check(cudaMemcpyAsync(device, buffer, n, cudaMemcpyHostToDevice, s));

To fix it, register the whole range that copies will use (cudaHostRegister with the buffer's full size; whole pages are best), register again after a reallocation, and check what cudaHostRegister and the copy return. If the buffer is yours, cudaMallocHost cannot go wrong in this way.

There is no case in which it is fine: no byte is copied.

Limits: pincheck compares the copy's range with the registrations that it saw and that the driver confirms. It does not know what the program did with the error.)";

constexpr char kBlind[] =
    R"(A check that saw nothing must not pass. `pincheck check` and `pincheck run --check` end with "NO CONCLUSION" and exit status 3 when there is no report, when no CUDA call was recorded, when a file is damaged or cut, when calls were lost or passed by the tool, when a race was found and could not be kept, or when the memory of asynchronous copies is not known. If something that gates was seen all the same, the verdict is FAIL.

No report usually means that the library was not loaded. LD_PRELOAD does not go through sudo, through docker run (pass it with -e and mount the library), through ssh, or through srun and mpirun unless the variable is exported to the ranks. Programs that are fully static or set-id ignore it.

No CUDA call: the program found no device, ended before it used one, or does not use CUDA; --allow-no-cuda makes that a pass. Some programs are seen only through one of the three routes (exported runtime functions, exported driver functions, look-ups in the driver), and exports=off and dlsym=off close them.

What is not seen is said in the report under "Not seen": libraries that define a CUDA function themselves, driver functions that were resolved to an address which the tool does not know, a missing libunwind (stacks then end at code without unwind tables, so sites may run together), and losses, with their number.

Not seen by this version in any run: functions that are not in the list (report/entry_points.md), and what kernels read and write.)";

}  // namespace

const char* explain_text(Rule rule) {
    switch (rule) {
        case Rule::pageable_async_copy:
            return kPageableAsyncCopy;
        case Rule::managed_async_copy:
            return kManagedAsyncCopy;
        case Rule::copy_then_sync:
            return kCopyThenSync;
        case Rule::straddles_registration:
            return kStraddlesRegistration;
        case Rule::hidden_wait:
            return hidden_wait_text();
        default:
            return race_text(rule);
    }
}

std::vector<ExplainTopic> explain_topics() {
    std::vector<ExplainTopic> topics;
    for (const RuleInfo& rule : rules()) {
        topics.push_back({rule.slug, rule.claim, rule.explain});
    }
    std::ranges::move(wait_topics(), std::back_inserter(topics));
    topics.push_back(
        {"races", "buffers that are used again before their copy has finished: how that is found", races_text()});
    topics.push_back({"default-gate", "what makes `pincheck check` fail when nothing is set", default_gate_text()});
    topics.push_back({"gate", "thresholds, suppressions, baselines and pincheck.toml: what may pass", gate_text()});
    topics.push_back({"blind", "why a run can end without a conclusion, and what was not seen", kBlind});
    return topics;
}

}  // namespace pincheck
