#include "image.h"

#include <sys/mman.h>

#include <cstring>
#include <new>

#include "crc32c.h"
#include "image_impl.h"

namespace pincheck::report {
namespace {

// Overflow sites (one an API) must find room when the table of sites is full.
constexpr std::uint32_t kOverflowSites = 1024;
constexpr std::size_t kMaxStringBytes = 32 * 1024;

void* map(std::size_t bytes) noexcept {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
}

// `bytes` (whole pages) at a multiple of kSegmentBytes: maps more and gives the ends back.
std::uint8_t* map_aligned(std::size_t bytes) noexcept {
    const std::size_t mapped = bytes + kSegmentBytes - kPageBytes;
    auto* begin = static_cast<std::uint8_t*>(map(mapped));
    if (begin == nullptr) {
        return nullptr;
    }
    const std::size_t before = -reinterpret_cast<std::uintptr_t>(begin) % kSegmentBytes;
    const std::size_t after = mapped - before - bytes;
    if (before > 0) {
        munmap(begin, before);
    }
    if (after > 0) {
        munmap(begin + before + bytes, after);
    }
    return begin + before;
}

}  // namespace

Image* Image::create(const ImageLimits& limits, std::uint32_t pid, std::uint64_t start_ns,
                     std::uint64_t start_realtime_ns) noexcept {
    const KeepErrno keep;
    struct Block {
        Image image;
        alignas(64) Impl impl;
    };
    // The losses take a place in the table too.
    const std::size_t bytes = sizeof(Block) + (std::size_t{limits.segments} + 1) * sizeof(Segment);
    void* memory = map(bytes);
    if (memory == nullptr) {
        return nullptr;
    }
    auto* image = new (memory) Image;
    auto* impl = new (static_cast<std::uint8_t*>(memory) + offsetof(Block, impl)) Impl{};
    impl->limits = limits;
    impl->pid = pid;
    impl->start_ns = start_ns;
    impl->start_realtime_ns = start_realtime_ns;
    impl->mapped_bytes = bytes;
    impl->bytes_used = bytes;
    image->impl_ = impl;
    return image;
}

void Image::destroy(Image* image) noexcept {
    if (image == nullptr) {
        return;
    }
    const KeepErrno keep;
    Impl& impl = *image->impl_;
    for (std::uint32_t i = 0; i < impl.segment_count; ++i) {
        const Segment& segment = impl.segments()[i];
        if (segment.kind != SegmentKind::losses) {
            munmap(segment.memory, segment.mapped_bytes);
        }
    }
    munmap(image, impl.mapped_bytes);
}

// Under the mutex. Null when the limit is reached or memory is refused; counts that.
Segment* Image::Impl::add_segment(SegmentKind kind, Chain& chain) noexcept {
    if (segment_count - (losses_segment != kNoSegment) >= limits.segments) {
        return nullptr;
    }
    // Behind the 64 KiB: what the file holds of each slot, then the list of free ones.
    const std::size_t slots = slot_bytes(kind) == 0 ? 0 : kSegmentCapacity / slot_bytes(kind);
    const std::size_t shadow_bytes = slots * sizeof(std::uint32_t);
    const std::size_t free_bytes = kind == SegmentKind::ranges ? slots * sizeof(std::uint16_t) : 0;
    const std::size_t bytes = (kSegmentBytes + shadow_bytes + free_bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
    std::uint8_t* memory = map_aligned(bytes);
    if (memory == nullptr) {
        return nullptr;
    }
    const std::uint32_t index = segment_count;
    auto* header = new (memory) SegmentHeader{};
    header->index = index;
    auto* segment = new (&segments()[index]) Segment{};
    segment->memory = memory;
    segment->mapped_bytes = bytes;
    segment->kind = kind;
    segment->next = kNoSegment;
    if (slots > 0) {
        segment->shadow = reinterpret_cast<std::uint32_t*>(memory + kSegmentBytes);
        segment->free_slots = reinterpret_cast<std::uint16_t*>(memory + kSegmentBytes + shadow_bytes);
    }
    bytes_used += bytes;
    ++segment_count;
    (chain.last == kNoSegment ? chain.first : segments()[chain.last].next) = index;
    chain.last = index;
    return segment;
}

// Under the mutex. False when there is no room.
bool Image::Impl::append(RecordType type, const void* fixed, std::size_t fixed_bytes, const void* rest,
                         std::size_t rest_bytes) noexcept {
    const std::size_t payload = fixed_bytes + rest_bytes;
    const std::size_t bytes = (sizeof(RecordHeader) + payload + 7) / 8 * 8;
    Segment* segment = records.last == kNoSegment ? nullptr : &segments()[records.last];
    if (segment == nullptr || kSegmentCapacity - segment->committed < bytes) {
        segment = bytes > kSegmentCapacity ? nullptr : add_segment(SegmentKind::records, records);
        if (segment == nullptr) {
            return false;
        }
    }
    std::uint8_t* at = segment->memory + kSegmentHeaderBytes + segment->committed;
    RecordHeader header{};
    header.bytes = static_cast<std::uint32_t>(bytes);
    header.type = type;
    header.payload = static_cast<std::uint32_t>(payload);
    std::memcpy(at + sizeof header, fixed, fixed_bytes);
    if (rest_bytes > 0) {
        std::memcpy(at + sizeof header + fixed_bytes, rest, rest_bytes);
    }
    // The padding is zero already: this memory was never used.
    header.crc = crc32c(at + sizeof header, bytes - sizeof header, crc32c(&header, offsetof(RecordHeader, crc)));
    std::memcpy(at, &header, sizeof header);
    std::atomic_ref<std::uint32_t>(segment->committed)
        .store(segment->committed + static_cast<std::uint32_t>(bytes), std::memory_order_release);
    return true;
}

// Under the mutex. The next `bytes` of the chain's last segment, or of a new one.
std::uint8_t* Image::Impl::hand_out(SegmentKind kind, Chain& chain, std::uint32_t bytes) noexcept {
    Segment* segment = chain.last == kNoSegment ? nullptr : &segments()[chain.last];
    if (segment == nullptr || kSegmentCapacity - segment->committed < bytes) {
        segment = add_segment(kind, chain);
        if (segment == nullptr) {
            return nullptr;
        }
    }
    std::uint8_t* at = segment->memory + kSegmentHeaderBytes + segment->committed;
    std::atomic_ref<std::uint32_t>(segment->committed).store(segment->committed + bytes, std::memory_order_release);
    return at;
}

std::uint32_t Image::add_string(std::string_view text) noexcept {
    const KeepErrno keep;
    text = text.substr(0, kMaxStringBytes);
    bool full = false;
    {
        const Locked lock(impl_->mutex);
        if (impl_->string_count < impl_->limits.strings) {
            const StringRecord record{impl_->string_count + 1, static_cast<std::uint32_t>(text.size())};
            if (impl_->append(RecordType::string, &record, sizeof record, text.data(), text.size())) {
                return ++impl_->string_count;
            }
            full = true;
        }
    }
    lose(Loss::strings, 1, 0, monotonic_ns());
    if (full) {
        lose(Loss::image_full, 1, 0, monotonic_ns());
    }
    return 0;
}

std::uint32_t Image::add_module(std::uint32_t path, std::uint64_t base, std::uint64_t begin, std::uint64_t end,
                                std::span<const std::uint8_t> build_id) noexcept {
    const KeepErrno keep;
    build_id = build_id.first(build_id.size() < 64 ? build_id.size() : 64);
    {
        const Locked lock(impl_->mutex);
        const ModuleRecord record{
            impl_->module_count + 1, path, base, begin, end, static_cast<std::uint32_t>(build_id.size()), 0};
        if (impl_->append(RecordType::module, &record, sizeof record, build_id.data(), build_id.size())) {
            return ++impl_->module_count;
        }
    }
    lose(Loss::modules, 1, 0, monotonic_ns());
    lose(Loss::image_full, 1, 0, monotonic_ns());
    return 0;
}

std::uint32_t Image::add_stack(std::span<const Frame> frames, StackOrigin origin, bool cut) noexcept {
    const KeepErrno keep;
    if (frames.size() > kMaxFrames) {
        frames = frames.first(kMaxFrames);
        cut = true;
    }
    bool full = false;
    {
        const Locked lock(impl_->mutex);
        if (impl_->stack_count < impl_->limits.stacks) {
            const StackRecord record{impl_->stack_count + 1, static_cast<std::uint32_t>(frames.size()), origin,
                                     cut ? 1u : 0u};
            if (impl_->append(RecordType::stack, &record, sizeof record, frames.data(), frames.size_bytes())) {
                return ++impl_->stack_count;
            }
            full = true;
        }
    }
    lose(Loss::stacks, 1, 0, monotonic_ns());
    if (full) {
        lose(Loss::image_full, 1, 0, monotonic_ns());
    }
    return 0;
}

std::uint32_t Image::add_site(SiteRecord site, std::span<const Frame> key) noexcept {
    const KeepErrno keep;
    key = key.first(key.size() < kMaxKeyFrames ? key.size() : kMaxKeyFrames);
    site.key_count = static_cast<std::uint16_t>(key.size());
    site.python_count = 0;
    bool full = false;
    {
        const Locked lock(impl_->mutex);
        const bool overflow = (site.flags & kSiteOverflow) != 0;
        std::uint32_t& count = overflow ? impl_->overflow_site_count : impl_->site_count;
        if (count < (overflow ? kOverflowSites : impl_->limits.sites)) {
            site.id = impl_->site_count + impl_->overflow_site_count + 1;
            if (impl_->append(RecordType::site, &site, sizeof site, key.data(), key.size_bytes())) {
                ++count;
                return site.id;
            }
            full = true;
        }
    }
    lose(Loss::sites, 1, 0, monotonic_ns());
    if (full) {
        lose(Loss::image_full, 1, 0, monotonic_ns());
    }
    return 0;
}

void Image::add_process(const ProcessRecord& process) noexcept {
    const KeepErrno keep;
    {
        const Locked lock(impl_->mutex);
        if (impl_->append(RecordType::process, &process, sizeof process, nullptr, 0)) {
            return;
        }
    }
    lose(Loss::image_full, 1, 0, monotonic_ns());
}

void Image::add_device(const DeviceRecord& device) noexcept {
    const KeepErrno keep;
    {
        const Locked lock(impl_->mutex);
        if (impl_->append(RecordType::device, &device, sizeof device, nullptr, 0)) {
            return;
        }
    }
    lose(Loss::image_full, 1, 0, monotonic_ns());
}

void Image::add_coverage(CoverageKind kind, std::uint32_t text, std::uint64_t time_ns) noexcept {
    const KeepErrno keep;
    const CoverageRecord record{kind, text, time_ns};
    {
        const Locked lock(impl_->mutex);
        if (impl_->append(RecordType::coverage, &record, sizeof record, nullptr, 0)) {
            return;
        }
    }
    lose(Loss::image_full, 1, 0, time_ns);
}

void Image::add_memory(std::uint32_t site, MemoryDetail detail, std::uint32_t text, std::uint64_t value) noexcept {
    const KeepErrno keep;
    const MemoryRecord record{site, detail, text, 0, value};
    {
        const Locked lock(impl_->mutex);
        if (impl_->append(RecordType::memory, &record, sizeof record, nullptr, 0)) {
            return;
        }
    }
    lose(Loss::image_full, 1, 0, 0);
}

std::uint32_t Image::add_stream(StreamRecord stream) noexcept {
    const KeepErrno keep;
    bool full = false;
    {
        const Locked lock(impl_->mutex);
        if (impl_->stream_count < impl_->limits.streams) {
            stream.id = impl_->stream_count + 1;
            if (impl_->append(RecordType::stream, &stream, sizeof stream, nullptr, 0)) {
                return ++impl_->stream_count;
            }
            full = true;
        }
    }
    lose(Loss::streams, 1, 0, monotonic_ns());
    if (full) {
        lose(Loss::image_full, 1, 0, monotonic_ns());
    }
    return 0;
}

void Image::lose(Loss kind, std::uint64_t count, int error, std::uint64_t now_ns) noexcept {
    const auto number = static_cast<std::uint32_t>(kind);
    if (number == 0 || number >= kLossKinds || count == 0) {
        return;
    }
    LossSlot& slot = impl_->loss(number);
    store(slot.kind, kind);
    if (error != 0) {
        store(slot.error, static_cast<std::int32_t>(error));
    }
    std::uint64_t never = 0;
    std::atomic_ref<std::uint64_t>(slot.first_ns).compare_exchange_strong(never, now_ns, std::memory_order_relaxed);
    store(slot.last_ns, now_ns);
    std::atomic_ref<std::uint64_t>(slot.count).fetch_add(count, std::memory_order_relaxed);
    std::atomic_ref<SlotState>(slot.state).store(SlotState::live, std::memory_order_release);
}

std::uint64_t Image::bytes_used() const noexcept {
    const Locked lock(impl_->mutex);
    return impl_->bytes_used;
}

}  // namespace pincheck::report
