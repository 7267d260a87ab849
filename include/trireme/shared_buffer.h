#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "trireme/operand.h"
#include "trireme/types.h"

namespace trireme {

class Group;

namespace detail {
/// Memory of `bytes` zeros, which the group's other ranks of this host map too: see `SharedBuffer`.
[[nodiscard]] std::shared_ptr<std::byte> allocate_shared(const Group& group, std::size_t bytes,
                                                         Site site);
}  // namespace detail

/// Elements in memory that every rank of a group on this host maps, made by `Group::allocate`.
///
/// Operations of the group on such memory, or on any part of it, move data from rank to rank by
/// plain loads and stores, without the kernel: for large data that is several times as fast. They
/// recognise it by its address: a span of it, or a tensor that lives in it (`empty_shared` of
/// `trireme/torch.h`), will do as well. Ranks of other hosts get the data through the network as
/// ever.
///
/// Copies refer to the same memory. A rank may destroy its own whenever it does not use it any
/// more; the memory goes when all ranks have. Counterpart: symmetric memory of torch.distributed,
/// MPI_Win_allocate_shared.
template <Element T>
class SharedBuffer {
public:
    SharedBuffer() noexcept = default;
    SharedBuffer(std::shared_ptr<std::byte> memory, std::size_t count) noexcept
        : memory_(std::move(memory)), count_(count) {}

    /// This rank's elements; zeros at first.
    [[nodiscard]] T* data() const noexcept { return reinterpret_cast<T*>(memory_.get()); }
    [[nodiscard]] std::size_t size() const noexcept { return count_; }
    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
    [[nodiscard]] T* begin() const noexcept { return data(); }
    [[nodiscard]] T* end() const noexcept { return data() + count_; }
    [[nodiscard]] T& operator[](std::size_t i) const noexcept { return data()[i]; }
    /// What keeps the memory.
    [[nodiscard]] const std::shared_ptr<std::byte>& memory() const noexcept { return memory_; }

private:
    std::shared_ptr<std::byte> memory_;
    std::size_t count_ = 0;
};

/// A started operation keeps the memory.
template <Element T>
struct OperandTraits<SharedBuffer<T>> {
    static Operand make(const SharedBuffer<T>& buffer, Access, Hold hold) {
        struct Memory final : Keeper {
            explicit Memory(std::shared_ptr<std::byte> kept) : memory(std::move(kept)) {}
            std::shared_ptr<std::byte> memory;
        };
        const bool lasts = hold == Hold::work;
        return {
            {reinterpret_cast<std::byte*>(buffer.data()), buffer.size(), dtype_of<T>, Device::host},
            lasts ? std::make_unique<Memory>(buffer.memory()) : nullptr,
            !lasts};
    }
};

/// `allocate` of `Group`, apart from it only because that is long enough.
template <class G>
class SharedAllocation {
public:
    /// Memory for `count` elements that the ranks of the group on one host share: see
    /// `SharedBuffer`. All members must call it, in the same order as their other calls, with the
    /// same number of bytes. Throws `invalid_argument` where these differ, and on all ranks
    /// `system` where one of them gets no memory; then the group goes on.
    template <Element T>
    [[nodiscard]] SharedBuffer<T> allocate(std::size_t count, Site site = Site::current()) const {
        // More than there can be, where the product is.
        const std::size_t bytes = count > SIZE_MAX / sizeof(T) ? SIZE_MAX : count * sizeof(T);
        return {detail::allocate_shared(static_cast<const G&>(*this), bytes, site), count};
    }
};

}  // namespace trireme
