#include "coverage.h"

#include <cstdio>
#include <cstring>

#include "bypass.h"
#include "clock.h"
#include "elf_objects.h"
#include "exports.h"
#include "options.h"
#include "real.h"
#include "stack.h"

namespace pincheck {
namespace {

using report::CoverageKind;

std::atomic<std::uint32_t> g_routes{0};

// Names are enumerators of the list: few, and constant texts.
constexpr unsigned kMaxUnknown = 64;
std::atomic<const char*> g_unknown[kMaxUnknown];

struct Told {
    std::uint64_t generation = 0;
    std::uint32_t routes = 0;
    unsigned runtimes = 0;
    bool driver = false;
    bool foreign = false;
    unsigned unknown = 0;
    unsigned unlisted = 0;
    unsigned bypassed = 0;
    std::uint64_t objects = 0;  // object_changes() at the last look for bypasses
};
Told g_told;  // tool thread only

void tell(State& state, CoverageKind kind, const char* text) noexcept {
    state.image.add_coverage(kind, state.image.add_string({text, std::strlen(text)}), now_ns());
}

constexpr const char* kRouteNames[] = {"exported-runtime", "exported-driver", "dlsym", "lookup"};

}  // namespace

void note_route(Route route) noexcept {
    const std::uint32_t bit = 1u << static_cast<std::uint32_t>(route);
    if ((g_routes.load(std::memory_order_relaxed) & bit) == 0) {
        g_routes.fetch_or(bit, std::memory_order_relaxed);
    }
}

bool route_seen(Route route) noexcept {
    return (g_routes.load(std::memory_order_relaxed) & (1u << static_cast<std::uint32_t>(route))) != 0;
}

void note_unknown_address(const char* name) noexcept {
    for (auto& entry : g_unknown) {
        const char* there = nullptr;
        if (entry.compare_exchange_strong(there, name) || there == name) {
            return;
        }
    }
}

void note_start(State& state) noexcept {
    if (!options().exports) {
        tell(state, CoverageKind::exports_off, "exports=off");
    }
    if (!options().dlsym) {
        tell(state, CoverageKind::exports_off, "dlsym=off");
    }
    if (state.after_fork) {
        tell(state, CoverageKind::no_unwinder, "child of a process that had used CUDA");
    } else if (options().stacks && unwinder() == Unwinder::missing) {
        tell(state, CoverageKind::no_unwinder, unwinder_problem());
    }
}

void note_races(State& state) noexcept {
    if (state.after_fork || options().races == RaceUse::off) {
        tell(state, CoverageKind::races, "off");
        return;
    }
    if (state.watched.is_stopped()) {
        tell(state, CoverageKind::races, "order: the device goes through the host's page tables");
        return;
    }
    const WatchRefusal refusal = state.watched.refusal();
    const TrapRefusal trap = state.watched.trap_refusal();
    if (trap == TrapRefusal::none) {
        const bool sources = state.watched.traps(WatchedSide::source);
        tell(state, CoverageKind::races,
             sources ? "trap"
                     : "trap: userfaultfd is not permitted for writes of the kernel's (as root, or with "
                       "vm.unprivileged_userfaultfd=1, it is)");
        return;
    }
    if (options().races == RaceUse::trap) {
        char text[160];
        std::snprintf(text, sizeof text, "no trap: %s", refusal_text(trap));
        tell(state, CoverageKind::races, text);
    }
    if (options().races == RaceUse::order) {
        tell(state, CoverageKind::races, "order");
        return;
    }
    const char* level = state.watched.is_open() ? "watch" : "order";
    if (state.watches_pageable && state.watched.is_open()) {
        if (state.reaches_pageable.load(std::memory_order_relaxed)) {
            tell(state, CoverageKind::races, "no pageable: the device reads such memory by itself");
        } else {
            level = "watch,pageable";
        }
    }
    if (state.watched.is_open() && refusal == WatchRefusal::none) {
        tell(state, CoverageKind::races, level);
    } else {
        char text[160];
        std::snprintf(text, sizeof text, "%s: %s", level, refusal_text(refusal));
        tell(state, CoverageKind::races, text);
    }
}

void note_watched(State& state) noexcept {
    const std::uint64_t watched = state.watched.watched();
    const std::uint64_t others = state.watched.passed_over() + state.watched.unwatched();
    if (watched + others != 0) {
        char text[64];
        std::snprintf(text, sizeof text, "%llu of %llu", static_cast<unsigned long long>(watched),
                      static_cast<unsigned long long>(watched + others));
        tell(state, CoverageKind::watched_copies, text);
    }
    const CombinedMemory::Counts combined = state.watched.combined_counts();
    if (combined.allocations != 0) {
        char text[128];
        std::snprintf(
            text, sizeof text, "%llu of %llu; %llu samples, %llu faults",
            static_cast<unsigned long long>(combined.sampled), static_cast<unsigned long long>(combined.allocations),
            static_cast<unsigned long long>(combined.samples), static_cast<unsigned long long>(combined.faults));
        tell(state, CoverageKind::sampled_reads, text);
    }
    if (combined.sampled != combined.allocations) {
        state.image.lose(report::Loss::unsampled, combined.allocations - combined.sampled, 0, now_ns());
    }
}

void note_libraries(State& state, bool at_end) noexcept {
    if (g_told.generation != state.generation) {
        g_told = Told{};
        g_told.generation = state.generation;
    }
    const std::uint32_t routes = g_routes.load(std::memory_order_relaxed);
    for (std::uint32_t i = 0; i < 4; ++i) {
        if ((routes & ~g_told.routes & (1u << i)) != 0) {
            tell(state, CoverageKind::route, kRouteNames[i]);
        }
    }
    g_told.routes = routes;
    for (const char* path = runtime_path(g_told.runtimes); path != nullptr; path = runtime_path(++g_told.runtimes)) {
        tell(state, CoverageKind::library, path);
    }
    if (!g_told.driver && driver() != nullptr) {
        g_told.driver = true;
        tell(state, CoverageKind::library, driver()->path);
    }
    if (!g_told.foreign && foreign_provider_seen() != nullptr) {
        g_told.foreign = true;
        tell(state, CoverageKind::foreign_provider, foreign_provider_seen());
    }
    while (g_told.unknown < kMaxUnknown && g_unknown[g_told.unknown].load() != nullptr) {
        tell(state, CoverageKind::unknown_address, g_unknown[g_told.unknown++].load());
    }
    const std::uint64_t objects = object_changes();
    if (at_end || g_told.objects != objects) {
        g_told.objects = objects;
        find_bypasses();
    }
    for (const char* text = bypassed(g_told.bypassed); text != nullptr; text = bypassed(++g_told.bypassed)) {
        tell(state, CoverageKind::bypassed, text);
    }
    for (const char* text = unlisted(g_told.unlisted); text != nullptr; text = unlisted(++g_told.unlisted)) {
        tell(state, CoverageKind::unlisted, text);
    }
}

}  // namespace pincheck
