#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <utility>

namespace trireme::bench {

/// The memory of a contestant's buffers, the same for all: aligned to huge pages, and of those
/// where the system grants them on request.
class Memory {
public:
    Memory() = default;
    explicit Memory(std::size_t bytes) : size_((bytes + huge_page - 1) / huge_page * huge_page) {
        whole_ = ::mmap(nullptr, size_ + huge_page, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (whole_ == MAP_FAILED) throw std::bad_alloc();
        ::madvise(data(), size_, MADV_HUGEPAGE);  // a kernel without them gives small ones
    }
    Memory(Memory&& other) noexcept
        : whole_(std::exchange(other.whole_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    Memory& operator=(Memory&& other) noexcept {
        std::swap(whole_, other.whole_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~Memory() {
        if (whole_ != nullptr) ::munmap(whole_, size_ + huge_page);
    }

    [[nodiscard]] std::byte* data() const noexcept {
        auto* start = static_cast<std::byte*>(whole_);
        const auto misplaced = reinterpret_cast<std::size_t>(start) % huge_page;
        return start + (misplaced == 0 ? 0 : huge_page - misplaced);
    }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

private:
    static constexpr std::size_t huge_page = std::size_t{2} << 20U;

    void* whole_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace trireme::bench
