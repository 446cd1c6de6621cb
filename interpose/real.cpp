#include "real.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>

#include "elf_objects.h"

namespace pincheck {
namespace {

constexpr unsigned kMaxDrivers = 4;
constexpr unsigned kMaxLookupObjects = 64;

void copy_text(char* target, std::size_t size, const char* text) noexcept {
    std::size_t i = 0;
    for (; i + 1 < size && text[i] != '\0'; ++i) {
        target[i] = text[i];
    }
    target[i] = '\0';
}

// ---- Driver
// ----------------------------------------------------------------------------------------------------------

Driver g_drivers[kMaxDrivers];
std::atomic<unsigned> g_driver_count{0};

template <class F>
void find_into(F& target, const ElfObject& object, const char* symbol) noexcept {
    target = reinterpret_cast<F>(object.find(symbol));
}

void read_driver(Driver& driver, const ElfObject& object) noexcept {
    driver.base = object.base;
    driver.begin = object.begin;
    driver.end = object.end;
    copy_text(driver.path, sizeof(driver.path), object.path);
    for (std::size_t i = 0; i < kApiCount; ++i) {
        driver.functions[i] = kApis[i].side == Side::driver ? object.find(kApis[i].symbol) : nullptr;
    }
    find_into(driver.pointer_get_attributes, object, "cuPointerGetAttributes");
    find_into(driver.driver_get_version, object, "cuDriverGetVersion");
    find_into(driver.ctx_get_device, object, "cuCtxGetDevice");
    find_into(driver.ctx_get_current, object, "cuCtxGetCurrent");
    find_into(driver.primary_context_get_state, object, "cuDevicePrimaryCtxGetState");
    find_into(driver.stream_get_flags, object, "cuStreamGetFlags");
    find_into(driver.stream_get_context, object, "cuStreamGetCtx");
    find_into(driver.device_get_name, object, "cuDeviceGetName");
    find_into(driver.device_get_attribute, object, "cuDeviceGetAttribute");
    find_into(driver.stream_is_capturing, object, "cuStreamIsCapturing");
    find_into(driver.array_get_descriptor, object, "cuArray3DGetDescriptor_v2");
    find_into(driver.graph_get_nodes, object, "cuGraphGetNodes");
    find_into(driver.graph_node_get_type, object, "cuGraphNodeGetType");
    find_into(driver.graph_memcpy_node_get_params, object, "cuGraphMemcpyNodeGetParams");
    find_into(driver.graph_memset_node_get_params, object, "cuGraphMemsetNodeGetParams");
    find_into(driver.graph_child_get_graph, object, "cuGraphChildGraphNodeGetGraph");
    find_into(driver.graph_record_node_get_event, object, "cuGraphEventRecordNodeGetEvent");
}

// ---- Runtimes
// --------------------------------------------------------------------------------------------------------

std::atomic<pid_t> g_runtime_writer{0};  // the process in which somebody adds a runtime; 0: nobody

// The table entry for that runtime, reading its functions when it is new; CallerRule::kNoRuntime when all entries are
// in use.
std::uint8_t index_of_runtime(const ElfObject& object) noexcept {
    for (;;) {
        const unsigned count = g_runtime_count.load(std::memory_order_acquire);
        for (unsigned i = 0; i < count; ++i) {
            if (g_runtimes[i].base.load(std::memory_order_acquire) == object.base &&
                g_runtimes[i].functions[0] == object.find(kApis[0].symbol)) {
                return static_cast<std::uint8_t>(i);
            }
        }
        if (count == kMaxRuntimes) {
            return CallerRule::kNoRuntime;  // see any_runtime_function()
        }
        pid_t writer = 0;
        const pid_t self = getpid();
        if (!g_runtime_writer.compare_exchange_strong(writer, self) &&
            (writer == self || !g_runtime_writer.compare_exchange_strong(writer, self))) {
            continue;  // another thread is adding one, perhaps this very one; it makes no call while it does
        }
        // A fork's child may find its parent's thread at it, which is not there to finish: the entry is written anew.
        if (g_runtime_count.load(std::memory_order_acquire) == count) {
            Runtime& runtime = g_runtimes[count];
            copy_text(runtime.path, sizeof(runtime.path), object.path);
            for (std::size_t i = 0; i < kApiCount; ++i) {
                runtime.functions[i] = kApis[i].side == Side::runtime ? object.find(kApis[i].symbol) : nullptr;
            }
            runtime.base.store(object.base, std::memory_order_release);
            g_runtime_count.store(count + 1, std::memory_order_release);
        }
        g_runtime_writer.store(0);
    }
}

// ---- Callers
// ---------------------------------------------------------------------------------------------------------

std::atomic<std::uintptr_t> g_lookup_objects[kMaxLookupObjects];

bool object_looked_up(std::uintptr_t base) noexcept {
    for (const auto& entry : g_lookup_objects) {
        const std::uintptr_t seen = entry.load(std::memory_order_relaxed);
        if (seen == base + 1) {
            return true;
        }
        if (seen == 0) {
            return false;
        }
    }
    return true;  // the table is full: assume it
}

// All objects, copied, for walks over their dependencies. Only taken where a process has more than one runtime.
struct ObjectList {
    static constexpr std::size_t kCapacity = 2048;
    ElfObject* objects = nullptr;
    bool* visited = nullptr;
    std::size_t count = 0;

