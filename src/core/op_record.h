#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "trireme/op.h"

namespace trireme {

/// The pointer-free copy of an `Op`, for error texts and records: it may outlive the operation.
struct OpRecord {
    OpKind kind = OpKind::barrier;
    Dtype dtype = Dtype::uint8;
    ReduceOp::Kind reduce = ReduceOp::Kind::sum;
    /// The parts of the ranks differ, or may differ: `count` is this rank's alone.
    bool uneven = false;
    int peer = -1;
    int tag = 0;
    std::uint64_t count = 0;  ///< elements that this rank contributes or receives: see `make`
    std::uint32_t parts =
        0;  ///< what the list of all parts' counts is known by, where it is listed
    std::uint32_t joined = 0;    ///< see `Op`
    std::uint32_t user_key = 0;  ///< of a user's reduce op: its name and whether it commutes
    std::uint64_t sequence = 0;  ///< 0: not numbered yet
    const char* algorithm = "";  ///< the one that was chosen, once it was
    const char* file = "";
    unsigned line = 0;
    std::array<char, 24> user{};  ///< the name of a user's reduce op, cut

    /// `count` is the number on which all ranks must agree: of a gathered or scattered operation
    /// the smaller side's, of the others the buffer's.
    [[nodiscard]] static OpRecord make(const Op& op, std::uint64_t sequence) noexcept;

    /// "all_reduce #42 float32[1024] sum (train.cpp:88)"
    [[nodiscard]] std::string describe() const;

    /// The call's site alone: "train.cpp:88".
    [[nodiscard]] std::string site() const;

    /// What all ranks, or both sides of a message, must agree on, in 64 bits. It rides in every
    /// envelope and is compared at the receiving side before a byte of payload is stored.
    [[nodiscard]] std::uint64_t fingerprint() const noexcept;
};

/// In which fields two fingerprints of operations of one kind differ: "the counts"; empty where the
/// kinds differ.
[[nodiscard]] std::string describe_difference(std::uint64_t one, std::uint64_t other);

/// What a peer's fingerprint says of its call: "broadcast float32[1024] root 2".
[[nodiscard]] std::string describe_fingerprint(std::uint64_t fingerprint);

}  // namespace trireme
