#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/unique_fd.h"
#include "link/shm/layout.h"

namespace trireme::bootstrap {

/// What two ranks say to each other over a Unix socket before anything else: a hello and its
/// answer, which carry the sender's inbox and doorbell; the one who connected then sends a third,
/// with what it has found out. Over TCP it is a `Greeting`. The token tells worlds of one user
/// apart: the kernel says that both processes belong to that user, before anything is said.
struct Hello {
    std::array<char, 8> magic{'T', 'r', 'i', 'r', 'e', 'm', 'e', '1'};
    shm::Token token{};
    std::int32_t rank = 0;
    std::int32_t size = 0;
    std::uint64_t token_address = 0;  ///< where the peer may try to read the token
    std::uint32_t inbox_works = 0;    ///< the peer's inbox can be mapped
    std::uint32_t memory_works = 0;   ///< the peer's memory can be read
};
static_assert(sizeof(Hello) == 48);

enum class Received { complete, partly, failed };

/// Sends in one piece, with descriptors; returns whether that went.
[[nodiscard]] bool send_hello(int socket, const Hello& hello,
                              const std::vector<int>& descriptors = {}) noexcept;

/// Receives a hello and the descriptors that came along.
[[nodiscard]] Received receive_hello(int socket, Hello& hello, std::vector<UniqueFd>& descriptors);

}  // namespace trireme::bootstrap
