#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/engine.h"
#include "link/peer_memory.h"
#include "link/traffic.h"
#include "link/transfer.h"
#include "link/transfer_table.h"
#include "link/wire.h"

namespace trireme {

/// What a link reports to its world.
class LinkListener {
public:
    /// A stream cannot go on: the peer has failed it and says why.
    virtual void stream_failed(int peer, std::uint32_t stream, const Error& error) = 0;
    /// A stream cannot go on: the peer has left the world while it was awaited.
    virtual void peer_left(int peer, std::uint32_t stream, const Error& error) = 0;
    /// The peer has said goodbye: what it brought before is here.
    virtual void said_goodbye(int /*peer*/, const Error& /*error*/) {}
    /// The link is broken, for good: the peer died or became unreachable.
    virtual void link_lost(int peer, const Error& error) = 0;
    /// What became of a peer that is gone, where somebody knows, to be read after its name: "was
    /// killed by signal 9 (SIGKILL)"; else empty. May block for half a second.
    [[nodiscard]] virtual std::string fate(int /*peer*/) { return {}; }
    /// A message came that no receive here waits for yet.
    virtual void came_unexpected(int peer, const Envelope& envelope) = 0;
    /// A receive took up such a message, which had come whole.
    virtual void taken_up(int /*peer*/, const Envelope& /*envelope*/) {}
    /// Whether messages of a stream that nobody waits for may be thrown away.
    [[nodiscard]] virtual bool retired(std::uint32_t stream) const noexcept = 0;

protected:
    ~LinkListener() = default;
};

/// A channel to one peer, shared by all groups: messages that find their receive by key, over any
/// wire, and the peer's memory where it can be reached.
///
/// **How a message travels.** A short one follows its envelope at once (eager), as long as the
/// receiver's credit for unawaited bytes lasts. A longer one is only offered: its envelope tells
/// the receiver where it lies. Once the matching receive is there, the receiver either reads the
/// memory by itself and says `taken`, or answers `accept`, and the payload follows in pieces,
/// between which other messages pass. So one unawaited large message blocks no other group. The
/// receiving side says where a payload goes: into the user's buffer, reduced into one, into library
/// memory until somebody asks for it, or nowhere.
///
/// The message verbs are `Transfer`s: constructing one starts it. The memory verbs are
/// `PeerMemory`'s. A link is polled by its engine; everything here is guarded by the engine's
/// mutex.
class Link final : public Pollable {
public:
    /// `traffic`: where to count what passes; null: nobody wants to know.
    Link(Engine& engine, LinkListener& listener, int peer, std::unique_ptr<Wire> wire,
         std::unique_ptr<PeerMemory> memory, Traffic* traffic = nullptr);
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;
    ~Link() override;

    /// World rank of the peer.
    [[nodiscard]] int peer() const noexcept { return peer_; }
    [[nodiscard]] std::string_view transport() const noexcept { return wire_->transport(); }

    // --- Memory verbs --------------------------------------------------------------------------

    /// Null where the peer's memory cannot be reached.
    [[nodiscard]] PeerMemory* memory() noexcept { return memory_.get(); }

    /// Payload that passed. What is read and written through `memory()` is counted by whoever does.
    [[nodiscard]] Traffic& traffic() noexcept { return *traffic_; }

    /// After something was put into memory that the peer shares: wakes it if it sleeps.
    void wake_peer() noexcept { wire_->wake(); }

    // --- Progress and failure ------------------------------------------------------------------

    bool poll() override;
    bool descriptor_ready() override;

    /// Whether the peer has left, or the link is broken.
    [[nodiscard]] bool gone() const noexcept { return lost_.has_value() || left_.has_value(); }

    /// Once it is gone: what became of it.
    [[nodiscard]] const Error& farewell() const noexcept { return lost_ ? *lost_ : *left_; }

    /// The link breaks if the peer's host has not acknowledged anything for so long.
    void check_heartbeat(std::chrono::milliseconds heartbeat);

    /// Fails every transfer of `stream` here, those that are started later too, and forgets what
    /// arrived for it.
    void fail_stream(std::uint32_t stream, const std::exception_ptr& error);

    /// The stream is over, and retired: forgets what arrived for it.
    void end_stream(std::uint32_t stream);

    /// Tells the peer that `stream` has failed, and why; a long text is cut.
    void send_abort(std::uint32_t stream, const Error& reason);

    /// Announces that this process leaves the world, and hands over what is still queued, waiting
    /// for the wire until `deadline` at most. `reason`: the text reads after "it has left: ".
    void leave(std::chrono::steady_clock::time_point deadline,
               const std::optional<Error>& reason = std::nullopt);

    /// Whether a transfer of `stream` waits for the peer.
    [[nodiscard]] bool waits_for_peer(std::uint32_t stream) const noexcept;

