// Opening the session, and what CUPTI calls then.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <new>

#include "cupti_session.h"
#include "cupti_state.h"
#include "elf_objects.h"
#include "futex.h"
#include "lifecycle.h"
#include "log.h"
#include "options.h"

namespace pincheck::cupti {

using report::CoverageKind;

std::atomic<std::uint32_t> g_phase{kClosed};
std::atomic<Session*> g_session{nullptr};
std::atomic<pid_t> g_opener{0};
std::atomic<std::uint32_t> g_program_calls{0};
std::atomic<bool> g_taken{false};

namespace {

// ---- Called by CUPTI

// Flushes are this far apart at least: where they do not help they must not keep a core busy.
constexpr std::uint64_t kFlushNs = 5'000'000;

// Before the next snapshot: CUPTI runs out of buffers.
void want_flush(Session& session) noexcept {
    if (now_ns() - session.flushed_ns.load(std::memory_order_relaxed) < kFlushNs) {
        return;
    }
    if (session.flush_wanted.load(std::memory_order_relaxed) == 0 && session.flush_wanted.exchange(1) == 0) {
        const KeepErrno keep;
        session.wake();
    }
}

void on_callback(void*, std::uint32_t domain, std::uint32_t, const CallbackData* call) {
    if (domain != kDomainDriver || call->site != kSiteEnter) {
        return;
    }
    if (const Session* session = g_session.load(std::memory_order_relaxed)) {
        const Shard* shard = t_thread.shard;
        const std::uint64_t since = shard != nullptr ? report::load(shard->slot->in_call_since_ns) : 0;
        session->calls->began(t_thread, since, call->correlation);
    }
}

// From giving CUPTI back on none is given: the program's callbacks would get it. Asked after it was taken, so that
// give_back(), which waits until none is out, cannot miss it.
std::uint8_t* buffer_for_cupti(Session& session) noexcept {
    std::uint8_t* buffer = session.buffers.take();
    const std::uint32_t phase = g_phase.load();
    if (buffer != nullptr && (phase == kLeaving || phase == kGone)) {
        session.buffers.put_back(buffer);
        return nullptr;
    }
    return buffer;
}

void on_buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
    Session* session = g_session.load(std::memory_order_acquire);
    *max_records = 0;
    *buffer = session != nullptr ? buffer_for_cupti(*session) : nullptr;
    *size = *buffer != nullptr ? BufferPool::kBytes : 0;
    // CUPTI has a buffer for each thread and keeps those of ended ones until it is flushed.
    if (session != nullptr && session->buffers.outstanding() >= BufferPool::kBuffers * 3 / 4) {
        want_flush(*session);
    }
}

void on_buffer_completed(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t, std::size_t valid) {
    Session* session = g_session.load(std::memory_order_acquire);
    if (session == nullptr) {
        return;
    }
    const KeepErrno keep;
    std::size_t dropped = 0;
    if (session->library.functions.dropped_records(context, stream, &dropped) == kSuccess) {
        session->dropped.fetch_add(dropped, std::memory_order_relaxed);
    }
    session->buffers.complete(buffer, valid);
    if (session->buffers.waiting() >= BufferPool::kBuffers / 4) {
        want_flush(*session);
    }
}

// ---- Opening

const char* text_of(const Library& library, int result) noexcept {
    const char* text = nullptr;
    if (library.functions.result_string == nullptr || library.functions.result_string(result, &text) != kSuccess) {
        text = nullptr;
    }
    return text != nullptr ? text : "unknown result";
}

void set_attributes(Session& session) noexcept {
    const Functions& cupti = session.library.functions;
    for (std::size_t i = 0; i < kAttributeCount && cupti.set_attribute != nullptr && cupti.get_attribute != nullptr;
         ++i) {
        std::size_t size = sizeof(std::size_t);
        std::size_t value = kAttributes[i].value;
        session.attribute_set[i] =
            cupti.get_attribute(kAttributes[i].id, &size, &session.attributes_before[i]) == kSuccess &&
            cupti.set_attribute(kAttributes[i].id, &size, &value) == kSuccess;
    }
}

void enable_callbacks(const Session& session, bool enable) noexcept {
    for (const IdRange range : kCopyIds) {
        for (std::uint32_t id = range.first; id <= range.last; ++id) {
            // An older CUPTI does not know the newest.
            session.library.functions.enable_callback(enable ? 1 : 0, session.subscriber, kDomainDriver, id);
        }
    }
}

constexpr std::uint32_t kKinds[] = {kKindMemcpy, kKindMemcpyPeer, kKindMemset};

}  // namespace

void tell(State& state, CoverageKind kind, const char* text) noexcept {
    state.image.add_coverage(kind, state.image.add_string({text, std::strlen(text)}), now_ns());
}

Session* own_session() noexcept {
    Session* session = g_session.load(std::memory_order_acquire);
    return session != nullptr && session->pid == getpid() && session->state == current_state() ? session : nullptr;
}

// In the other order: what is allocated at first must stay below the limit.
void restore_attributes(Session& session) noexcept {
    for (std::size_t i = kAttributeCount; i-- > 0;) {
        if (session.attribute_set[i]) {
            std::size_t size = sizeof(std::size_t);
            session.library.functions.set_attribute(kAttributes[i].id, &size, &session.attributes_before[i]);
        }
    }
}

