#include "process_info.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>

#include "clock.h"
#include "coverage.h"
#include "elf_objects.h"
#include "log.h"
#include "options.h"
#include "real.h"
#include "report_file.h"
#include "small_file.h"

#ifndef PINCHECK_VERSION
#error "PINCHECK_VERSION comes from the build"
#endif

namespace pincheck {
namespace {

constexpr int kAttributeAsyncEngines = 40;
constexpr int kAttributePageableAccess = 88;
constexpr int kAttributeHostPageTables = 100;
constexpr int kAttributeIntegrated = 18;

std::size_t executable(char* out, std::size_t size) noexcept {
    const ssize_t length = readlink("/proc/self/exe", out, size - 1);
    out[length > 0 ? length : 0] = '\0';
    return length > 0 ? static_cast<std::size_t>(length) : 0;
}

std::string_view trimmed_command_line(const char* text, std::size_t length) noexcept {
    while (length > 0 && text[length - 1] == '\0') {
        --length;
    }
    if (!options().full_command_line) {
        length = strnlen(text, length);
    }
    return {text, length};
}

void host_name(char* out, std::size_t size) noexcept {
    if (gethostname(out, size) != 0) {
        out[0] = '\0';
    }
    out[size - 1] = '\0';
}

}  // namespace

void record_process(State& state) noexcept {
    static char buffer[32 * 1024];  // one thread starts the tool
    report::ProcessRecord record{};
    record.pid = static_cast<std::uint32_t>(getpid());
    record.parent_pid = static_cast<std::uint32_t>(getppid());
    std::size_t length = executable(buffer, sizeof(buffer));
    record.executable = state.image.add_string({buffer, length});
    length = read_file("/proc/self/cmdline", buffer, sizeof(buffer));
    record.command_line = state.image.add_string(trimmed_command_line(buffer, length));
    if (getcwd(buffer, sizeof(buffer)) != nullptr) {
        record.working_directory = state.image.add_string(buffer);
    }
    host_name(buffer, 256);
    record.host = state.image.add_string(buffer);
    record.options = state.image.add_string(options().text);
    record.tool_version = state.image.add_string(PINCHECK_VERSION);
    record.rank = start_settings().rank[0] != '\0'
                      ? static_cast<std::uint32_t>(std::strtoul(start_settings().rank, nullptr, 10))
                      : report::kNoRank;
    record.after_cuda_fork = state.after_fork ? 1 : 0;
    state.image.add_process(record);
}

void record_device(State& state) noexcept {
    const KeepErrno keep;
    const NotCancelled whole;
    const Driver* known = driver();
    int ordinal = -1;
    if (known == nullptr || known->ctx_get_device == nullptr || known->device_get_attribute == nullptr ||
        known->ctx_get_device(&ordinal) != 0 || ordinal < 0 || ordinal >= 64) {
        return;
    }
    const std::uint64_t bit = std::uint64_t{1} << ordinal;
    if ((state.devices_seen.fetch_or(bit) & bit) != 0) {
        return;
    }
    const auto attribute = [&](int which) {
        int value = 0;
        return known->device_get_attribute(&value, which, ordinal) == 0 ? static_cast<std::uint32_t>(value) : 0;
    };
    report::DeviceRecord record{};
    record.ordinal = static_cast<std::uint32_t>(ordinal);
    char name[128] = "";
    if (known->device_get_name != nullptr && known->device_get_name(name, sizeof(name), ordinal) == 0) {
        name[sizeof(name) - 1] = '\0';
        record.name = state.image.add_string(name);
    }
    int version = 0;
    if (known->driver_get_version != nullptr && known->driver_get_version(&version) == 0) {
        record.driver_version = static_cast<std::uint32_t>(version);
    }
    record.async_engines = attribute(kAttributeAsyncEngines);
    record.pageable_access = attribute(kAttributePageableAccess);
    record.host_page_tables = attribute(kAttributeHostPageTables);
    record.integrated = attribute(kAttributeIntegrated);
    state.image.add_device(record);
    state.watched.set_device(record.host_page_tables != 0);
    if (record.pageable_access != 0) {
        state.reaches_pageable.store(true, std::memory_order_relaxed);
    }
    if (state.watched.is_stopped() || (state.watches_pageable && record.pageable_access != 0)) {
        note_races(state);
    }
}

bool report_name(char* out, std::size_t size) noexcept {
    char command[PATH_MAX] = "";
    const std::size_t length = read_file("/proc/self/cmdline", command, sizeof(command) - 1);
    command[length] = '\0';
    if (command[0] == '\0') {
        executable(command, sizeof(command));
    }
    char host[256];
    host_name(host, sizeof(host));
    char time[32] = "";
    const std::time_t now = static_cast<std::time_t>(realtime_ns() / 1'000'000'000u);
    std::tm parts;
    // UTC: localtime_r reads the time zone under a lock that a forked child may find taken.
    if (gmtime_r(&now, &parts) != nullptr) {
        std::strftime(time, sizeof(time), "%Y%m%dT%H%M%S", &parts);
    }
    const char* program = base_name(command);
    const NameParts name{program[0] != '\0' ? program : "program", host, start_settings().rank,
                         static_cast<std::uint32_t>(getpid()), time};
    return expand_name(options().output, name, out, size);
}

void prctl_name() noexcept {
    prctl(PR_SET_NAME, "pincheck");
}

}  // namespace pincheck
