#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>

#include "contest/cell.h"
#include "contest/memory.h"

namespace trireme::bench {

/// What a contestant cannot do: a cell that it leaves out.
class Refusal : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The memory of one call. In place `in` lies in `out`. For `sendrecv_bandwidth` both hold
/// `Cell::window()` messages, one after another.
struct Slot {
    std::byte* in;
    std::byte* out;
    int root;
};

/// Carries out the operation on the slot of that number, and returns when this rank's part is done.
using Call = std::function<void(std::size_t slot)>;

/// A library that takes part, as one of its ranks.
class Contestant {
public:
    Contestant() = default;
    Contestant(const Contestant&) = delete;
    Contestant& operator=(const Contestant&) = delete;
    virtual ~Contestant() = default;

    [[nodiscard]] virtual int rank() const = 0;
    [[nodiscard]] virtual int size() const = 0;

    /// Whatever can be done before a call without cheating: turns types and buffers into the
    /// library's own. The slots stay where they are as long as the call is used. Throws `Refusal`.
    [[nodiscard]] virtual Call prepare(const Cell& cell, std::span<const Slot> slots) = 0;

    virtual void barrier() = 0;

    /// Memory for buffers that only this library can give, for `Cell::shared`; stays valid until
    /// the next call. A call of all ranks.
    virtual std::byte* allocate_shared(std::size_t bytes) {
        static_cast<void>(bytes);
        throw Refusal("it has no shared buffers");
    }
};

}  // namespace trireme::bench
