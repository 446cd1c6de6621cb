// Random programs of streams and events, whose every piece of work the tool must know complete exactly when the oracle
// does (stream_oracle.h), after every step.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "interpose/streams.h"
#include "stream_oracle.h"

namespace pincheck {
namespace {

using oracle::Default;
using oracle::Oracle;

constexpr int kContexts = 3;  // two on device 0, one on device 1
constexpr std::uintptr_t kHandles = 6;
constexpr std::uintptr_t kEvents = 5;
constexpr std::uint32_t kThreads = 2;

std::uintptr_t context_handle(int context) {
    return 0x1000 + 0x100 * static_cast<std::uintptr_t>(context);
}

// A stream that exists, under both views.
struct Live {
    std::uintptr_t handle = 0;
    std::uint32_t thread = 0;
    int context = 0;  // index of a life of a context
    int oracle = 0;
    StreamRef ref;
};

struct Issued {
    Ticket ticket;
    int node = 0;
    int stream = 0;
};

// A host function that was put into a stream.
struct HostFunction {
    Operation operation;
    std::uint64_t gate = 0;
    int node = 0;
    bool started = false;
};

class Program {
  public:
    explicit Program(unsigned seed) : random_(seed) {
        for (int place = 0; place < kContexts; ++place) {
            life_[place] = place;
        }
        lives_ = kContexts;
    }

    void step() {
        switch (pick(24)) {
            case 0:
            case 1:
                create();
                break;
            case 2:
                destroy();
                break;
            case 3:
            case 4:
            case 5:
            case 6:
            case 7:
                issue(false);
                break;
            case 8:
            case 9:
            case 10:
                record();
                break;
            case 11:
            case 12:
            case 13:
                wait();
                break;
            case 14:
                synchronise_stream();
                break;
            case 15:
                synchronise_event();
                break;
            case 16:
                if (pick(3) == 0) {
                    synchronise_context();
                }
                break;
            case 17:
                synchronous_copy();
                break;
            case 18:
            case 19:
                if (gates_allowed_) {
                    put_host_function();
                }
                break;
            case 20:
                run_host_function();
                break;
            case 21:
                if (gates_allowed_) {
                    issue(true);
                }
                break;
            case 22:
                change_event();
                break;
            default:
                rare();
                break;
        }
    }

    void allow_gates(bool allowed) { gates_allowed_ = allowed; }

    void compare() {
        for (const Issued& one : issued_) {
            ASSERT_EQ(streams_.is_known_complete(one.ticket), oracle_.is_known(one.node))
                << "operation " << one.ticket.sequence << " of stream " << one.ticket.stream << log_;
            ASSERT_EQ(streams_.is_armed(one.ticket), oracle_.is_armed(one.node))
                << "operation " << one.ticket.sequence << " of stream " << one.ticket.stream << log_;
        }
        for (const Live& one : live_) {
            const Pending pending = streams_.pending(one.ref);
            ASSERT_EQ(pending.items, oracle_.unknown_work(one.oracle)) << one.handle << log_;
            ASSERT_TRUE(pending.work || pending.items == 0);
        }
        ASSERT_EQ(streams_.losses().edges, 0u);
    }

  private:
    unsigned pick(unsigned choices) { return static_cast<unsigned>(random_() % choices); }
    std::uintptr_t some_event() { return 0x9000 + 16 * pick(kEvents); }
    void note(const std::string& text) { log_ += "\n  " + text; }
    static std::string name(const Live& live) {
        return std::to_string(live.handle) + "/" + std::to_string(live.context) + "/" + std::to_string(live.thread);
    }

    // A default stream counts as existing from its first use on.
    Live* default_stream() {
        Live wanted;
        wanted.handle = 1 + pick(2);
        wanted.thread = wanted.handle == 2 ? 1 + pick(kThreads) : 0;
        const unsigned place = pick(kContexts);
        wanted.context = life_[place];
        for (Live& one : live_) {
            if (one.handle == wanted.handle && one.thread == wanted.thread && one.context == wanted.context) {
                return &one;
            }
        }
        wanted.oracle =
            oracle_.add_stream(wanted.context, wanted.handle == 1 ? Default::legacy : Default::per_thread, false);
        wanted.ref = streams_.add(context_handle(static_cast<int>(place)), static_cast<int>(place) / 2, wanted.handle,
                                  wanted.thread, false, 0);
        live_.push_back(wanted);
        return &live_.back();
    }
    Live* some_stream() {
        if (pick(4) == 0) {
            return default_stream();
        }
        std::vector<Live*> created;
        for (Live& one : live_) {
            if (one.handle > 2) {
                created.push_back(&one);
            }
        }
        return created.empty() ? default_stream() : created[pick(static_cast<unsigned>(created.size()))];
    }

