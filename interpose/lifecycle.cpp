#include "lifecycle.h"

#include <dlfcn.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>

#include "bypass.h"
#include "clock.h"
#include "coverage.h"
#include "cupti_session.h"
#include "elf_objects.h"
#include "futex.h"
#include "log.h"
#include "lookup_route.h"
#include "options.h"
#include "process_info.h"
#include "real.h"
#include "report_file.h"
#include "stack.h"
#include "stack_room.h"
#include "stack_walk.h"
#include "tool_thread.h"
#include "transfers.h"

namespace pincheck {

std::atomic<LifePage*> g_life{nullptr};

namespace {

constexpr std::uint64_t kSnapshotNs = 250'000'000;
constexpr std::uint64_t kStartWaitNs = 500'000'000;
constexpr std::uint64_t kExitWaitNs = 2'000'000'000;
constexpr std::size_t kThreadStack = 256 * 1024;
// Loading CUPTI takes more than the smallest stack (measured: CUDA 13.0, 16 KiB).
constexpr std::size_t kCuptiStack = 128 * 1024;

// How many States this process and its forebears have had: survives a fork, unlike the page.
std::atomic<std::uint64_t> g_generation{0};

// What the starting thread, the tool thread and the exit handler say to each other.
struct Writer {
    State* state;
    pid_t pid;
    bool opens_cupti;
    ReportFile file;
    char name[512];
    char directory[PATH_MAX];
    std::atomic<std::uint32_t> opened;    // 1: the file was created and written once, or could not be
    std::atomic<std::uint32_t> wake;      // changes when there is something to do before the next snapshot
    std::atomic<std::uint32_t> finish;    // 1: write the final snapshot
    std::atomic<std::uint32_t> finished;  // 1: written
    std::atomic<std::uint32_t> complained;
    std::atomic<std::uint32_t> asked;     // calls of pincheck_flush() so far
    std::atomic<std::uint32_t> answered;  // of these, the ones that a snapshot was begun after and has been written
    std::atomic<std::int64_t> snapshots;  // that wrote something; -1: the last one could not be written
};
std::atomic<Writer*> g_writer{nullptr};

// May be called by any thread: there may be no tool thread yet, or not any more.
void wake_tool_thread() noexcept {
    if (Writer* writer = g_writer.load(std::memory_order_acquire)) {
        writer->wake.fetch_add(1, std::memory_order_release);
        futex_wake(writer->wake);
    }
}

// A fork's child that is inert has its parent's writer in its memory, but not the thread.
Writer* writer_of(const State* state) noexcept {
    Writer* writer = g_writer.load(std::memory_order_acquire);
    const bool own = state != nullptr && writer != nullptr && writer->state == state && writer->pid == getpid();
    return own ? writer : nullptr;
}

// Adds what was lost since `told` to the report's losses.
std::uint64_t tell_lost_streams(State& state, std::uint64_t told) noexcept {
    const Streams::Losses losses = state.streams.losses();
    const std::uint64_t lost = losses.streams + losses.events + losses.edges;
    state.image.lose(report::Loss::streams, lost - told, 0, now_ns());
    return lost;
}

std::uint64_t tell_lost_ranges(State& state, std::uint64_t told) noexcept {
    const std::uint64_t lost = state.races.lost_ranges();
    state.image.lose(report::Loss::in_flight, lost - told, 0, now_ns());
    return lost;
}
std::uint64_t tell_unwatched(State& state, std::uint64_t told) noexcept {
    const std::uint64_t unwatched = state.watched.unwatched();
    state.image.lose(report::Loss::unwatched, unwatched - told, 0, now_ns());
    return unwatched;
}

// The tool thread. All signals are blocked: a SIGXFSZ or SIGPIPE of ours must not reach the program.
void* write_reports(void* data) {
    Writer& writer = *static_cast<Writer*>(data);
    prctl_name();
    writer.file.own_descriptors();
    if (writer.file.create(writer.name, writer.directory, start_settings().temporary_directory)) {
        // A process that ends at once leaves a readable report.
        writer.file.write(writer.state->image, now_ns(), report::FileState::running);
    }
    if (writer.opens_cupti && writer.file.is_open()) {
        cupti::open(*writer.state, &wake_tool_thread);
    }
    set_and_wake(writer.opened);
    std::uint64_t unmapped = objects_unmapped();
    report::FileState state = report::FileState::running;
    Transfers transfers(*writer.state);
    std::uint64_t lost_streams = 0;
    std::uint64_t lost_ranges = 0;
    std::uint64_t unwatched = 0;
    bool told_watched = false;
    while (writer.file.is_open()) {
        const std::uint32_t wake = writer.wake.load(std::memory_order_acquire);
        const bool finish = writer.finish.load(std::memory_order_acquire) != 0;
        const std::uint32_t asked = writer.asked.load(std::memory_order_acquire);
        if (finish) {
            state = report::FileState::ended;
        }
        const std::uint64_t now = objects_unmapped();
        if (now != unmapped) {
            unmapped = now;
            forget_callers();
            forget_frames();
        }
        note_libraries(*writer.state, finish);
        if (finish && !told_watched) {
            told_watched = true;
            note_watched(*writer.state);
        }
        cupti::tick(*writer.state, transfers.sink());
        transfers.name_kernels();
        transfers.judge_accesses();
        lost_streams = tell_lost_streams(*writer.state, lost_streams);
        lost_ranges = tell_lost_ranges(*writer.state, lost_ranges);
        unwatched = tell_unwatched(*writer.state, unwatched);
        const bool written = writer.file.write(writer.state->image, now_ns(), state);
        writer.snapshots.store(written ? static_cast<std::int64_t>(writer.state->image.snapshots()) : -1);
        writer.answered.store(asked, std::memory_order_release);
        futex_wake(writer.answered);
        if (finish && writer.finished.load(std::memory_order_relaxed) == 0) {
            set_and_wake(writer.finished);
        }
        futex_wait(writer.wake, wake, kSnapshotNs);
    }
    cupti::stop();
    set_and_wake(writer.finished);
    return nullptr;
}

LifePage* life_page() noexcept {
    LifePage* page = g_life.load(std::memory_order_acquire);
    if (page != nullptr) {
        return page;
    }
    void* memory = map_memory(4096);
    if (memory == nullptr) {
        return nullptr;
    }
    // Before Linux 4.14 a child would go on writing into its copy of the parent's State: harmless, and not written.
    madvise(memory, 4096, MADV_WIPEONFORK);
    auto* fresh = new (memory) LifePage{};
    if (g_life.compare_exchange_strong(page, fresh, std::memory_order_acq_rel)) {
        return fresh;
    }
    unmap_memory(memory, 4096);
    return page;
}

State* make_state() noexcept {
    const std::uint64_t start_ns = now_ns();
    report::Image* image =
        report::Image::create(report::ImageLimits{}, static_cast<std::uint32_t>(getpid()), start_ns, realtime_ns());
    void* memory = image != nullptr ? map_memory(sizeof(State)) : nullptr;
    if (memory == nullptr) {
        return nullptr;
    }
    auto* state = new (memory) State(*image);
    state->start_ns = start_ns;
    state->generation = g_generation.fetch_add(1) + 1;
    state->after_fork = state->generation > 1;
    return state;
}

Writer* make_writer(State& state) noexcept {
    void* memory = map_memory(sizeof(Writer));
    if (memory == nullptr) {
        return nullptr;
    }
    auto* writer = new (memory) Writer{};
    writer->state = &state;
    writer->pid = getpid();
    // The directory of the first call: the program may change it before the tool thread gets there.
    if (getcwd(writer->directory, sizeof(writer->directory)) == nullptr) {
        std::snprintf(writer->directory, sizeof(writer->directory), "%s", start_settings().temporary_directory);
    }
    if (!report_name(writer->name, sizeof(writer->name))) {
        say(Level::problem, "the output name is too long; no report is made");
        return nullptr;
    }
    return writer;
}

// Once: at the start when the file cannot be made, else at the exit.
void complain_about(Writer& writer) noexcept {
    if (writer.file.problem()[0] != '\0' && writer.complained.exchange(1) == 0) {
        say(Level::problem, "%s", writer.file.problem());
    }
}

// In a fork's child nothing is in flight, and the parent's descriptors are not the child's to use.
void open_watch(State& state) noexcept {
    if (state.after_fork) {
        const Writer* parent = g_writer.load(std::memory_order_acquire);
        if (parent != nullptr && parent->state != &state) {
            parent->state->watched.close_in_child();
        }
        return;
    }
    if (options().races == RaceUse::off) {
        return;
    }
    if (has_seccomp_filter()) {
        state.races.read_nothing();
    }
    if (options().races >= RaceUse::watch) {
        auto policy =
            options().sample == WatchSampling::count ? WatchBudget::Policy::by_count : WatchBudget::Policy::by_cost;
        if (options().races == RaceUse::trap && state.watched.open_trap(state) == TrapRefusal::none) {
            policy = WatchBudget::Policy::all;
        }
        state.watched.open(policy, std::uint64_t{options().budget_percent} * 10, state.start_ns);
    }
}

// The one thread that won: everything that may take a lock of the loader's happens here, after the State is visible.
void finish_start(State& state, bool at_end) noexcept {
    if (options().complaint[0] != '\0' && !state.after_fork) {
        say(Level::problem, "%s", options().complaint);
    }
    if (!state.after_fork) {
        objects_belong_to(getpid(), libc_dlsym(RTLD_DEFAULT, "_dl_find_object"));
    }
    record_process(state);
    open_watch(state);
    if (!state.after_fork && !at_end && options().stacks) {
        open_unwinder();
    }
    note_start(state);
    note_races(state);
    // On the caller's thread, which may hold the loader's lock (a constructor that calls CUDA); on the tool's, for
    // which the caller waits a while, where the stack is too small.
    const bool room = has_stack_room(kCuptiStack);
    if (!at_end && room) {
        cupti::open(state, &wake_tool_thread);
    }
    Writer* writer = make_writer(state);
    if (writer != nullptr) {
        writer->opens_cupti = !at_end && !room;
    }
    if (writer == nullptr || !start_tool_thread(kThreadStack, &write_reports, writer)) {
        cupti::stop();
        say(Level::problem, "cannot start a thread: %s; no report is made", std::strerror(errno));
        return;
    }
    g_writer.store(writer, std::memory_order_release);
    wait_until_set(writer->opened, kStartWaitNs);
    if (writer->opened.load() != 0) {
        complain_about(*writer);
        if (writer->file.is_open()) {
            say(Level::note, "writing %s", writer->file.path());
        }
    }
}

// A thread whose first call comes while another one starts the tool. Bounded: the starter may wait for a lock of the
// loader's that this very thread holds (a constructor that calls CUDA).
void wait_for_starter() noexcept {
    const std::uint64_t deadline = now_ns() + kStartWaitNs;
    while (unwinder() <= Unwinder::opening && options().stacks && now_ns() < deadline) {
        sched_yield();
    }
}

__attribute__((constructor)) void on_load() {
    const KeepErrno keep;
    process_started();
    start_settings();
    remember_stderr();
}

State* start(bool at_end) noexcept;

// No call was seen. Is that because they went past us? Then the report says so: without one a blind run would look like
// one that used no CUDA. Not in a fork's child, whose parent has told it.
State* start_if_blind() noexcept {
    if (g_generation.load() != 0) {
        return nullptr;
    }
    find_bypasses();
    return bypassed(0) != nullptr ? start(true) : nullptr;
}

__attribute__((destructor)) void on_exit() {
    State* state = current_state();
    if (state == nullptr) {
        const KeepErrno keep;
        state = start_if_blind();
    }
    Writer* writer = writer_of(state);
    if (writer == nullptr) {
        return;
    }
    const KeepErrno keep;
    const NotCancelled whole;
    state->watched.ended(0, -1);
    state->races.ended(0, -1);
    writer->finish.store(1, std::memory_order_release);
    wake_tool_thread();
    wait_until_set(writer->finished, kExitWaitNs);
    complain_about(*writer);
}

State* start(bool at_end) noexcept {
    const KeepErrno keep;
    const NotCancelled whole;
    process_started();
    LifePage* page = life_page();
    if (page == nullptr || page->gave_up.load(std::memory_order_acquire) != 0) {
        return nullptr;
    }
    if (is_set_id()) {
        page->gave_up.store(1, std::memory_order_release);  // no file with other rights than the user's own
        return nullptr;
    }
    std::uint32_t expected = 0;
    if (!page->starting.compare_exchange_strong(expected, 1)) {
        while (page->state.load(std::memory_order_acquire) == nullptr && page->gave_up.load() == 0) {
            sched_yield();  // the other thread is between two allocations
        }
        wait_for_starter();
        return page->state.load(std::memory_order_acquire);
    }
    State* state = make_state();
    if (state == nullptr) {
        page->gave_up.store(1, std::memory_order_release);
        say(Level::problem, "no memory for the report; nothing is recorded");
        return nullptr;
    }
    page->state.store(state, std::memory_order_release);
    finish_start(*state, at_end);
    return state;
}

}  // namespace

State* start() noexcept {
    return start(false);
}

extern "C" __attribute__((visibility("default"))) std::int64_t pincheck_flush() noexcept {
    const KeepErrno keep;
    Writer* writer = writer_of(current_state());
    if (writer == nullptr) {
        return 0;
    }
    const NotCancelled whole;
    const std::uint32_t ticket = writer->asked.fetch_add(1, std::memory_order_acq_rel) + 1;
    wake_tool_thread();
    const auto is_done = [ticket](std::uint32_t answered) { return static_cast<std::int32_t>(answered - ticket) >= 0; };
    return futex_wait_for(writer->answered, kExitWaitNs, is_done) ? writer->snapshots.load() : -1;
}

}  // namespace pincheck