// What makes CUPTI's cost. The callbacks go on first and off last: no record comes without its call.
int record_work(const Session& session, bool enable) noexcept {
    const Functions& cupti = session.library.functions;
    const auto change = enable ? cupti.activity_enable : cupti.activity_disable;
    if (enable) {
        enable_callbacks(session, true);
    }
    int result = kSuccess;
    for (const std::uint32_t kind : kKinds) {
        const int status = change(kind);
        result = result == kSuccess ? status : result;
    }
    if (options().cupti == CuptiUse::full) {
        change(kKindConcurrentKernel);
    }
    if (!enable) {
        enable_callbacks(session, false);
    }
    return result;
}

void add_clock_pair(Session& session) noexcept {
    std::uint64_t theirs = 0;
    const std::uint64_t before = now_ns();
    if (session.library.functions.get_timestamp(&theirs) == kSuccess) {
        session.clock.add(before + (now_ns() - before) / 2, theirs);
    }
}

void flush(Session& session, std::uint32_t flag) noexcept {
    session.library.functions.flush_all(flag);
    std::size_t dropped = 0;
    if (session.library.functions.dropped_records(nullptr, 0, &dropped) == kSuccess) {
        session.dropped.fetch_add(dropped, std::memory_order_relaxed);
    }
}

namespace {

Session* make_session(State& state) noexcept {
    void* memory = map_memory(sizeof(Session));
    void* reader = map_memory(sizeof(RecordReader));
    CallTable* calls = CallTable::create();
    if (memory == nullptr || reader == nullptr || calls == nullptr) {
        return nullptr;
    }
    auto* session = new (memory) Session(state, *calls);
    session->pid = getpid();
    session->reader = static_cast<RecordReader*>(reader);
    return session->buffers.create() ? session : nullptr;
}

// 0, or the result of the call that was refused.
int start_recording(Session& session) noexcept {
    const Functions& cupti = session.library.functions;
    int result = cupti.subscribe(&session.subscriber, &on_callback, nullptr);
    if (result != kSuccess) {
        return result;
    }
    cupti.get_version(&session.version);
    new (session.reader) RecordReader(*session.calls, session.clock, session.version >= kOverheadHasCorrelation);
    set_attributes(session);
    result = cupti.register_callbacks(&on_buffer_requested, &on_buffer_completed);
    result = result == kSuccess ? record_work(session, true) : result;
    if (result != kSuccess) {
        restore_attributes(session);
        cupti.unsubscribe(session.subscriber);
        return result;
    }
    cupti.activity_enable(kKindOverhead);
    add_clock_pair(session);
    session.window_start = now_ns();
    return kSuccess;
}

// Signals are masked, for CUPTI's threads too. False: the report says why.
bool open_masked(State& state, void (*wake)()) noexcept {
    char text[PATH_MAX + 128];
    Session* session = make_session(state);
    if (session == nullptr) {
        tell(state, CoverageKind::no_device_times, "no memory for CUPTI's buffers");
        return false;
    }
    session->wake = wake;
    if (!open_library(session->library, text, sizeof(text))) {
        tell(state, CoverageKind::no_device_times, text);
        return false;
    }
    g_session.store(session, std::memory_order_release);
    const int result = start_recording(*session);
    if (result == kSuccess) {
        std::snprintf(text, sizeof(text), "%s, version %u", session->library.path, session->version);
        tell(state, CoverageKind::device_times, text);
        return true;
    }
    if (result == kMultipleSubscribers) {
        std::snprintf(text, sizeof(text), "another tool uses CUPTI (%s)", text_of(session->library, result));
    } else {
        std::snprintf(text, sizeof(text), "CUPTI refused: %d, %s (%s)", result, text_of(session->library, result),
                      session->library.path);
    }
    tell(state, CoverageKind::no_device_times, text);
    return false;
}

// It does not know what CUPTI, which is not built with it, synchronises, and counts races where there are none: the
// program would end with another status.
bool has_thread_sanitizer() noexcept {
    bool found = false;
    for_each_object([&](const ElfObject& object) {
        found = object.find("__tsan_init") != nullptr;
        return found;
    });
    return found;
}

// Why CUPTI is to be left alone; null: it is not.
const char* reason_to_stay_away() noexcept {
    if (options().cupti == CuptiUse::off) {
        return "cupti=off";
    }
    for (const char* name : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"}) {
        const char* value = start_environment(name);
        if (value != nullptr && value[0] != '\0') {
            return name[0] == 'C' ? "another tool is in the process (CUDA_INJECTION64_PATH)"
                                  : "another tool is in the process (NVTX_INJECTION64_PATH)";
        }
    }
    if (has_thread_sanitizer()) {
        return "the program is built with the thread sanitizer";
    }
    return g_program_calls.load() != 0 || g_taken.load() ? "the program uses CUPTI itself" : nullptr;
}

}  // namespace

void open(State& state, void (*wake)()) noexcept {
    if (state.after_fork) {
        return;  // CUDA does not work there
    }
    g_opener.store(getpid());
    g_phase.store(kOpening);
    bool opened = false;
    if (const char* reason = reason_to_stay_away()) {
        tell(state, CoverageKind::no_device_times, reason);
    } else {
        sigset_t all;
        sigset_t before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        opened = open_masked(state, wake);
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }
    g_phase.store(opened ? kOpen : kClosed);
    futex_wake(g_phase);
}

}  // namespace pincheck::cupti
