#include "ipc.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "context.h"
#include "settings.h"

namespace simcuda {
namespace {

constexpr std::uint64_t kMagic = 0x6d656d6370697373;  // "ssipcmem"

// Says which file it is, too: programs close and reuse descriptors that are not theirs.
struct FileId {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;

    bool operator==(const FileId&) const = default;
};

// What a CUipcMemHandle holds.
struct Exported {
    std::uint64_t magic = kMagic;
    std::uint64_t size = 0;
    FileId id;
    std::int32_t process = 0;
    std::int32_t descriptor = -1;
    std::int32_t device = 0;

    bool operator==(const Exported&) const = default;
};
static_assert(sizeof(Exported) <= sizeof(CUipcMemHandle));

bool identify(int descriptor, FileId* out) {
    struct stat status {};
    if (fstat(descriptor, &status) != 0)
        return false;
    *out = {status.st_dev, status.st_ino};
    return true;
}

// An allocation's file, open as long as the allocation lives.
class File {
  public:
    explicit File(std::size_t size) : descriptor_(memfd_create("simcuda", MFD_CLOEXEC)) {
        good_ =
            descriptor_ >= 0 && ftruncate(descriptor_, static_cast<off_t>(size)) == 0 && identify(descriptor_, &id_);
    }
    ~File() {
        FileId now;
        if (descriptor_ >= 0 && identify(descriptor_, &now) && (now == id_ || !good_))
            close(descriptor_);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    bool good() const { return good_; }
    int descriptor() const { return descriptor_; }
    const FileId& id() const { return id_; }

  private:
    int descriptor_;
    FileId id_;
    bool good_ = false;
};

// Memory of another process that a context has open.
struct Opened {
    Context* context = nullptr;
    Exported exported;
    CUdeviceptr base = 0;
    int uses = 1;
};

struct State {
    std::mutex mutex;
    std::map<std::uint64_t, std::weak_ptr<File>> files;  // by the range's number
    std::vector<std::weak_ptr<Opened>> opened;           // the range owns it: a context takes its mappings along
};

State& state() {
    static State& instance = *new State;
    return instance;
}

void* address_of(std::uintptr_t address) {
    return reinterpret_cast<void*>(address);
}

// Puts the file's pages where the allocation's own were, with their contents. Pages of zeros stay holes in the file:
// most of a large allocation may never have been touched.
bool replace_pages(const Range& range, int descriptor) {
    constexpr std::size_t page = 4096;
    static constexpr char zeros[page] = {};
    const auto map = [&](void* at, int fixed) {
        return mmap(at, range.size, PROT_READ | PROT_WRITE, MAP_SHARED | fixed, descriptor, 0);
    };
    void* const copy = map(nullptr, 0);
    if (copy == MAP_FAILED)
        return false;
    const auto* from = reinterpret_cast<const char*>(range.base);
    for (std::size_t done = 0; done < range.size; done += page) {
        const std::size_t part = std::min(page, range.size - done);
        if (std::memcmp(from + done, zeros, part) != 0)
            std::memcpy(static_cast<char*>(copy) + done, from + done, part);
    }
    munmap(copy, range.size);
    if (map(address_of(range.base), MAP_FIXED) == MAP_FAILED)
        return false;
    madvise(address_of(range.base), range.size, MADV_DONTFORK);
    return true;
}

// What is mapped and fits. Others may still know a range that is gone, and its owner with it.
template <typename Fits>
std::shared_ptr<Opened> find_opened(const Fits& fits) {
    auto& all = state().opened;
    std::erase_if(all, [](const auto& entry) { return entry.expired(); });
    for (const auto& entry : all) {
        auto opened = entry.lock();
        if (!opened || !fits(*opened))
            continue;
        if (const auto range = find_range(opened->base); range && range->backing == opened)
            return opened;
    }
    return nullptr;
}

CUresult map_exported(Context* context, const Exported& exported, CUdeviceptr* out) {
    const std::string path = "/proc/" + std::to_string(exported.process) + "/fd/" + std::to_string(exported.descriptor);
    const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    FileId id;
    void* base = MAP_FAILED;
    if (file >= 0 && identify(file, &id) && id == exported.id)
        base = mmap(nullptr, exported.size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file >= 0)
        close(file);
    if (base == MAP_FAILED)
        return CUDA_ERROR_MAP_FAILED;
    madvise(base, exported.size, MADV_DONTFORK);
    *out = reinterpret_cast<CUdeviceptr>(base);
    auto opened = std::make_shared<Opened>(Opened{context, exported, *out});
    state().opened.push_back(opened);
    Range range{.base = *out, .size = exported.size, .kind = Kind::device};
    range.context = exported.device == context->device ? context : primary_context(exported.device);
    range.imported = true;
    range.backing = std::move(opened);
    return add_mapping(std::move(range));
}

}  // namespace

bool exportable(const Range& range) {
    return range.kind == Kind::device && !range.without_context() && !range.imported;
}

CUresult export_memory(CUdeviceptr address, CUipcMemHandle* out) {
    std::lock_guard lock(state().mutex);
    const auto range = find_range(address);
    if (!range || !exportable(*range))
        return CUDA_ERROR_INVALID_VALUE;
    std::erase_if(state().files, [](const auto& entry) { return entry.second.expired(); });
    std::shared_ptr<File> file = state().files[range->id].lock();
    if (!file) {
        file = std::make_shared<File>(range->size);
        bool replaced = false;
        if (file->good())
            machine().when_idle(range->context, [&] { replaced = replace_pages(*range, file->descriptor()); });
        if (!replaced)
            return CUDA_ERROR_OUT_OF_MEMORY;
        keep_with(range->base, file);
        state().files[range->id] = file;
    }
    const Exported exported{.size = range->size,
                            .id = file->id(),
                            .process = getpid(),
                            .descriptor = file->descriptor(),
                            .device = range->context->device};
    std::memset(out, 0, sizeof *out);
    std::memcpy(out, &exported, sizeof exported);
    return CUDA_SUCCESS;
}

CUresult open_exported(Context* context, const CUipcMemHandle& handle, CUdeviceptr* out) {
    Exported exported;
    std::memcpy(static_cast<void*>(&exported), &handle, sizeof exported);
    if (exported.magic != kMagic || exported.device >= settings().devices)
        return CUDA_ERROR_INVALID_VALUE;
    if (exported.process == getpid())
        return CUDA_ERROR_INVALID_CONTEXT;
    std::lock_guard lock(state().mutex);
    if (const auto opened =
            find_opened([&](const Opened& o) { return o.context == context && o.exported == exported; })) {
        ++opened->uses;
        *out = opened->base;
        return CUDA_SUCCESS;
    }
    return map_exported(context, exported, out);
}

CUresult close_exported(Context* context, CUdeviceptr base) {
    std::lock_guard lock(state().mutex);
    const auto opened = find_opened([&](const Opened& o) { return o.context == context && o.base == base; });
    if (!opened)
        return CUDA_ERROR_INVALID_VALUE;
    if (--opened->uses > 0)
        return CUDA_SUCCESS;
    machine().wait_context(context);
    return release(base, [](Kind kind) { return kind == Kind::device; });
}

}  // namespace simcuda
