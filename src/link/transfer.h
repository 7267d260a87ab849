#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>

#include "link/envelope.h"
#include "link/wire.h"
#include "reduce/combine.h"
#include "trireme/error.h"

namespace trireme {

class Link;

/// Who a message belongs to; asked when the two sides of a message turn out not to fit.
class MessageOwner {
public:
    /// The error for a message from world rank `peer` that carries another fingerprint than this
    /// side's, or another length than the `expected` bytes.
    [[nodiscard]] virtual Error mismatch(int peer, const Envelope& theirs,
                                         std::size_t expected) const = 0;

protected:
    ~MessageOwner() = default;
};

/// What a message is: where it belongs and what both sides must agree on.
struct MessageHead {
    Key key;
    std::uint64_t fingerprint = 0;
    const MessageOwner* owner = nullptr;
    std::uint64_t number = 0;  ///< of the operation in its group, of which the key has half
};

/// How arriving elements are combined: target[i] = local[i] op arriving[i], or the other way round.
struct Reduction {
    const Combine* combine = nullptr;  ///< null: they are only stored
    std::size_t element_bytes = 1;
    const std::byte* local = nullptr;
    bool arriving_first = false;  ///< they come from lower ranks than the local ones

    /// `bytes` of arriving elements, the first of which belongs `offset` bytes into the target.
    void apply(const std::byte* arriving, std::byte* target, std::size_t offset,
               std::size_t bytes) const {
        const std::byte* here = local + offset;
        (*combine)(arriving_first ? arriving : here, arriving_first ? here : arriving,
                   target + offset, bytes / element_bytes);
    }
};

/// A send or a receive that has been started on a link, to be awaited by a `Task`.
///
/// It lives in the coroutine's frame and is linked into its link, so starting one allocates
/// nothing; destroying one that has not ended takes it back.
class Transfer {
public:
    enum class Kind : std::uint8_t { send, receive };

    Transfer(Link& link, const MessageHead& head, ConstBytes payload);
    Transfer(Link& link, const MessageHead& head, Bytes target, const Reduction& reduction);
    Transfer(const Transfer&) = delete;
    Transfer& operator=(const Transfer&) = delete;
    ~Transfer();

    [[nodiscard]] bool ended() const noexcept { return state_ == State::ended; }

    /// Looks at the link once before giving up, so that what is already there costs no suspension.
    [[nodiscard]] bool await_ready() const;
    void await_suspend(std::coroutine_handle<> waiter) noexcept { waiter_ = waiter; }
    void await_resume() const {
        if (error_) std::rethrow_exception(error_);
    }

private:
    friend class Link;

    enum class State : std::uint8_t {
        writing,   ///< a send whose frame is in the outgoing queue
        offered,   ///< a send that waits for the receiver's answer
        posted,    ///< a receive that waits for its message
        claimed,   ///< a receive whose message is still arriving in library memory
        arriving,  ///< a receive whose payload is arriving in place
        pulling,   ///< a receive that reads the peer's memory
        ended,
    };

    Link* link_;
    MessageHead head_;
    std::byte* data_;  // sends only read it
    std::size_t length_;
    std::size_t moved_ = 0;
    Reduction reduction_{};
    Kind kind_;
    State state_ = State::ended;
    bool listed_ = false;
    std::uint32_t number_ = 0;       // in the link's table; 0: none
    std::uint32_t peer_number_ = 0;  // the other side's
    RemoteBuffer remote_{};          // a send's own publication, or what a receive reads
    std::coroutine_handle<> waiter_;
    std::exception_ptr error_;
    Transfer* previous_ = nullptr;
    Transfer* next_ = nullptr;
};

}  // namespace trireme
