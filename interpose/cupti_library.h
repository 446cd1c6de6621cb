// Finding libcupti and its functions. Opened once, privately (RTLD_LOCAL), and never closed: CUPTI's threads run in it.
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>

#include "cupti_abi.h"
#include "report/cupti_places.h"

namespace pincheck::cupti {

struct Functions {
    int (*subscribe)(void** subscriber, Callback callback, void* data) = nullptr;
    int (*unsubscribe)(void* subscriber) = nullptr;
    int (*enable_callback)(std::uint32_t enable, void* subscriber, std::uint32_t domain, std::uint32_t id) = nullptr;
    int (*activity_enable)(std::uint32_t kind) = nullptr;
    int (*activity_disable)(std::uint32_t kind) = nullptr;
    int (*register_callbacks)(BufferRequested requested, BufferCompleted completed) = nullptr;
    int (*flush_all)(std::uint32_t flag) = nullptr;
    int (*next_record)(std::uint8_t* buffer, std::size_t valid, Record** record) = nullptr;
    int (*dropped_records)(void* context, std::uint32_t stream, std::size_t* count) = nullptr;
    int (*get_attribute)(std::uint32_t attribute, std::size_t* size, void* value) = nullptr;
    int (*set_attribute)(std::uint32_t attribute, std::size_t* size, void* value) = nullptr;
    int (*get_timestamp)(std::uint64_t* timestamp) = nullptr;
    int (*get_version)(std::uint32_t* version) = nullptr;
    int (*result_string)(int result, const char** text) = nullptr;
};

struct Library {
    char path[PATH_MAX] = "";
    Functions functions;
};

// Opens the one that is loaded already, or the first that is found. False: `problem` says why not, for a report.
bool open_library(Library& library, char* problem, std::size_t problem_bytes) noexcept;

}  // namespace pincheck::cupti
