// The incoming half of a link.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "link/link.h"

namespace trireme {

namespace {

// One poll takes this many frames at most, so that one busy link does not starve the others: of a
// wire that is looked at on every round. Another wire may have frames in a buffer of its own, of
// which its descriptor says nothing, and must be emptied; credit bounds how many there can be.
constexpr int frames_per_poll = 64;

}  // namespace

void Link::start_receive(Transfer& transfer) {
    for (auto message = unexpected_.begin(); message != unexpected_.end(); ++message) {
        if (message->claimant != nullptr || !(message->envelope.key == transfer.head_.key))
            continue;
        if (!fits(transfer, message->envelope)) return;
        // What is here whole may be taken up even if nothing more can come.
        if (!(message->complete && message->envelope.kind == FrameKind::eager) && refuse(transfer))
            return;
        if (message->envelope.kind == FrameKind::offer) {
            const OfferBody offer = message->offer;
            erase_unexpected(message);
            list(transfer);
            take_offer(transfer, offer);
        } else if (message->complete) {
            const ConstBytes payload(message->payload.get(), transfer.length_);
            if (message->envelope.key.tag < 0) listener_.taken_up(peer_, message->envelope);
            if (transfer.reduction_.combine != nullptr) {
                transfer.reduction_.apply(payload.data(), transfer.data_, 0, payload.size());
            } else if (!payload.empty() && !wire_->phantom()) {
                std::memcpy(transfer.data_, payload.data(), payload.size());
            }
            give_credit(payload.size());
            erase_unexpected(message);
        } else {
            message->claimant = &transfer;
            transfer.state_ = Transfer::State::claimed;
            list(transfer);
        }
        return;
    }
    if (refuse(transfer)) return;
    transfer.state_ = Transfer::State::posted;
    list(transfer);
}

// Whether a message is the one that the receive expects; if not, the receive fails.
bool Link::fits(Transfer& transfer, const Envelope& envelope) {
    if (envelope.fingerprint == transfer.head_.fingerprint && envelope.length == transfer.length_)
        return true;
    end(transfer,
        std::make_exception_ptr(transfer.head_.owner->mismatch(peer_, envelope, transfer.length_)));
    return false;
}

Transfer* Link::find_posted(const Key& key) const noexcept {
    for (Transfer* transfer = first_; transfer != nullptr; transfer = transfer->next_)
        if (transfer->state_ == Transfer::State::posted && transfer->head_.key == key)
            return transfer;
    return nullptr;
}

bool Link::receive_frames() {
    bool moved = false;
    for (int frames = 0; frames < frames_per_poll || !wire_->in_memory(); ++frames) {
        if (lost_) return moved;
        if (!in_.open && !begin_frame()) return moved;
        moved = true;
        if (!receive_payload()) return moved;
        end_frame();
    }
    return moved;
}

// Reads a frame's head, once all of it is there, and decides where its payload goes.
bool Link::begin_frame() {
    ConstBytes view = wire_->peek(sizeof(Envelope));
    if (view.size() < sizeof(Envelope)) return false;
    Envelope envelope;
    std::memcpy(&envelope, view.data(), sizeof(Envelope));
    const std::size_t body = body_bytes(envelope.kind);
    OfferBody offer{};
    AcceptBody accept{};
    if (body != 0) {
        view = wire_->peek(sizeof(Envelope) + body);
        if (view.size() < sizeof(Envelope) + body) return false;
        void* target = envelope.kind == FrameKind::offer ? static_cast<void*>(&offer) : &accept;
        std::memcpy(target, view.data() + sizeof(Envelope), body);
    }
    wire_->consume(sizeof(Envelope) + body);
    in_ = {.envelope = envelope, .open = true};

    switch (envelope.kind) {
        case FrameKind::eager: begin_eager(envelope); break;
        case FrameKind::offer: begin_offer(envelope, offer); break;
        case FrameKind::data: begin_data(envelope); break;
        case FrameKind::accept:
            if (Transfer* transfer = table_.find(envelope.key.sequence);
                transfer != nullptr && transfer->state_ == Transfer::State::offered) {
                transfer->peer_number_ = accept.transfer;
                send_piece(*transfer);
                flush();
            }
            break;
        case FrameKind::taken:
            if (Transfer* transfer = table_.find(envelope.key.sequence);
                transfer != nullptr && transfer->state_ == Transfer::State::offered) {
                traffic_->count_sent(transfer->length_);
                end(*transfer);
            }
            break;
        case FrameKind::credit: credit_ += envelope.length; break;
        case FrameKind::abort:
        case FrameKind::goodbye:
            if (envelope.length > abort_bytes_limit) {
                protocol_error("a reason of absurd length");
                break;
            }
            reason_.clear();
            in_.text = &reason_;
            in_.remaining = envelope.length;
            break;
        default: protocol_error("a frame of unknown kind");
    }
    return !lost_;
}

void Link::begin_eager(const Envelope& envelope) {
    if (envelope.length > wire_->eager_limit()) return protocol_error("an eager message too long");
    in_.remaining = envelope.length;
    if (Transfer* transfer = find_posted(envelope.key)) {
        if (!fits(*transfer, envelope)) return;
        transfer->state_ = Transfer::State::arriving;
        in_.transfer = transfer;
    } else if (!unwanted(envelope.key.stream)) {
        in_.unexpected = &keep_unexpected(envelope, {});
        listener_.came_unexpected(peer_, envelope);
    }
}

void Link::begin_offer(const Envelope& envelope, const OfferBody& offer) {
    if (offer.source.generation != 0 && offer.source.length != envelope.length)
        return protocol_error("an offer whose lengths differ");
    if (Transfer* transfer = find_posted(envelope.key)) {
        if (fits(*transfer, envelope)) take_offer(*transfer, offer);
    } else if (!unwanted(envelope.key.stream)) {
        keep_unexpected(envelope, offer);
        listener_.came_unexpected(peer_, envelope);
    } else if (envelope.length <= wire_->eager_limit()) {
        // It was only offered for want of credit: thrown away like those that came at once.
        push({.kind = FrameKind::taken,
              .key = {.stream = envelope.key.stream, .sequence = offer.transfer}});
    }
}

void Link::begin_data(const Envelope& envelope) {
    in_.remaining = envelope.length;
    Transfer* transfer = table_.find(envelope.key.sequence);
    if (transfer == nullptr || transfer->kind_ != Transfer::Kind::receive) return;  // thrown away
    if (envelope.length > transfer->length_ - transfer->moved_)
        return protocol_error("more data than was offered");
    if (envelope.length % transfer->reduction_.element_bytes != 0)
        return protocol_error("a part of an element");
    in_.transfer = transfer;
}

bool Link::unwanted(std::uint32_t stream) const noexcept {
    return (!failed_.empty() && failed_.contains(stream)) || listener_.retired(stream);
}

void Link::received_reason(const Envelope& envelope, std::string_view body) {
    const Key& key = envelope.key;
    const std::size_t ranks = static_cast<std::uint32_t>(key.tag);
    if (key.sequence > static_cast<std::uint32_t>(ErrorCode::system) ||
        ranks > body.size() / sizeof(int))
        return protocol_error("a malformed reason");
    std::vector<int> blamed(ranks);
    if (ranks != 0) std::memcpy(blamed.data(), body.data(), ranks * sizeof(int));
    const Error reason(static_cast<ErrorCode>(key.sequence),
                       std::string(body.substr(ranks * sizeof(int))), std::move(blamed));
    if (envelope.kind == FrameKind::abort)
        listener_.stream_failed(peer_, key.stream, reason);
    else
        peer_left(reason);
}

void Link::take_offer(Transfer& transfer, const OfferBody& offer) {
    transfer.peer_number_ = offer.transfer;
    Key key = transfer.head_.key;
    key.sequence = offer.transfer;
    if (memory_ && offer.source.generation != 0) {
        transfer.remote_ = offer.source;
        transfer.state_ = Transfer::State::pulling;
        pulls_.push_back(&transfer);
        pull(transfer);
        return;
    }
    transfer.number_ = table_.add(transfer);
    transfer.state_ = Transfer::State::arriving;
    const AcceptBody body{.transfer = transfer.number_};
    push({.kind = FrameKind::accept, .key = key}, &body);
}

// Reads one lease's worth of an offered payload.
bool Link::pull(Transfer& transfer) {
    const std::size_t left = transfer.length_ - transfer.moved_;
    std::size_t bytes = std::min(left, PeerMemory::lease_bytes);
    bool open = false;
    if (transfer.reduction_.combine != nullptr) {
        const std::span<std::byte> scratch = engine_.scratch();
        bytes = std::min(left, scratch.size());
        open = memory_->read(transfer.remote_, transfer.moved_, scratch.first(bytes));
        if (open) transfer.reduction_.apply(scratch.data(), transfer.data_, transfer.moved_, bytes);
    } else {
        open = memory_->read(transfer.remote_, transfer.moved_,
                             {transfer.data_ + transfer.moved_, bytes});
    }
    if (!open) {
        // The sender has taken its memory back: it failed, or died. Its reason follows by itself,
        // as an abort or a closed wire.
        std::erase(pulls_, &transfer);
        transfer.state_ = Transfer::State::arriving;
        return false;
    }
    traffic_->count_received(bytes);
    transfer.moved_ += bytes;
    if (transfer.moved_ == transfer.length_) {
        Key key = transfer.head_.key;
        key.sequence = transfer.peer_number_;
        end(transfer);
        push({.kind = FrameKind::taken, .key = key});
    }
    return true;
}

bool Link::pull_all() {
    bool moved = false;
    for (std::size_t i = 0; i < pulls_.size();) {
        Transfer* transfer = pulls_[i];
        moved = pull(*transfer) || moved;
        if (i < pulls_.size() && pulls_[i] == transfer) ++i;  // else it ended and moved up
    }
    return moved;
}

// Moves payload to where it goes; true once the frame is complete.
bool Link::receive_payload() {
    while (in_.remaining > 0) {
        std::size_t moved = 0;
        if (in_.transfer != nullptr) {
            moved = deliver(*in_.transfer, in_.remaining);
        } else if (in_.unexpected != nullptr) {
            const std::size_t length = in_.unexpected->envelope.length;
            moved = wire_->read(
                {in_.unexpected->payload.get() + (length - in_.remaining), in_.remaining});
        } else {
            const ConstBytes piece = wire_->peek(1);
            moved = std::min(piece.size(), in_.remaining);
            if (in_.text != nullptr)
                in_.text->append(reinterpret_cast<const char*>(piece.data()), moved);
            wire_->consume(moved);
        }
        if (moved == 0) return false;
        in_.remaining -= moved;
    }
    return true;
}

std::size_t Link::deliver(Transfer& transfer, std::size_t limit) {
    std::size_t bytes = 0;
    if (transfer.reduction_.combine == nullptr) {
        bytes = wire_->read({transfer.data_ + transfer.moved_, limit});
    } else {
        const std::size_t width = transfer.reduction_.element_bytes;
        const ConstBytes piece = wire_->peek(width);
        bytes = std::min(piece.size(), limit) / width * width;
        transfer.reduction_.apply(piece.data(), transfer.data_, transfer.moved_, bytes);
        wire_->consume(bytes);
    }
    transfer.moved_ += bytes;
    return bytes;
}

void Link::end_frame() {
    const Incoming frame = in_;
    in_ = {};
    const bool eager = frame.envelope.kind == FrameKind::eager;
    if (eager || frame.envelope.kind == FrameKind::data)
        traffic_->count_received(frame.envelope.length);
    if (frame.unexpected != nullptr) {
        frame.unexpected->complete = true;
        if (Transfer* transfer = frame.unexpected->claimant) {
            // It claimed the message while this was arriving: hand it over as if it came now.
            frame.unexpected->claimant = nullptr;
            const auto message = std::find_if(unexpected_.begin(), unexpected_.end(),
                                              [&](auto& m) { return &m == frame.unexpected; });
            unexpected_.splice(unexpected_.begin(), unexpected_, message);
            detach(*transfer);
            start_receive(*transfer);
            end(*transfer);
        }
        return;  // its credit is given back when it is taken up
    }
    if (eager) give_credit(frame.envelope.length);
    if (frame.transfer != nullptr && (eager || frame.transfer->moved_ == frame.transfer->length_))
        end(*frame.transfer);
    if (frame.text != nullptr) received_reason(frame.envelope, *frame.text);
}

void Link::give_credit(std::size_t payload_bytes) {
    consumed_ += payload_bytes + sizeof(Envelope);
    // Rarely, but before the sender can run dry of it.
    if (consumed_ < 4 * wire_->eager_limit()) return;
    const std::size_t bytes = std::exchange(consumed_, 0);
    push({.kind = FrameKind::credit, .length = bytes});
}

void Link::protocol_error(const std::string& what) {
    lose(Error(
        ErrorCode::peer_lost,
        fmt::format("rank {} sent {} over {}; the link is closed", peer_, what, wire_->transport()),
        {peer_}));
}

}  // namespace trireme
