// The outgoing half of a link.

#include <algorithm>
#include <cstring>

#include "link/link.h"

namespace trireme {

namespace {

// A piece of an accepted payload: long enough to be worth its envelope, short enough to let other
// messages pass soon.
constexpr std::size_t piece_bytes = 256 * 1024;

// So many offers at once let the peer read the payload by itself; further ones are sent in pieces,
// so that algorithms which cannot do without publications find some.
constexpr int most_published = 256;
constexpr std::size_t abort_ranks_limit = 1024;

}  // namespace

void Link::start_send(Transfer& transfer) {
    if (refuse(transfer)) return;
    const std::size_t cost = transfer.length_ + sizeof(Envelope);
    if (transfer.length_ <= wire_->eager_limit() && cost <= credit_) {
        credit_ -= cost;
        send_eager(transfer);
    } else {
        send_offer(transfer);
    }
}

void Link::send_eager(Transfer& transfer) {
    const Envelope envelope{.kind = FrameKind::eager,
                            .key = transfer.head_.key,
                            .fingerprint = transfer.head_.fingerprint,
                            .length = transfer.length_};
    const ConstBytes head = std::as_bytes(std::span(&envelope, 1));
    const ConstBytes payload(transfer.data_, transfer.length_);
    // The common case: the wire takes it whole, and nothing is queued, listed or allocated.
    const std::size_t written = out_.empty() ? wire_->write(head, payload) : 0;
    if (written == head.size() + payload.size()) {
        traffic_->count_sent(payload.size());
        if (wire_->wants_write()) want_write(true);
        return;
    }
    out_.push_back({.envelope = envelope,
                    .payload = transfer.data_,
                    .payload_bytes = transfer.length_,
                    .written = written,
                    .transfer = &transfer,
                    .owned = nullptr});
    transfer.state_ = Transfer::State::writing;
    list(transfer);
    want_write(true);
}

void Link::send_offer(Transfer& transfer) {
    transfer.number_ = table_.add(transfer);
    OfferBody body{.transfer = transfer.number_};
    if (memory_ && memory_->carries_messages() && published_ < most_published) {
        if (const auto own = memory_->publish({transfer.data_, transfer.length_})) {
            body.source = transfer.remote_ = *own;
            ++published_;
        }
    }
    transfer.state_ = Transfer::State::offered;
    list(transfer);
    push({.kind = FrameKind::offer,
          .key = transfer.head_.key,
          .fingerprint = transfer.head_.fingerprint,
          .length = transfer.length_},
         &body);
}

// Queues a frame without payload, and sends it at once if it can.
void Link::push(const Envelope& envelope, const void* body) {
    if (lost_) return;
    OutFrame frame{.envelope = envelope, .owned = nullptr};
    if (body != nullptr) std::memcpy(frame.body, body, body_bytes(envelope.kind));
    if (out_.empty() && write_frame(frame)) {
        if (wire_->wants_write()) want_write(true);
        return;
    }
    out_.push_back(std::move(frame));
    want_write(true);
}

void Link::send_piece(Transfer& transfer) {
    const std::size_t bytes = std::min(piece_bytes, transfer.length_ - transfer.moved_);
    Key key = transfer.head_.key;
    key.sequence = transfer.peer_number_;
    out_.push_back({.envelope = {.kind = FrameKind::data, .key = key, .length = bytes},
                    .payload = transfer.data_ + transfer.moved_,
                    .payload_bytes = bytes,
                    .transfer = &transfer,
                    .owned = nullptr});
    transfer.moved_ += bytes;
    transfer.state_ = Transfer::State::writing;
    want_write(true);
}

void Link::send_abort(std::uint32_t stream, const Error& reason) {
    if (!lost_ && !left_) push_reason(FrameKind::abort, stream, reason);
}

// The key's sequence is the error's code; the payload begins with the ranks to blame, whose number
// is the key's tag, and ends with the text.
void Link::push_reason(FrameKind kind, std::uint32_t stream, const Error& reason) {
    const std::size_t ranks = std::min(reason.ranks().size(), abort_ranks_limit);
    const std::size_t ranks_bytes = ranks * sizeof(int);
    const std::string_view text =
        std::string_view(reason.what()).substr(0, abort_bytes_limit - ranks_bytes);
    const std::size_t bytes = ranks_bytes + text.size();
    OutFrame frame{.envelope = {.kind = kind,
                                .key = {.stream = stream,
                                        .sequence = static_cast<std::uint32_t>(reason.code()),
                                        .tag = static_cast<std::int32_t>(ranks)},
                                .length = bytes},
                   .payload_bytes = bytes,
                   .owned = std::make_unique<std::byte[]>(bytes)};
    if (ranks != 0) std::memcpy(frame.owned.get(), reason.ranks().data(), ranks_bytes);
    std::memcpy(frame.owned.get() + ranks_bytes, text.data(), text.size());
    frame.payload = frame.owned.get();
    out_.push_back(std::move(frame));
    want_write(true);
    flush();
}

// Writes as much of a frame as the wire takes; true once all of it is out.
bool Link::write_frame(OutFrame& frame) noexcept {
    std::byte head[sizeof(Envelope) + sizeof(OfferBody)];
    const std::size_t head_bytes = sizeof(Envelope) + body_bytes(frame.envelope.kind);
    const std::size_t total = head_bytes + frame.payload_bytes;
    std::memcpy(head, &frame.envelope, sizeof(Envelope));
    std::memcpy(head + sizeof(Envelope), frame.body, body_bytes(frame.envelope.kind));
    while (frame.written < total) {
        const bool head_is_out = frame.written >= head_bytes;
        const std::size_t offset = head_is_out ? frame.written - head_bytes : 0;
        const std::size_t written =
            wire_->write(head_is_out ? ConstBytes{} : ConstBytes{head, head_bytes},
                         {frame.payload + offset, frame.payload_bytes - offset});
        if (written == 0) return false;
        frame.written += written;
    }
    return true;
}

bool Link::flush() {
    bool moved = false;
    while (!out_.empty()) {
        const std::size_t before = out_.front().written;
        const bool out = write_frame(out_.front());
        moved = moved || out_.front().written != before;
        if (!out) return moved;
        Transfer* transfer = out_.front().transfer;
        if (out_.front().envelope.kind != FrameKind::abort)
            traffic_->count_sent(out_.front().payload_bytes);
        out_.pop_front();
        if (transfer != nullptr) frame_out(*transfer);
    }
    want_write(wire_->wants_write());
    return moved;
}

// In-memory wires are looked at on every round anyway.
void Link::want_write(bool wanted) {
    if (wire_->in_memory() || wanted == writable_watched_) return;
    writable_watched_ = wanted;
    engine_.watch_writable(*this, wire_->descriptor(), wanted);
}

void Link::frame_out(Transfer& transfer) {
    if (transfer.peer_number_ != 0 && transfer.moved_ < transfer.length_) {
        send_piece(transfer);  // behind what was queued meanwhile
    } else {
        end(transfer);
    }
}

// The sender takes its memory back. A frame that is partly out must still be completed, from a
// copy; one that is not is dropped.
void Link::disown_frames(const Transfer& transfer) {
    for (auto frame = out_.begin(); frame != out_.end();) {
        if (frame->transfer != &transfer) {
            ++frame;
            continue;
        }
        frame->transfer = nullptr;
        if (frame->written == 0) {
            if (frame->envelope.kind == FrameKind::eager)
                credit_ += frame->payload_bytes + sizeof(Envelope);  // it was not used
            frame = out_.erase(frame);
            continue;
        }
        frame->owned = std::make_unique<std::byte[]>(frame->payload_bytes);
        std::memcpy(frame->owned.get(), frame->payload, frame->payload_bytes);
        frame->payload = frame->owned.get();
        ++frame;
    }
}

}  // namespace trireme
