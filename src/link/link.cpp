#include "link/link.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <thread>

namespace trireme {

namespace {

// Entries of messages taken up that are kept for others.
constexpr std::size_t most_spare = 8;

// Eager messages that the receiver has not taken up may hold this many times the eager limit.
constexpr std::size_t credit_messages = 16;

}  // namespace

Transfer::Transfer(Link& link, const MessageHead& head, ConstBytes payload)
    : link_(&link),
      head_(head),
      data_(const_cast<std::byte*>(payload.data())),
      length_(payload.size()),
      kind_(Kind::send) {
    link_->start_send(*this);
}

Transfer::Transfer(Link& link, const MessageHead& head, Bytes target, const Reduction& reduction)
    : link_(&link),
      head_(head),
      data_(target.data()),
      length_(target.size()),
      reduction_(reduction),
      kind_(Kind::receive) {
    link_->start_receive(*this);
}

Transfer::~Transfer() {
    if (state_ != State::ended) link_->detach(*this);
}

bool Transfer::await_ready() const {
    if (ended()) return true;
    link_->poll();
    return ended();
}

Link::Link(Engine& engine, LinkListener& listener, int peer, std::unique_ptr<Wire> wire,
           std::unique_ptr<PeerMemory> memory, Traffic* traffic)
    : engine_(engine),
      listener_(listener),
      peer_(peer),
      wire_(std::move(wire)),
      memory_(std::move(memory)),
      traffic_(traffic != nullptr ? traffic : &own_traffic_),
      credit_(credit_messages * (wire_->eager_limit() + sizeof(Envelope))) {
    engine_.add(*this, wire_->in_memory(), wire_->descriptor());
}

Link::~Link() { engine_.remove(*this, wire_->descriptor()); }

bool Link::poll() {
    bool moved = false;
    if (!out_.empty()) moved = flush();
    if (!pulls_.empty()) moved = pull_all() || moved;
    return receive_frames() || moved;
}

bool Link::descriptor_ready() {
    wire_->descriptor_ready();
    const bool moved = poll();
    if (out_.empty()) want_write(wire_->wants_write());
    check_closed();
    return moved;
}

void Link::check_closed() {
    // Everything that arrived before the end has been read by now, or waits behind a frame that
    // will never be whole.
    if (lost_ || !wire_->closed()) return;
    if (left_) {
        lost_ = *left_;
        engine_.remove(*this, wire_->descriptor());
        return;
    }
    std::string reason = wire_->close_reason();
    if (reason.empty()) reason = "it has closed the connection";
    if (const std::string fate = listener_.fate(peer_); !fate.empty())
        reason += fmt::format("; it {}", fate);
    lose(Error(ErrorCode::peer_lost,
               fmt::format("rank {} is gone without a goodbye over {}: {}", peer_,
                           wire_->transport(), reason),
               {peer_}));
}

void Link::check_heartbeat(std::chrono::milliseconds heartbeat) {
    if (lost_ || wire_->unacknowledged() < heartbeat) return;
    lose(Error(ErrorCode::peer_lost,
               fmt::format("rank {} is out of reach: its host has acknowledged nothing over {} for "
                           "{:.1f} s (TRIREME_HEARTBEAT)",
                           peer_, wire_->transport(),
                           std::chrono::duration<double>(wire_->unacknowledged()).count()),
               {peer_}));
}

void Link::lose(const Error& error) {
    if (lost_) return;
    lost_ = error;
    // The descriptor would stay readable for ever.
    engine_.remove(*this, wire_->descriptor());
    out_.clear();
    listener_.link_lost(peer_, error);
    while (first_ != nullptr) end(*first_, std::make_exception_ptr(error));  // whatever it did
}

// The peer's goodbye came behind all that it sent, so whatever still waits for it waits in vain.
void Link::peer_left(const Error& reason) {
    left_ = Error(ErrorCode::peer_lost,
                  fmt::format("rank {} has left the world: {}", peer_,
                              *reason.what() != '\0' ? reason.what() : "its World was destroyed"),
                  reason.ranks().empty() ? std::vector{peer_} : reason.ranks());
    listener_.said_goodbye(peer_, *left_);
    while (first_ != nullptr) {
        const std::uint32_t stream = first_->head_.key.stream;
        const Error error = *left_;
        listener_.peer_left(peer_, stream, error);
        fail_stream(stream, std::make_exception_ptr(error));  // whatever the listener did
    }
}

bool Link::refuse(Transfer& transfer) {
    if (!failed_.empty()) {
        const auto failed = failed_.find(transfer.head_.key.stream);
        if (failed != failed_.end()) {
            transfer.error_ = failed->second;
            return true;
        }
    }
    if (!lost_ && !left_) return false;
    transfer.error_ = std::make_exception_ptr(lost_ ? *lost_ : *left_);
    return true;
}

void Link::list(Transfer& transfer) noexcept {
    transfer.previous_ = last_;
    transfer.next_ = nullptr;
    (last_ != nullptr ? last_->next_ : first_) = &transfer;
    last_ = &transfer;
    transfer.listed_ = true;
}

void Link::end(Transfer& transfer, std::exception_ptr error) {
    detach(transfer);
    transfer.error_ = std::move(error);
    if (transfer.waiter_) engine_.ready().push(transfer.waiter_);
}

// Takes a transfer out of everything that refers to it; what is left of it on its way in or out is
// thrown away or carried on without it.
void Link::detach(Transfer& transfer) noexcept {
    if (transfer.listed_) {
        (transfer.previous_ != nullptr ? transfer.previous_->next_ : first_) = transfer.next_;
        (transfer.next_ != nullptr ? transfer.next_->previous_ : last_) = transfer.previous_;
        transfer.listed_ = false;
    }
    if (transfer.number_ != 0) {
        table_.remove(transfer.number_);
        transfer.number_ = 0;
    }
    switch (transfer.state_) {
        case Transfer::State::writing:
        case Transfer::State::offered: disown_frames(transfer); break;
        case Transfer::State::claimed:
            for (Unexpected& message : unexpected_)
                if (message.claimant == &transfer) message.claimant = nullptr;
            break;
        case Transfer::State::arriving:
            if (in_.transfer == &transfer) in_.transfer = nullptr;
            break;
        case Transfer::State::pulling: std::erase(pulls_, &transfer); break;
        case Transfer::State::posted:
        case Transfer::State::ended: break;
    }
    if (transfer.kind_ == Transfer::Kind::send && transfer.remote_.generation != 0) {
        memory_->withdraw(transfer.remote_);
        --published_;
        transfer.remote_.generation = 0;
    }
    transfer.state_ = Transfer::State::ended;
}

void Link::fail_stream(std::uint32_t stream, const std::exception_ptr& error) {
    // A task that is about to go on would otherwise start a transfer that nobody ends.
    failed_.emplace(stream, error);
    for (Transfer* transfer = first_; transfer != nullptr;) {
        Transfer* next = transfer->next_;
        if (transfer->head_.key.stream == stream) end(*transfer, error);
        transfer = next;
    }
    drop_unexpected(stream);
}

void Link::end_stream(std::uint32_t stream) {
    failed_.erase(stream);
    drop_unexpected(stream);
}

void Link::drop_unexpected(std::uint32_t stream) {
    for (auto message = unexpected_.begin(); message != unexpected_.end();) {
        if (message->envelope.key.stream != stream) {
            ++message;
            continue;
        }
        if (message->envelope.kind == FrameKind::eager) {
            // The credit of one that is still arriving is given back at its end.
            if (in_.unexpected == &*message)
                in_.unexpected = nullptr;
            else
                give_credit(message->envelope.length);
        }
        message = erase_unexpected(message);
    }
}

bool Link::waits_for_peer(std::uint32_t stream) const noexcept {
    for (const Transfer* transfer = first_; transfer != nullptr; transfer = transfer->next_)
        if (transfer->head_.key.stream == stream) return true;
    return false;
}

// A message that arrived before its receive is kept in an entry that another one has left, if there
// is one with enough memory.
Link::Unexpected& Link::keep_unexpected(const Envelope& envelope, const OfferBody& offer) {
    if (spare_.empty())
        unexpected_.emplace_back();
    else
        unexpected_.splice(unexpected_.end(), spare_, spare_.begin());
    Unexpected& message = unexpected_.back();
    const bool has_payload = envelope.kind == FrameKind::eager;
    if (has_payload && !wire_->phantom() && message.capacity < envelope.length) {
        message.capacity = std::bit_ceil(envelope.length);
        message.payload = std::make_unique_for_overwrite<std::byte[]>(message.capacity);
    }
    message.envelope = envelope;
    message.offer = offer;
    message.complete = !has_payload;
    message.claimant = nullptr;
    return message;
}

Link::UnexpectedList::iterator Link::erase_unexpected(UnexpectedList::iterator message) noexcept {
    if (spare_.size() >= most_spare) return unexpected_.erase(message);
    const auto next = std::next(message);
    spare_.splice(spare_.begin(), unexpected_, message);
    return next;
}

bool Link::has_message(const Key& key) const noexcept {
    return std::ranges::any_of(unexpected_, [&](const Unexpected& message) {
        return message.claimant == nullptr && message.envelope.key == key;
    });
}

const Envelope* Link::find_stranger(std::uint32_t stream, std::uint32_t sequence,
                                    std::uint64_t fingerprint) const noexcept {
    for (const Unexpected& message : unexpected_) {
        const Key& key = message.envelope.key;
        if (key.stream == stream && key.sequence == sequence && key.tag < 0 &&
            message.envelope.fingerprint != fingerprint)
            return &message.envelope;
    }
    return nullptr;
}

void Link::leave(std::chrono::steady_clock::time_point deadline,
                 const std::optional<Error>& reason) {
    if (lost_) return;
    push_reason(FrameKind::goodbye, 0, reason.value_or(Error(ErrorCode::peer_lost, "")));
    while ((!out_.empty() || wire_->wants_write()) && !lost_ &&
           std::chrono::steady_clock::now() < deadline) {
        if (!poll()) std::this_thread::yield();
        check_closed();
    }
    wire_->shut_down();
}

}  // namespace trireme