    void create() {
        Live fresh;
        fresh.handle = 0x100 + 16 * pick(kHandles);
        const unsigned place = pick(kContexts);
        fresh.context = life_[place];
        const bool non_blocking = pick(2) == 0;
        // Where the handle is in use, its stream was destroyed by a call that nobody saw.
        remove(fresh.handle);
        fresh.oracle = oracle_.add_stream(fresh.context, Default::no, non_blocking);
        fresh.ref = streams_.add(context_handle(static_cast<int>(place)), static_cast<int>(place) / 2, fresh.handle, 0,
                                 non_blocking, 7);
        EXPECT_EQ(streams_.find(0, fresh.handle, 5).number, fresh.ref.number);
        live_.push_back(fresh);
        note("create " + name(fresh) + (non_blocking ? " non-blocking" : ""));
    }
    void remove(std::uintptr_t handle) {
        live_.erase(std::remove_if(live_.begin(), live_.end(), [&](const Live& one) { return one.handle == handle; }),
                    live_.end());
    }
    void destroy() {
        const Live one = *some_stream();
        if (one.handle > 2) {
            streams_.stream_destroyed(one.handle);
            EXPECT_FALSE(streams_.find(0, one.handle, 0));
            remove(one.handle);
            note("destroy " + name(one));
        }
    }
    void issue(bool gate) {
        const Live one = *some_stream();
        const Operation operation = streams_.begin(one.ref);
        const Ticket ticket = gate ? streams_.issued_gate(operation) : streams_.issued(operation);
        const int node = oracle_.put(one.oracle, !gate, gate);
        for (const Issued& earlier : issued_) {
            if (!oracle_.is_known(earlier.node) && !oracle_.stream(earlier.stream).dead) {
                ASSERT_EQ(streams_.is_behind(operation, earlier.ticket), oracle_.is_behind(node, earlier.node))
                    << "operation " << earlier.ticket.sequence << " of stream " << earlier.ticket.stream << ", and "
                    << name(one) << log_;
            }
        }
        issued_.push_back({ticket, node, one.oracle});
        note((gate ? "gate " : "work ") + name(one));
    }
    void record() {
        const Live one = *some_stream();
        const std::uintptr_t event = some_event();
        const Operation operation = streams_.begin(one.ref);
        const EventUse use = streams_.begin_record(event);
        streams_.end_record(use, operation, true);
        oracle_.record(event, one.oracle);
        note("record " + std::to_string(event) + " " + name(one));
    }
    void wait() {
        const Live one = *some_stream();
        const std::uintptr_t event = some_event();
        if (oracle_.event(event).foreign && !gates_allowed_) {
            return;
        }
        const Operation operation = streams_.begin(one.ref);
        streams_.waited(operation, streams_.look(event));
        oracle_.wait(one.oracle, event);
        note("wait " + std::to_string(event) + " " + name(one));
    }
    void synchronise_stream() {
        const Live one = *some_stream();
        const Operation operation = streams_.begin_wait(one.ref);
        if (pick(4) != 0) {
            streams_.learned(operation);
            oracle_.know_stream(one.oracle);
            note("synchronise " + name(one));
        }
    }
    void synchronise_event() {
        const std::uintptr_t event = some_event();
        streams_.learned(streams_.look(event));
        oracle_.know_event(event);
        note("synchronise event " + std::to_string(event));
    }
    void synchronise_context() {
        const unsigned place = pick(kContexts);
        const ContextWait wait = streams_.begin_context_wait(context_handle(static_cast<int>(place)));
        if (pick(4) != 0) {
            streams_.learned(wait);
            oracle_.know_context(life_[place]);
            note("synchronise context " + std::to_string(life_[place]));
        } else {
            streams_.forget(wait);
        }
    }
    // CUDA Driver API, "API synchronization behavior".
    void synchronous_copy() {
        const Live one = *default_stream();
        const Operation operation = streams_.begin(one.ref);
        if (pick(2) == 0) {
            streams_.learned(operation);
            streams_.acted(operation);
            oracle_.know(oracle_.put(one.oracle, false, false));
            note("download " + name(one));
        } else {
            streams_.learned(operation);
            const Ticket ticket = streams_.issued(operation);
            const int node = oracle_.put(one.oracle, true, false);
            oracle_.know_before(node);
            issued_.push_back({ticket, node, one.oracle});
            note("staged upload " + name(one));
        }
    }
    void put_host_function() {
        const Live one = *some_stream();
        HostFunction function;
        function.gate = streams_.new_gate();
        function.operation = streams_.begin(one.ref);
        const Ticket ticket = streams_.issued_gate(function.operation, function.gate);
        function.node = oracle_.put(one.oracle, false, true);
        issued_.push_back({ticket, function.node, one.oracle});
        functions_.push_back(function);
        note("host function " + name(one));
    }
    void run_host_function() {
        if (functions_.empty()) {
            return;
        }
        const unsigned index = pick(static_cast<unsigned>(functions_.size()));
        HostFunction& function = functions_[index];
        if (oracle_.stream(oracle_stream(function)).dead) {
            return;
        }
        if (!function.started) {
            function.started = true;
            streams_.learned(function.operation);
            oracle_.know_before(function.node);
            note("host function starts " + std::to_string(function.node));
            return;
        }
        streams_.gate_opened(function.operation, function.gate);
        oracle_.know(function.node);
        note("host function ends " + std::to_string(function.node));
        functions_.erase(functions_.begin() + index);
    }
    int oracle_stream(const HostFunction& function) const {
        for (const Issued& one : issued_) {
            if (one.node == function.node) {
                return one.stream;
            }
        }
        return -1;
    }
    void change_event() {
        const std::uintptr_t event = some_event();
        switch (pick(6)) {
            case 0:
                streams_.event_destroyed(event);
                oracle_.destroy_event(event);
                note("destroy event " + std::to_string(event));
                break;
            case 1:
                streams_.recorded_in_capture(event);
                oracle_.event(event).node = -1;
                note("record in capture " + std::to_string(event));
                break;
            case 2:
                if (pick(3) == 0) {
                    streams_.event_is_foreign(event);
                    oracle_.event(event).foreign = true;
                    note("foreign event " + std::to_string(event));
                }
                break;
            default:
                break;
        }
    }
    void rare() {
        switch (pick(12)) {
            case 0: {
                const unsigned place = pick(kContexts);
                const int life = life_[place];
                streams_.context_destroyed(context_handle(static_cast<int>(place)));
                oracle_.destroy_context(life);
                live_.erase(
                    std::remove_if(live_.begin(), live_.end(), [&](const Live& one) { return one.context == life; }),
                    live_.end());
                life_[place] = lives_++;
                note("destroy context " + std::to_string(life));
                break;
            }
            case 1: {
                const std::uint32_t thread = 1 + pick(kThreads);
                streams_.thread_ended(thread);
                live_.erase(
                    std::remove_if(live_.begin(), live_.end(), [&](const Live& one) { return one.thread == thread; }),
                    live_.end());
                note("thread ends " + std::to_string(thread));
                break;
            }
            default:
                break;
        }
    }

    std::mt19937 random_;
    Streams streams_;
    Oracle oracle_;
    std::vector<Live> live_;
    std::vector<Issued> issued_;
    std::vector<HostFunction> functions_;
    int life_[kContexts] = {};
    int lives_ = 0;
    bool gates_allowed_ = true;
    std::string log_;
};

void run_programs(unsigned first_seed, unsigned count, int steps, bool gates) {
    for (unsigned seed = first_seed; seed < first_seed + count; ++seed) {
        auto program = std::make_unique<Program>(seed);
        program->allow_gates(gates);
        for (int i = 0; i < steps; ++i) {
            program->step();
            program->compare();
            if (testing::Test::HasFatalFailure()) {
                ADD_FAILURE() << "seed " << seed;
                return;
            }
        }
    }
}

TEST(StreamsOracle, ShortProgramsAreKnownExactly) {
    run_programs(1, 3000, 40, true);
}

TEST(StreamsOracle, LongProgramsAreKnownExactly) {
    run_programs(100000, 150, 250, true);
}

TEST(StreamsOracle, ProgramsWithoutGatesAreKnownExactlyAndArmed) {
    run_programs(200000, 1000, 60, false);
}

}  // namespace
}  // namespace pincheck
