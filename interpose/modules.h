// Absolute code addresses to (module, offset), so that a report means something after the process is gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>  // lock_guard

#include "report/image.h"
#include "report/mutex.h"

namespace pincheck {

// Thread-safe. Each module is written to the image once, when an address in it is first asked for.
class ModuleTable {
  public:
    explicit ModuleTable(report::Image& image) noexcept : image_(image) {}
    ~ModuleTable();
    ModuleTable(const ModuleTable&) = delete;
    ModuleTable& operator=(const ModuleTable&) = delete;

    // Turns `count` addresses into frames.
    void resolve(const std::uintptr_t* addresses, std::size_t count, report::Frame* frames) noexcept;

  private:
    struct Module {
        std::uintptr_t begin;
        std::uintptr_t end;
        std::uintptr_t base;
        std::uint64_t identity;  // of path and build-id: another library may be mapped here later
        std::uint32_t id;        // in the image; 0 until it is needed or when it was dropped
    };
    static constexpr std::size_t kCapacity = 4096;

    void refresh() noexcept;
    Module* find(std::uintptr_t address) noexcept;
    void describe(Module& module) noexcept;

    report::Image& image_;
    Mutex mutex_;
    Module* modules_ = nullptr;  // sorted by begin
    std::size_t count_ = 0;
    std::uint64_t seen_ = 0;  // how many objects had come and gone when the list was made
};

}  // namespace pincheck
