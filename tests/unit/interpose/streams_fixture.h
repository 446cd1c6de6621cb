// Streams of one program, put together by hand.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "interpose/streams.h"

namespace pincheck {

inline constexpr std::uintptr_t kContext = 0xc0;
inline constexpr std::uintptr_t kOtherContext = 0xc8;
inline constexpr std::uintptr_t kEvent = 0xe0;

class StreamsTest : public testing::Test {
  protected:
    StreamRef non_blocking(std::uintptr_t handle, std::uintptr_t context = kContext) {
        return streams.add(context, 0, handle, 0, true, 11);
    }
    StreamRef blocking(std::uintptr_t handle, std::uintptr_t context = kContext) {
        return streams.add(context, 0, handle, 0, false, 12);
    }
    StreamRef legacy(std::uintptr_t context = kContext) { return streams.add(context, 0, 1, 0, false, 0); }
    Ticket work(StreamRef stream) { return streams.issued(streams.begin(stream)); }
    Ticket named_work(StreamRef stream, std::uint32_t site) {
        const Operation operation = streams.begin(stream);
        const Ticket ticket = streams.issued(operation);
        Streams::name_work(operation, ticket, site);
        return ticket;
    }
    Ticket gate(StreamRef stream) { return streams.issued_gate(streams.begin(stream)); }
    void record(StreamRef stream, std::uintptr_t event = kEvent) {
        const Operation operation = streams.begin(stream);
        streams.end_record(streams.begin_record(event), operation, true);
    }
    void wait(StreamRef stream, std::uintptr_t event = kEvent) {
        const Operation operation = streams.begin(stream);
        streams.waited(operation, streams.look(event));
    }
    void synchronise(StreamRef stream) { streams.learned(streams.begin_wait(stream)); }
    void synchronise_event(std::uintptr_t event = kEvent) { streams.learned(streams.look(event)); }
    void synchronise_context(std::uintptr_t context = kContext) {
        streams.learned(streams.begin_context_wait(context));
    }
    bool known(const Ticket& ticket) const { return streams.is_known_complete(ticket); }
    bool armed(const Ticket& ticket) { return streams.is_armed(ticket); }

    std::unique_ptr<Streams> owner = std::make_unique<Streams>();
    Streams& streams = *owner;
};

}  // namespace pincheck
