#include "calls.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <string_view>

#include "settings.h"

namespace simcuda {
namespace {

constexpr std::size_t kCalls = static_cast<std::size_t>(Api::count);

constexpr std::array<const char*, kCalls> kNames = {
#define SIM_API(name, symbol, since, variant) #symbol,
#include "driver_api.def"
#undef SIM_API
};

std::array<std::atomic<std::uint64_t>, kCalls> g_calls;
std::array<std::atomic<std::uint64_t>, 4> g_copies;
std::array<std::atomic<std::uint64_t>, 4> g_bytes;
std::atomic<std::uint64_t> g_kernels;
std::atomic<std::uint64_t> g_staged;

struct Failure {
    CUresult result = CUDA_SUCCESS;
    std::uint64_t first = 1;  // the call, counted from 1, from which on it fails
};

// SIMCUDA_FAIL="cuMemHostRegister_v2:801,cuMemAlloc_v2:2:100": symbol, result, and the first call that fails.
std::array<Failure, kCalls> ordered_failures() {
    std::array<Failure, kCalls> failures{};
    std::string_view list = settings().fail;
    while (!list.empty()) {
        const std::string entry(list.substr(0, list.find(',')));
        list.remove_prefix(std::min(list.size(), entry.size() + 1));
        const std::size_t colon = entry.find(':');
        if (colon == std::string::npos)
            continue;
        for (std::size_t i = 0; i < kCalls; ++i) {
            if (entry.compare(0, colon, kNames[i]) != 0)
                continue;
            char* end = nullptr;
            failures[i].result = static_cast<CUresult>(std::strtol(entry.c_str() + colon + 1, &end, 10));
            if (*end == ':')
                failures[i].first = std::strtoull(end + 1, nullptr, 10);
        }
    }
    return failures;
}

std::uint64_t load(const std::atomic<std::uint64_t>& counter) {
    return counter.load(std::memory_order_relaxed);
}

}  // namespace

const char* symbol_of(Api api) {
    return kNames[static_cast<std::size_t>(api)];
}

CUresult count_call(Api api) {
    static const std::array<Failure, kCalls>& failures = *new std::array<Failure, kCalls>(ordered_failures());
    const auto index = static_cast<std::size_t>(api);
    const std::uint64_t call = g_calls[index].fetch_add(1, std::memory_order_relaxed) + 1;
    return call >= failures[index].first ? failures[index].result : CUDA_SUCCESS;
}

void count_copy(Direction direction, std::size_t bytes) {
    g_copies[static_cast<std::size_t>(direction)].fetch_add(1, std::memory_order_relaxed);
    g_bytes[static_cast<std::size_t>(direction)].fetch_add(bytes, std::memory_order_relaxed);
}

void count_kernel() {
    g_kernels.fetch_add(1, std::memory_order_relaxed);
}
void count_staged() {
    g_staged.fetch_add(1, std::memory_order_relaxed);
}

// One JSON line a process, appended: a forked or executed child that uses CUDA adds its own.
void write_counts() {
    if (settings().counts_file.empty())
        return;
    std::string line = "{\"pid\":" + std::to_string(getpid());
    const auto add = [&](const char* name, std::uint64_t value) {
        line += std::string(",\"") + name + "\":" + std::to_string(value);
    };
    add("h2d", load(g_copies[0]));
    add("d2h", load(g_copies[1]));
    add("d2d", load(g_copies[2]));
    add("h2h", load(g_copies[3]));
    add("bytes_h2d", load(g_bytes[0]));
    add("bytes_d2h", load(g_bytes[1]));
    add("kernels", load(g_kernels));
    add("staged", load(g_staged));
    line += ",\"calls\":{";
    bool first = true;
    for (std::size_t i = 0; i < kCalls; ++i) {
        if (load(g_calls[i]) == 0)
            continue;
        line += std::string(first ? "\"" : ",\"") + kNames[i] + "\":" + std::to_string(load(g_calls[i]));
        first = false;
    }
    line += "}}\n";
    const int file = open(settings().counts_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0)
        return;
    [[maybe_unused]] const ssize_t written = write(file, line.data(), line.size());
    close(file);
}

}  // namespace simcuda

SIM_EXPORT void simcuda_counters(SimcudaCounters* out) {
    using namespace simcuda;
    *out = {load(g_copies[0]), load(g_copies[1]), load(g_copies[2]), load(g_copies[3]),
            load(g_bytes[0]),  load(g_bytes[1]),  load(g_kernels),   load(g_staged)};
}

SIM_EXPORT std::uint64_t simcuda_calls(const char* symbol) {
    using namespace simcuda;
    for (std::size_t i = 0; i < kCalls; ++i)
        if (std::strcmp(kNames[i], symbol) == 0)
            return load(g_calls[i]);
    return 0;
}
