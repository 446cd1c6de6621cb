// Calls of several threads that overlap: what the real calls did is decided somewhere between their begin and their
// end, and whatever that was, the tool must not claim more than the oracle (stream_oracle.h) knows. And real threads,
// for the thread sanitizer.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "interpose/streams.h"
#include "stream_oracle.h"

namespace pincheck {
namespace {

using oracle::Default;
using oracle::Oracle;

constexpr std::uintptr_t kContext = 0xc0;
constexpr std::uintptr_t kEvent = 0xe0;

enum class Kind { issue, record, wait, synchronise, synchronise_event, synchronise_context, kinds };

struct Call {
    Kind kind{};
    unsigned stream = 0;
    std::uintptr_t event = 0;
    bool done = false;  // by the driver
    int node = -1;
    Operation operation;
    EventUse use;
    ContextWait wait;
};

class Overlap {
  public:
    explicit Overlap(unsigned seed) : random_(seed) {
        const struct {
            std::uintptr_t handle;
            Default kind;
            bool non_blocking;
        } all[] = {{1, Default::legacy, false},
                   {2, Default::per_thread, false},
                   {0x100, Default::no, false},
                   {0x200, Default::no, false},
                   {0x300, Default::no, true}};
        for (const auto& one : all) {
            refs_.push_back(streams_.add(kContext, 0, one.handle, 1, one.non_blocking, 0));
            oracle_.add_stream(0, one.kind, one.non_blocking);
        }
    }

    void step() {
        if (open_.size() < 4 && random_() % 2 == 0) {
            open_.push_back(begin());
            return;
        }
        if (open_.empty()) {
            return;
        }
        const std::size_t index = random_() % open_.size();
        Call& call = open_[index];
        if (!call.done) {
            execute(call);
            call.done = true;
        } else {
            end(call);
            open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(index));
        }
    }

    void compare() {
        for (const auto& [ticket, node] : issued_) {
            if (streams_.is_known_complete(ticket)) {
                ++known_;
                ASSERT_TRUE(oracle_.is_known(node))
                    << "operation " << ticket.sequence << " of " << ticket.stream << log_;
            }
        }
    }
    int known() const { return known_; }

  private:
    Call begin() {
        Call call;
        call.kind = static_cast<Kind>(random_() % (static_cast<unsigned>(Kind::kinds) + 3));
        if (call.kind >= Kind::kinds) {
            call.kind = Kind::issue;
        }
        call.stream = static_cast<unsigned>(random_() % refs_.size());
        call.event = kEvent + 8 * (random_() % 2);
        const StreamRef stream = refs_[call.stream];
        switch (call.kind) {
            case Kind::synchronise:
                call.operation = streams_.begin_wait(stream);
                break;
            case Kind::synchronise_event:
                call.use = streams_.look(call.event);
                break;
            case Kind::synchronise_context:
                call.wait = streams_.begin_context_wait(kContext);
                break;
            case Kind::record:
                call.operation = streams_.begin(stream);
                call.use = streams_.begin_record(call.event);
                break;
            case Kind::wait:
                call.operation = streams_.begin(stream);
                call.use = streams_.look(call.event);
                break;
            default:
                call.operation = streams_.begin(stream);
                break;
        }
        note("begin", call);
        return call;
    }
    void execute(Call& call) {
        const int stream = static_cast<int>(call.stream);
        switch (call.kind) {
            case Kind::synchronise:
                oracle_.know_stream(stream);
                break;
            case Kind::synchronise_event:
                oracle_.know_event(call.event);
                break;
            case Kind::synchronise_context:
                oracle_.know_context(0);
                break;
            case Kind::record:
                oracle_.record(call.event, stream);
                break;
            case Kind::wait:
                oracle_.wait(stream, call.event);
                break;
            default:
                call.node = oracle_.put(stream, true, false);
                break;
        }
        note("execute", call);
    }
    void end(Call& call) {
        switch (call.kind) {
            case Kind::synchronise:
                streams_.learned(call.operation);
                break;
            case Kind::synchronise_event:
                streams_.learned(call.use);
                break;
            case Kind::synchronise_context:
                streams_.learned(call.wait);
                break;
            case Kind::record:
                streams_.end_record(call.use, call.operation, true);
                break;
            case Kind::wait:
                streams_.waited(call.operation, call.use);
                break;
            default:
                issued_.emplace_back(streams_.issued(call.operation), call.node);
                break;
        }
        note("end", call);
    }
    void note(const char* what, const Call& call) {
        log_ += "\n  " + std::string(what) + " " + std::to_string(static_cast<int>(call.kind)) + " stream " +
                std::to_string(call.stream + 1) + " event " + std::to_string(call.event);
    }

