#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace trireme {

/// Recycled working memory for algorithms: a fresh large block from the allocator would cost a page
/// fault per 4 KiB on every call. Guarded by the engine's mutex.
class BlockPool {
    struct Free {
        void operator()(std::byte* memory) const noexcept {
            ::operator delete[](memory, std::align_val_t{alignment});
        }
    };
    using Memory = std::unique_ptr<std::byte[], Free>;

public:
    static constexpr std::size_t alignment = 64;

    /// A block on loan; goes back when destroyed.
    class Block {
    public:
        Block() noexcept = default;
        Block(Block&& other) noexcept
            : pool_(std::exchange(other.pool_, nullptr)),
              memory_(std::move(other.memory_)),
              bytes_(other.bytes_) {}
        Block& operator=(Block&&) = delete;
        ~Block() {
            if (pool_ != nullptr && memory_) pool_->put_back(std::move(memory_), bytes_);
        }
        [[nodiscard]] std::byte* data() const noexcept { return memory_.get(); }

    private:
        friend class BlockPool;
        Block(BlockPool& pool, Memory memory, std::size_t bytes) noexcept
            : pool_(&pool), memory_(std::move(memory)), bytes_(bytes) {}

        BlockPool* pool_ = nullptr;
        Memory memory_;
        std::size_t bytes_ = 0;
    };

    [[nodiscard]] Block take(std::size_t bytes) {
        for (std::size_t i = free_.size(); i-- > 0;) {
            if (free_[i].bytes < bytes || free_[i].bytes > 4 * bytes + least) continue;
            Kept kept = std::move(free_[i]);
            free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));
            kept_bytes_ -= kept.bytes;
            return {*this, std::move(kept.memory), kept.bytes};
        }
        const std::size_t rounded = bytes < least ? least : bytes;
        return {
            *this,
            Memory(static_cast<std::byte*>(::operator new[](rounded, std::align_val_t{alignment}))),
            rounded};
    }

private:
    static constexpr std::size_t least = 4096;
    static constexpr std::size_t kept_limit = 64 << 20;

    struct Kept {
        Memory memory;
        std::size_t bytes;
    };

    void put_back(Memory memory, std::size_t bytes) noexcept {
        if (kept_bytes_ + bytes > kept_limit || free_.size() == free_.capacity()) return;
        kept_bytes_ += bytes;
        free_.push_back({std::move(memory), bytes});
    }

public:
    BlockPool() { free_.reserve(64); }

private:
    std::vector<Kept> free_;
    std::size_t kept_bytes_ = 0;
};

}  // namespace trireme
