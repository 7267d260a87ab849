#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "core/block_pool.h"

namespace trireme {

/// A list of at most so many elements in memory of a `BlockPool`, so that an operation that is
/// started many times allocates nothing. Elements need not be movable.
template <class T>
class PooledVector {
public:
    PooledVector(BlockPool& pool, std::size_t capacity) : block_(pool.take(capacity * sizeof(T))) {}
    PooledVector(const PooledVector&) = delete;
    PooledVector& operator=(const PooledVector&) = delete;
    ~PooledVector() { std::destroy_n(begin(), size_); }

    template <class... Args>
    T& emplace_back(Args&&... args) {
        T* made = std::construct_at(begin() + size_, std::forward<Args>(args)...);
        ++size_;
        return *made;
    }

    [[nodiscard]] T* begin() const noexcept { return reinterpret_cast<T*>(block_.data()); }
    [[nodiscard]] T* end() const noexcept { return begin() + size_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] T& operator[](std::size_t i) const noexcept { return begin()[i]; }
    [[nodiscard]] T& back() const noexcept { return begin()[size_ - 1]; }

private:
    BlockPool::Block block_;
    std::size_t size_ = 0;
};

}  // namespace trireme