    ObjectList() noexcept {
        constexpr std::size_t kBytes = kCapacity * (sizeof(ElfObject) + sizeof(bool));
        void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) {
            return;
        }
        objects = static_cast<ElfObject*>(memory);
        visited = reinterpret_cast<bool*>(objects + kCapacity);
        for_each_object([this](const ElfObject& object) {
            objects[count++] = object;
            return count == kCapacity;
        });
    }
    ~ObjectList() {
        if (objects != nullptr) {
            munmap(objects, kCapacity * (sizeof(ElfObject) + sizeof(bool)));
        }
    }
    ObjectList(const ObjectList&) = delete;
    ObjectList& operator=(const ObjectList&) = delete;
};

// The runtime among the dependencies of the object with load address `base`, breadth first as the loader resolves.
const ElfObject* runtime_needed_by(ObjectList& list, std::uintptr_t base) noexcept {
    if (list.objects == nullptr) {
        return nullptr;
    }
    std::uint16_t queue[ObjectList::kCapacity];
    std::size_t head = 0;
    std::size_t tail = 0;
    for (std::size_t i = 0; i < list.count; ++i) {
        if (list.objects[i].base == base) {
            list.visited[i] = true;
            queue[tail++] = static_cast<std::uint16_t>(i);
        }
    }
    while (head < tail) {
        const ElfObject& object = list.objects[queue[head++]];
        if (object.is_runtime()) {
            return &object;
        }
        for (const ElfW(Dyn)* entry = object.dynamic; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
            if (entry->d_tag != DT_NEEDED || object.strings == nullptr) {
                continue;
            }
            const char* needed = base_name(object.strings + entry->d_un.d_val);
            for (std::size_t i = 0; i < list.count; ++i) {
                if (!list.visited[i] && same_text(list.objects[i].name(), needed)) {
                    list.visited[i] = true;
                    queue[tail++] = static_cast<std::uint16_t>(i);
                }
            }
        }
    }
    return nullptr;
}

CallerRule find_rule(std::uintptr_t return_address) noexcept {
    process_started();  // a library's constructor may call CUDA before ours ran
    bool is_cuda = false;
    bool may_hold_runtime = false;
    std::uint8_t runtime = CallerRule::kNoRuntime;
    std::uintptr_t caller_base = 0;
    unsigned runtimes = 0;
    for_each_object([&](const ElfObject& object) {
        if (object.contains(return_address)) {
            caller_base = object.base;
            // Ours too: a runtime function that ends in a jump to the driver's returns straight into its hook.
            is_cuda = object.is_runtime() || object.is_driver() || object.dynamic == own_object().dynamic;
            may_hold_runtime = !is_cuda && object_looked_up(object.base);
        }
        if (object.is_runtime()) {
            const std::uint8_t index = index_of_runtime(object);
            runtime = runtimes == 0 ? index : runtime;
            ++runtimes;
        }
        return false;
    });
    if (runtimes > 1) {
        ObjectList list;
        const ElfObject* own = runtime_needed_by(list, caller_base);
        runtime = own != nullptr ? index_of_runtime(*own) : runtime;
    }
    return CallerRule::of(is_cuda, may_hold_runtime, runtime);
}

}  // namespace

std::atomic<const Driver*> g_driver{nullptr};
Runtime g_runtimes[kMaxRuntimes];
std::atomic<unsigned> g_runtime_count{0};

const Driver* find_driver_again() noexcept {
    process_started();
    const Driver* known = g_driver.load(std::memory_order_acquire);
    const Driver* result = nullptr;
    for_each_object([&](const ElfObject& object) {
        if (!object.is_driver() || object.find("cuInit") == nullptr) {
            return false;
        }
        if (known != nullptr && known->base == object.base && known->begin == object.begin) {
            result = known;
            return true;
        }
        // A driver that was unloaded is never called again: its entry is used anew three loads later.
        Driver& entry = g_drivers[g_driver_count.fetch_add(1) % kMaxDrivers];
        read_driver(entry, object);
        result = &entry;
        return true;
    });
    if (result != nullptr && result != known) {
        g_driver.store(result, std::memory_order_release);
    }
    return result;
}

AddressCache<8, 4096> g_callers;

CallerRule caller_rule_slowly(std::uintptr_t return_address) noexcept {
    std::uint64_t word = 0;
    if (g_callers.find(return_address, word)) {
        return CallerRule(word);
    }
    const CallerRule rule = find_rule(return_address);
    g_callers.insert(return_address, rule.bits());
    return rule;
}

void forget_callers() noexcept {
    g_callers.clear();
    // g_lookup_objects is kept: a new object at the address of one that looked functions up only gets a longer key.
}

void note_lookup_from(std::uintptr_t return_address) noexcept {
    for_each_object([&](const ElfObject& object) {
        if (!object.contains(return_address)) {
            return false;
        }
        for (auto& entry : g_lookup_objects) {
            std::uintptr_t seen = entry.load(std::memory_order_relaxed);
            if (seen == 0 && entry.compare_exchange_strong(seen, object.base + 1)) {
                forget_callers();  // rules made before this look-up
                return true;
            }
            if (seen == object.base + 1) {
                return true;
            }
        }
        return true;
    });
}

void* any_runtime_function(Api api) noexcept {
    void* found = nullptr;
    for_each_object([&](const ElfObject& object) {
        found = object.is_runtime() ? object.find(info(api).symbol) : nullptr;
        return found != nullptr;
    });
    return found;
}

const char* runtime_path(unsigned index) noexcept {
    return index < g_runtime_count.load(std::memory_order_acquire) ? g_runtimes[index].path : nullptr;
}

}  // namespace pincheck
