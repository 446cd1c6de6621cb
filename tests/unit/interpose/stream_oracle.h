// What the host can know of the work in streams, by brute force: every operation is a node of a graph that says what it
// runs after, and whatever is known complete makes everything before it known complete. Written from CUDA's
// documentation, without a line of the tool.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace pincheck::oracle {

enum class Default { no, legacy, per_thread };

struct Node {
    int stream = 0;
    std::vector<int> after;
    bool work = false;  // a copy, fill or launch
    bool gate = false;  // may wait for the host
    bool known = false;
};

struct Stream {
    int context = 0;
    Default kind{};
    bool non_blocking = false;
    bool dead = false;  // its context is gone
    int last = -1;      // newest node

    bool is_blocking() const { return kind != Default::legacy && !non_blocking; }
};

struct Event {
    int node = -1;  // never recorded
    bool foreign = false;
};

class Oracle {
  public:
    int add_stream(int context, Default kind, bool non_blocking) {
        streams_.push_back({context, kind, non_blocking});
        return static_cast<int>(streams_.size()) - 1;
    }
    void destroy_context(int context) {
        for (Stream& stream : streams_) {
            if (stream.context == context) {
                stream.dead = true;
            }
        }
    }
    const Stream& stream(int index) const { return streams_[static_cast<std::size_t>(index)]; }
    Event& event(std::uintptr_t handle) { return events_[handle]; }
    void destroy_event(std::uintptr_t handle) { events_.erase(handle); }

    // Puts something into a stream: behind all that is in it, and what the legacy default stream adds (CUDA Driver API,
    // "Stream synchronization behavior").
    int put(int stream, bool work, bool gate, int also_after = -1) {
        Node node;
        node.stream = stream;
        node.work = work;
        node.gate = gate;
        Stream& own = streams_[static_cast<std::size_t>(stream)];
        add(node.after, own.last);
        add(node.after, also_after);
        for (const Stream& other : streams_) {
            if (other.context == own.context && !other.dead &&
                ((own.kind == Default::legacy && other.is_blocking()) ||
                 (own.is_blocking() && other.kind == Default::legacy))) {
                add(node.after, other.last);
            }
        }
        nodes_.push_back(node);
        own.last = static_cast<int>(nodes_.size()) - 1;
        return own.last;
    }
    void record(std::uintptr_t handle, int stream) { events_[handle].node = put(stream, false, false); }
    void wait(int stream, std::uintptr_t handle) {
        const auto found = events_.find(handle);
        if (found == events_.end()) {
            return;
        }
        if (found->second.foreign) {
            put(stream, false, true);
        } else if (found->second.node >= 0) {
            put(stream, false, false, found->second.node);
        }
    }

    void know(int node) {
        std::vector<int> left{node};
        while (!left.empty()) {
            const int index = left.back();
            left.pop_back();
            if (index < 0 || at(index).known || is_dead(index)) {
                continue;
            }
            at(index).known = true;
            left.insert(left.end(), at(index).after.begin(), at(index).after.end());
        }
    }
    void know_before(int node) {
        for (const int index : std::vector<int>(at(node).after)) {
            know(index);
        }
    }
    void know_stream(int stream) {
        const Stream own = streams_[static_cast<std::size_t>(stream)];
        know(own.last);
        for (const Stream& other : streams_) {
            if (own.kind == Default::legacy && other.context == own.context && other.is_blocking()) {
                know(other.last);
            }
        }
    }
    void know_context(int context) {
        for (const Stream& stream : streams_) {
            if (stream.context == context) {
                know(stream.last);
            }
        }
    }
    void know_event(std::uintptr_t handle) {
        const auto found = events_.find(handle);
        if (found != events_.end() && !found->second.foreign) {
            know(found->second.node);
        }
    }

    bool is_known(int node) const { return nodes_[static_cast<std::size_t>(node)].known; }
    bool is_armed(int node) const {
        std::vector<bool> seen(nodes_.size());
        std::vector<int> left{node};
        while (!left.empty()) {
            const int index = left.back();
            left.pop_back();
            if (index < 0 || seen[static_cast<std::size_t>(index)]) {
                continue;
            }
            seen[static_cast<std::size_t>(index)] = true;
            const Node& one = nodes_[static_cast<std::size_t>(index)];
            if (one.known || streams_[static_cast<std::size_t>(one.stream)].dead) {
                continue;
            }
            if (one.gate) {
                return false;
            }
            left.insert(left.end(), one.after.begin(), one.after.end());
        }
        return true;
    }
    // Whether `node` runs after `earlier`, whatever happens; not by way of contexts that are gone.
    bool is_behind(int node, int earlier) const {
        std::vector<bool> seen(nodes_.size());
        std::vector<int> left = nodes_[static_cast<std::size_t>(node)].after;
        while (!left.empty()) {
            const int index = left.back();
            left.pop_back();
            if (index == earlier) {
                return true;
            }
            if (index >= 0 && !seen[static_cast<std::size_t>(index)] &&
                !streams_[static_cast<std::size_t>(at(index).stream)].dead) {
                seen[static_cast<std::size_t>(index)] = true;
                const Node& one = nodes_[static_cast<std::size_t>(index)];
                left.insert(left.end(), one.after.begin(), one.after.end());
            }
        }
        return false;
    }
    std::uint32_t unknown_work(int stream) const {
        std::uint32_t count = 0;
        for (const Node& node : nodes_) {
            count += node.stream == stream && node.work && !node.known ? 1 : 0;
        }
        return count;
    }

  private:
    static void add(std::vector<int>& nodes, int node) {
        if (node >= 0) {
            nodes.push_back(node);
        }
    }
    const Node& at(int index) const { return nodes_[static_cast<std::size_t>(index)]; }
    Node& at(int index) { return nodes_[static_cast<std::size_t>(index)]; }
    bool is_dead(int index) { return streams_[static_cast<std::size_t>(at(index).stream)].dead; }

    std::vector<Node> nodes_;
    std::vector<Stream> streams_;
    std::map<std::uintptr_t, Event> events_;
};

}  // namespace pincheck::oracle