    std::mt19937 random_;
    Streams streams_;
    Oracle oracle_;
    std::vector<StreamRef> refs_;
    std::vector<Call> open_;
    std::vector<std::pair<Ticket, int>> issued_;
    std::string log_;
    int known_ = 0;
};

TEST(StreamsOverlap, NothingIsClaimedThatOverlappingCallsDoNotPromise) {
    std::uint64_t known = 0;
    for (unsigned seed = 1; seed <= 1500; ++seed) {
        auto program = std::make_unique<Overlap>(seed);
        for (int i = 0; i < 80; ++i) {
            program->step();
            program->compare();
            if (testing::Test::HasFatalFailure()) {
                FAIL() << "seed " << seed;
            }
        }
        known += static_cast<std::uint64_t>(program->known());
    }
    EXPECT_GT(known, 30000u);  // it does claim something
}

// Each thread works in streams of its own, in one that all share and in the legacy stream; it checks what its own waits
// promise it.
TEST(StreamsThreads, EachKnowsWhatItsOwnWaitsPromise) {
    auto owner = std::make_unique<Streams>();
    Streams& streams = *owner;
    constexpr std::uintptr_t kThreads = 4;
    const StreamRef legacy = streams.add(kContext, 0, 1, 0, false, 0);
    const StreamRef shared = streams.add(kContext, 0, 0x100, 0, false, 0);
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (std::uintptr_t t = 1; t <= kThreads; ++t) {
        threads.emplace_back([&, t] {
            std::mt19937 random(static_cast<unsigned>(t));
            const std::uintptr_t handle = 0x1000 * t;
            const std::uintptr_t event = 0x1000 * t + 8;
            LastStream last;
            for (int i = 0; i < 3000; ++i) {
                const StreamRef made = streams.add(kContext, 0, handle, 0, i % 3 == 0, 0);
                const StreamRef own = streams.find(last, kContext, handle, 0);
                wrong += own.number != made.number;
                streams.issued(streams.begin(own));
                const Ticket second = streams.issued(streams.begin(shared));
                streams.end_record(streams.begin_record(event), streams.begin(shared), true);
                streams.waited(streams.begin(own), streams.look(event));
                const Operation call = streams.begin(own);
                const std::uint64_t gate = streams.new_gate();
                const Ticket function = streams.issued_gate(call, gate);
                const Ticket third = streams.issued(streams.begin(own));
                // Unless another thread's wait covered the gate.
                wrong += streams.is_armed(third) && !streams.is_known_complete(function);
                streams.gate_opened(call, gate);
                switch (random() % 4) {
                    case 0:
                        streams.learned(streams.begin_wait(own));
                        wrong += !streams.is_known_complete(third);
                        break;
                    case 1:
                        streams.learned(streams.begin_context_wait(kContext));
                        wrong += !streams.is_known_complete(third);
                        break;
                    case 2:
                        streams.issued(streams.begin(legacy));
                        streams.learned(streams.begin_wait(legacy));
                        wrong += i % 3 != 0 && !streams.is_known_complete(third);
                        break;
                    default:
                        streams.learned(streams.look(event));
                        wrong += !streams.is_known_complete(second);
                        break;
                }
                streams.pending_in_context(kContext);
                streams.stream_destroyed(handle);
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(wrong, 0);
    streams.learned(streams.begin_context_wait(kContext));
    EXPECT_FALSE(streams.pending_in_context(kContext).work);
}

// Another thread learns of the work while it is asked what is behind it.
TEST(StreamsThreads, WhatIsBehindIsNeverMissedWhileItIsLearnedOf) {
    auto owner = std::make_unique<Streams>();
    Streams& streams = *owner;
    const StreamRef first = streams.add(kContext, 0, 0x100, 0, true, 0);
    const StreamRef second = streams.add(kContext, 0, 0x200, 0, true, 0);
    const StreamRef third = streams.add(kContext, 0, 0x300, 0, true, 0);
    std::atomic<bool> over{false};
    std::thread learner([&] {
        while (!over.load()) {
            streams.learned(streams.begin_wait(first));
            std::this_thread::yield();
        }
    });
    const auto behind = [&](StreamRef stream, StreamRef waits) {
        streams.end_record(streams.begin_record(kEvent), streams.begin(stream), true);
        streams.waited(streams.begin(waits), streams.look(kEvent));
    };
    int wrong = 0;
    for (int i = 0; i < 20'000; ++i) {
        const Ticket work = streams.issued(streams.begin(first));
        behind(first, second);
        streams.issued(streams.begin(second));
        behind(second, third);
        wrong += streams.is_behind(streams.begin(third), work) ? 0 : 1;
        streams.issued(streams.begin(third));
        if (i % 64 == 0) {
            streams.learned(streams.begin_wait(third));
        }
    }
    over.store(true);
    learner.join();
    EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace pincheck
