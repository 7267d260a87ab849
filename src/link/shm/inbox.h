#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "core/unique_fd.h"
#include "link/shm/layout.h"

namespace trireme {

namespace shm {

/// Memory that is mapped from a descriptor, shared.
class Mapping {
public:
    Mapping() noexcept = default;
    /// Check `errno` where the result is false.
    Mapping(int descriptor, std::size_t offset, std::size_t bytes, bool writable) noexcept;
    Mapping(Mapping&& other) noexcept;
    Mapping& operator=(Mapping&& other) noexcept;
    ~Mapping();

    [[nodiscard]] explicit operator bool() const noexcept { return data_ != nullptr; }
    [[nodiscard]] std::byte* data() const noexcept { return data_; }

private:
    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
};

/// Another rank's inbox, as far as a rank maps it: the header and what that rank writes.
class PeerInbox {
public:
    /// Maps the part that `rank` writes. Where the descriptor is not the inbox of a rank of this
    /// world, or cannot be mapped, the result is false and `problem` says why.
    PeerInbox(const UniqueFd& descriptor, int rank, int ranks, const Token& token,
              std::string& problem);
    PeerInbox(PeerInbox&&) noexcept = default;
    PeerInbox& operator=(PeerInbox&&) noexcept = default;
    ~PeerInbox() = default;

    [[nodiscard]] explicit operator bool() const noexcept { return valid_; }
    [[nodiscard]] const std::atomic<std::uint32_t>& sleeping() const noexcept {
        return reinterpret_cast<const Header*>(header_.data())->sleeping;
    }
    [[nodiscard]] Region& region() const noexcept {
        return *reinterpret_cast<Region*>(region_.data());
    }

private:
    [[nodiscard]] std::string map(int descriptor, int rank, int ranks, const Token& token);

    Mapping header_;
    Mapping region_;
    bool valid_ = false;
};

}  // namespace shm

/// The memory in which a rank receives: a sealed memfd, which no file system shows and which goes
/// when the last process that maps it ends. One per rank and world.
class ShmInbox {
public:
    /// Throws `Error(system)` where the kernel gives no such memory.
    explicit ShmInbox(int ranks);
    ShmInbox(const ShmInbox&) = delete;
    ShmInbox& operator=(const ShmInbox&) = delete;
    ~ShmInbox() = default;

    /// To be passed to peers; -1 after `close_descriptor`.
    [[nodiscard]] int descriptor() const noexcept { return descriptor_.get(); }
    /// Everybody who may map it has done so.
    void close_descriptor() noexcept { descriptor_.reset(); }

    /// Before the first peer maps it.
    void set_token(const shm::Token& token) noexcept { header().token = token; }

    /// Set while the owner sleeps: see `Engine`.
    [[nodiscard]] std::atomic<std::uint32_t>& sleeping() noexcept { return header().sleeping; }
    /// What `rank` writes to the owner.
    [[nodiscard]] shm::Region& region(int rank) noexcept;
    /// Where the owner's copy of the token lies: peers try to read it there.
    [[nodiscard]] std::uint64_t token_address() noexcept;

private:
    [[nodiscard]] shm::Header& header() noexcept {
        return *reinterpret_cast<shm::Header*>(mapping_.data());
    }

    UniqueFd descriptor_;
    shm::Mapping mapping_;
};

}  // namespace trireme
