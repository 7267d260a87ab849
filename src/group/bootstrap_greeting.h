#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "group/bootstrap_context.h"
#include "group/bootstrap_hello.h"
#include "store/proof.h"

namespace trireme::bootstrap {

/// What two ranks say to each other over a TCP connection before it becomes a wire: who they are,
/// and that both know the world's key. Who connects proves it first, so that a stranger learns
/// nothing that depends on the key; the answer tells that it was let in.
///
///     connects: hello   accepts: hello   connects: proof   accepts: proof
class Greeting {
public:
    enum class Side { connects, accepts };

    Greeting(const Context& context, Side side);

    /// The first word of the side that connects; returns whether that went.
    [[nodiscard]] bool open(int socket) const noexcept;

    /// Takes what has come, and answers: `complete` when both have proved themselves, `failed` as
    /// soon as it cannot come to that, and `problem` says why. Never reads beyond the greeting.
    [[nodiscard]] Received go_on(int socket, std::string& problem);

    /// Who the other side says that it is.
    [[nodiscard]] int peer() const noexcept { return theirs_.rank; }

private:
    struct Hello {
        std::array<char, 8> magic{'T', 'r', 'i', 'r', 'e', 'm', 'e', '2'};
        std::int32_t rank = 0;
        std::int32_t size = 0;
        std::array<char, store::nonce_size> nonce{};
    };
    static_assert(sizeof(Hello) == 48);

    [[nodiscard]] Received take(int socket, char* target, std::size_t size) noexcept;
    [[nodiscard]] Received take_hello(int socket, std::string& problem);
    [[nodiscard]] std::string proof(Side side) const;

    const Context& context_;
    Side side_;
    bool introduced_ = false;
    Hello mine_;
    Hello theirs_;
    std::array<char, store::proof_size> their_proof_{};
    std::size_t bytes_ = 0;  // of what is due next
};

}  // namespace trireme::bootstrap
