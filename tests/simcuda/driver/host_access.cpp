#include "host_access.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "pinned_pages.h"

namespace simcuda {
namespace {

constexpr std::size_t kBounce = 1 << 20;

// Opened for each use: programs close and reuse descriptors that are not theirs.
class OwnMemory {
  public:
    OwnMemory() : file_(open("/proc/self/mem", O_RDWR | O_CLOEXEC)) {}
    ~OwnMemory() {
        if (file_ >= 0)
            close(file_);
    }
    OwnMemory(const OwnMemory&) = delete;
    OwnMemory& operator=(const OwnMemory&) = delete;

    void read(void* into, std::uintptr_t from, std::size_t size) {
        [[maybe_unused]] const ssize_t n = pread(file_, into, size, static_cast<off_t>(from));
    }
    void write(std::uintptr_t into, const void* from, std::size_t size) {
        [[maybe_unused]] const ssize_t n = pwrite(file_, from, size, static_cast<off_t>(into));
    }

  private:
    int file_;
};

// Where an engine can touch the span directly; null for registered and pageable memory.
char* direct(const Span& span, std::size_t offset) {
    if (!span.range)
        return nullptr;
    const Range& range = *span.range;
    if (range.kind == Kind::registered)
        return nullptr;
    if (range.alias)
        return range.alias + (span.address - range.base) + offset;
    return reinterpret_cast<char*>(span.address) + offset;
}

void read_span(const Span& span, std::size_t offset, char* into, std::size_t size) {
    if (char* address = direct(span, offset))
        return raw_copy(into, address, size);
    if (span.range && read_pinned_pages(span.range->dma, span.address + offset, into, size))
        return;
    OwnMemory().read(into, span.address + offset, size);
}

void write_span(const Span& span, std::size_t offset, const char* from, std::size_t size) {
    if (char* address = direct(span, offset))
        return raw_copy(address, from, size);
    if (span.range && write_pinned_pages(span.range->dma, span.address + offset, from, size))
        return;
    OwnMemory().write(span.address + offset, from, size);
}

}  // namespace

void raw_copy(void* destination, const void* source, std::size_t size) {
#if defined(__x86_64__)
    asm volatile("rep movsb" : "+D"(destination), "+S"(source), "+c"(size) : : "memory");
#else
    auto* to = static_cast<volatile char*>(destination);
    auto* from = static_cast<const volatile char*>(source);
    for (std::size_t i = 0; i < size; ++i)
        to[i] = from[i];
#endif
}

// mremap with an old size of 0 duplicates a shared mapping (mremap(2)).
char* map_alias(void* base, std::size_t size) {
    void* alias = mremap(base, 0, size, MREMAP_MAYMOVE);
    if (alias == MAP_FAILED)
        return nullptr;
    madvise(alias, size, MADV_DONTFORK);
    return static_cast<char*>(alias);
}

bool mapped(const void* address, std::size_t size, bool writable) {
    std::uintptr_t next = reinterpret_cast<std::uintptr_t>(address);
    const std::uintptr_t end = next + size;
    std::ifstream maps("/proc/self/maps");  // sorted by address
    for (std::string line; next < end && std::getline(maps, line);) {
        unsigned long begin = 0, stop = 0;
        char read = 0, write = 0;
        if (std::sscanf(line.c_str(), "%lx-%lx %c%c", &begin, &stop, &read, &write) != 4 || stop <= next)
            continue;
        if (begin > next || read != 'r' || (writable && write != 'w'))
            return false;
        next = stop;
    }
    return next >= end;
}

int open_dma(void* address, std::size_t size) {
    return pin_pages(address, size);
}
void close_dma(int dma) {
    unpin_pages(dma);
}

void dma_copy(const Span& destination, const Span& source, std::size_t offset, std::size_t size) {
    char* to = direct(destination, offset);
    if (char* from = direct(source, offset); from && to)
        return raw_copy(to, from, size);
    if (to)
        return read_span(source, offset, to, size);
    std::vector<char> bounce(std::min(size, kBounce));
    for (std::size_t done = 0; done < size; done += bounce.size()) {
        const std::size_t part = std::min(bounce.size(), size - done);
        read_span(source, offset + done, bounce.data(), part);
        write_span(destination, offset + done, bounce.data(), part);
    }
}

void dma_load(const Span& source, void* into, std::size_t size) {
    if (const char* address = direct(source, 0); address && size == 4)
        *static_cast<std::uint32_t*>(into) =
            __atomic_load_n(reinterpret_cast<const std::uint32_t*>(address), __ATOMIC_SEQ_CST);
    else if (address && size == 8)
        *static_cast<std::uint64_t*>(into) =
            __atomic_load_n(reinterpret_cast<const std::uint64_t*>(address), __ATOMIC_SEQ_CST);
    else
        read_span(source, 0, static_cast<char*>(into), size);
}

void dma_store(const Span& destination, const void* from, std::size_t size) {
    if (char* address = direct(destination, 0); address && size == 4)
        __atomic_store_n(reinterpret_cast<std::uint32_t*>(address), *static_cast<const std::uint32_t*>(from),
                         __ATOMIC_SEQ_CST);
    else if (address && size == 8)
        __atomic_store_n(reinterpret_cast<std::uint64_t*>(address), *static_cast<const std::uint64_t*>(from),
                         __ATOMIC_SEQ_CST);
    else
        write_span(destination, 0, static_cast<const char*>(from), size);
}

}  // namespace simcuda
