#include "coverage.h"

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
