#include "link/sim/sim_wire.h"

#include <algorithm>
#include <cstring>

#include "link/sim/sim_network.h"

namespace trireme {

bool SimWire::phantom() const noexcept { return network_.phantom(); }

Envelope SimWire::envelope_of(ConstBytes head) noexcept {
    Envelope envelope;
    std::memcpy(&envelope, head.data(), sizeof(Envelope));
    return envelope;
}

std::size_t SimWire::write(ConstBytes head, ConstBytes body) noexcept {
    const Envelope envelope = envelope_of(head);
    const int depth = depth_of(envelope, head, body.size());
    network_.send(own_, peer_, head, body, depth);
    return head.size() + body.size();
}

int SimWire::depth_of(const Envelope& envelope, ConstBytes head, std::size_t payload) {
    SimRank& rank = *own_.rank;
    switch (envelope.kind) {
        case FrameKind::eager: rank.count_message(); return rank.depth + 1;
        case FrameKind::offer: {
            OfferBody offer;
            std::memcpy(&offer, head.data() + sizeof(Envelope), sizeof(OfferBody));
            rank.count_message();
            offered_.push_back({.number = offer.transfer,
                                .left = static_cast<std::size_t>(envelope.length),
                                .depth = rank.depth + 1});
            return 0;
        }
        case FrameKind::data: {
            const auto offer =
                std::ranges::find(offered_, envelope.key.sequence, &Offered::peer_number);
            const int depth = offer->depth;
            offer->left -= payload;
            if (offer->left == 0) offered_.erase(offer);
            return depth;
        }
        default: return 0;
    }
}

ConstBytes SimWire::peek(std::size_t /*want*/) noexcept {
    if (shown_ == nullptr || consumed_ == shown_->bytes()) return {};
    if (consumed_ < shown_->head_bytes)
        return ConstBytes(shown_->head.data(), shown_->head_bytes).subspan(consumed_);
    const std::size_t offset = consumed_ - shown_->head_bytes;
    // Of a phantom only the length is looked at; the pointer need only not be null.
    if (phantom()) return {shown_->head.data(), shown_->payload_bytes - offset};
    return ConstBytes(shown_->payload).subspan(offset);
}

std::size_t SimWire::read(Bytes target) noexcept {
    const ConstBytes piece = peek(1);
    const std::size_t bytes = std::min(piece.size(), target.size());
    if (bytes != 0 && !phantom()) std::memcpy(target.data(), piece.data(), bytes);
    consume(bytes);
    return bytes;
}

void SimWire::show(const SimPacket& packet) noexcept {
    shown_ = &packet;
    consumed_ = 0;
    unexpected_ = false;
    const Envelope envelope = envelope_of(packet.head);
    if (envelope.kind != FrameKind::accept) return;
    AcceptBody accept;
    std::memcpy(&accept, packet.head.data() + sizeof(Envelope), sizeof(AcceptBody));
    const auto offer = std::ranges::find(offered_, envelope.key.sequence, &Offered::number);
    if (offer != offered_.end()) offer->peer_number = accept.transfer;
}

bool SimWire::hide() noexcept {
    const bool all = consumed_ == shown_->bytes();
    shown_ = nullptr;
    return all;
}

void SimWire::came_unexpected(const Envelope& envelope) {
    unexpected_ = true;
    // The payload of a long one comes when a receive is there.
    if (envelope.kind == FrameKind::eager) early_.push_back({envelope.key, shown_->depth});
}

int SimWire::taken_up(const Envelope& envelope) noexcept {
    const auto message = std::ranges::find(early_, envelope.key, &Early::key);
    const int depth = message->depth;
    early_.erase(message);
    return depth;
}

int SimWire::depth_taken_up() const noexcept { return unexpected_ ? 0 : shown_->depth; }

}  // namespace trireme