    /// Whether a message with this key waits here for its receive, or a receive for its message.
    [[nodiscard]] bool has_message(const Key& key) const noexcept;
    [[nodiscard]] bool has_receive(const Key& key) const noexcept {
        return find_posted(key) != nullptr;
    }
    /// Whether a message of so many bytes leaves at once, whatever the peer does.
    [[nodiscard]] bool sends_at_once(std::size_t bytes) const noexcept {
        return bytes <= wire_->eager_limit() && bytes + sizeof(Envelope) <= credit_;
    }

    /// A message of a collective that waits here for its receive and does not belong to the
    /// operation with this number and fingerprint; null for none.
    [[nodiscard]] const Envelope* find_stranger(std::uint32_t stream, std::uint32_t sequence,
                                                std::uint64_t fingerprint) const noexcept;

private:
    friend class Transfer;

    // A frame on its way out. Frames leave in order; `written` counts from the envelope on.
    struct OutFrame {
        Envelope envelope;
        std::byte body[sizeof(OfferBody)] = {};
        const std::byte* payload = nullptr;
        std::size_t payload_bytes = 0;
        std::size_t written = 0;
        Transfer* transfer = nullptr;        // told when the frame is out
        std::unique_ptr<std::byte[]> owned;  // the payload, where nobody else keeps it
    };

    // A message that arrived before its receive. An offer's payload stays with the sender.
    struct Unexpected {
        Envelope envelope;
        OfferBody offer;
        std::unique_ptr<std::byte[]> payload;
        std::size_t capacity = 0;  // of `payload`, which is kept for later messages
        bool complete = false;
        Transfer* claimant = nullptr;  // a receive that came while the payload was arriving
    };
    using UnexpectedList = std::list<Unexpected>;

    // The frame whose payload is arriving; at most one of the targets is set, none: thrown away.
    struct Incoming {
        Envelope envelope;
        std::size_t remaining = 0;
        bool open = false;
        Transfer* transfer = nullptr;
        Unexpected* unexpected = nullptr;
        std::string* text = nullptr;
    };

    // link_send.cpp
    void start_send(Transfer& transfer);
    void push(const Envelope& envelope, const void* body = nullptr);
    void push_reason(FrameKind kind, std::uint32_t stream, const Error& reason);
    void send_eager(Transfer& transfer);
    void send_offer(Transfer& transfer);
    void send_piece(Transfer& transfer);
    bool write_frame(OutFrame& frame) noexcept;
    bool flush();
    void frame_out(Transfer& transfer);
    void disown_frames(const Transfer& transfer);
    void want_write(bool wanted);

    // link_receive.cpp
    void start_receive(Transfer& transfer);
    bool receive_frames();
    bool begin_frame();
    void begin_eager(const Envelope& envelope);
    void begin_offer(const Envelope& envelope, const OfferBody& offer);
    void begin_data(const Envelope& envelope);
    bool receive_payload();
    std::size_t deliver(Transfer& transfer, std::size_t limit);
    void end_frame();
    [[nodiscard]] Transfer* find_posted(const Key& key) const noexcept;
    [[nodiscard]] bool fits(Transfer& transfer, const Envelope& envelope);
    void take_offer(Transfer& transfer, const OfferBody& offer);
    bool pull(Transfer& transfer);
    bool pull_all();
    void give_credit(std::size_t payload_bytes);
    [[nodiscard]] bool unwanted(std::uint32_t stream) const noexcept;
    Unexpected& keep_unexpected(const Envelope& envelope, const OfferBody& offer);
    UnexpectedList::iterator erase_unexpected(UnexpectedList::iterator message) noexcept;
    void drop_unexpected(std::uint32_t stream);
    void received_reason(const Envelope& envelope, std::string_view body);
    void protocol_error(const std::string& what);

    // link.cpp
    void list(Transfer& transfer) noexcept;
    void end(Transfer& transfer, std::exception_ptr error = nullptr);
    void detach(Transfer& transfer) noexcept;
    void lose(const Error& error);
    void check_closed();
    void peer_left(const Error& reason);
    [[nodiscard]] bool refuse(Transfer& transfer);

    Engine& engine_;
    LinkListener& listener_;
    int peer_;
    std::unique_ptr<Wire> wire_;
    std::unique_ptr<PeerMemory> memory_;
    Traffic own_traffic_;  // where nobody wants to know
    Traffic* traffic_;

    // Empty most of the time, and then without memory of its own.
    std::list<OutFrame> out_;
    std::size_t credit_;

    Incoming in_;
    std::string reason_;
    UnexpectedList unexpected_;
    UnexpectedList spare_;      // for messages to come, so that none is allocated for each
    std::size_t consumed_ = 0;  // eager bytes not yet given back as credit

    Transfer* first_ = nullptr;  // all transfers that have not ended, oldest first
    Transfer* last_ = nullptr;
    std::vector<Transfer*> pulls_;
    int published_ = 0;  // offers whose memory the peer may read
    TransferTable table_;
    std::map<std::uint32_t, std::exception_ptr> failed_;  // streams, and why

    std::optional<Error> lost_;
    std::optional<Error> left_;  // the peer has said goodbye, and why
    bool writable_watched_ = false;
};

}  // namespace trireme
