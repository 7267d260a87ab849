#include "algorithm/direct.h"

#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "algorithm/cells.h"
#include "link/shm/commons.h"
#include "trireme/error.h"

namespace trireme::algorithm {

namespace {

constexpr int exchange = 0;
constexpr int finished = 1;
constexpr int never = 2;  // nobody sends this: a wait for it ends when the group fails

using Reach = Publication::Reach;

Buffer as_buffer(Reach& reach) noexcept {
    return {reinterpret_cast<std::byte*>(&reach), sizeof(Reach), Dtype::uint8, Device::host};
}

// Null where all must meet by messages.
Commons* meeting_place(const Call& call) noexcept {
    const bool fits =
        static_cast<std::size_t>(call.size()) * sizeof(Reach) <= commons::payload_bytes;
    return call.is_whole() && fits ? call.place().commons : nullptr;
}

}  // namespace

Publication::Publication(Call& call, int peer, const Buffer& in, const Buffer* out)
    : memory_(call.memory(peer)) {
    const bool in_place = out != nullptr && in.data == out->data;
    const auto readable = memory_->publish(bytes_of(in));
    if (readable) reach_.in = *readable;
    const auto writable = out == nullptr ? std::optional<RemoteBuffer>(RemoteBuffer{})
                          : in_place     ? readable
                                         : memory_->publish(bytes_of(*out));
    if (writable) reach_.out = *writable;
    if (readable && writable) return;
    withdraw();
    const OpInfo& row = info(call.op().kind);
    throw Error(ErrorCode::system,
                fmt::format("too many started operations publish memory at the same time: wait for "
                            "some of them earlier, or forbid this one to do so by "
                            "TRIREME_ALGORITHM, see `trireme algorithms {}`",
                            row.name));
}

void Publication::withdraw() noexcept {
    if (reach_.in.generation != 0) memory_->withdraw(reach_.in);
    const bool in_place =
        reach_.out.slot == reach_.in.slot && reach_.out.generation == reach_.in.generation;
    if (reach_.out.generation != 0 && !in_place) memory_->withdraw(reach_.out);
}

DirectAccess::DirectAccess(Call& call)
    : call_(call),
      commons_(meeting_place(call)),
      own_(call.pool(), static_cast<std::size_t>(call.size())),
      reaches_(call.pool(), static_cast<std::size_t>(call.size())) {}

Task DirectAccess::meet(Shown (*shown)(const Call& call, int rank)) {
    const MessageHead head = call_.head(exchange);
    if (commons_ != nullptr) {
        co_await await_cell(call_);
    }
    for (int rank = 0; rank < call_.size(); ++rank) {
        if (!is_read_by(call_, rank)) continue;
        const Shown one = shown(call_, rank);
        const Buffer reach = as_buffer(own_.emplace_back(call_, rank, one.in, one.out).reach());
        if (commons_ != nullptr) {
            const auto place = static_cast<std::size_t>(rank) * sizeof(Reach);
            std::memcpy(commons_->own_payload(head.number) + place, reach.data, sizeof(Reach));
            continue;
        }
        Send send(call_, rank, exchange, reach);
        co_await send;
    }
    if (commons_ != nullptr) {
        commons_->publish(head.number, head.fingerprint);
        co_await await_cells(call_);
    }
    for (int rank = 0; rank < call_.size(); ++rank) {
        Reach& reach = reaches_.emplace_back();
        if (!reads_from(call_, rank)) continue;
        if (commons_ != nullptr) {
            const auto place = static_cast<std::size_t>(call_.rank()) * sizeof(Reach);
            std::memcpy(&reach, commons_->payload(rank, head.number) + place, sizeof(Reach));
            continue;
        }
        Receive receive(call_, rank, exchange, as_buffer(reach));
        co_await receive;
    }
}

bool DirectAccess::read(int rank, std::size_t offset, const Buffer& target) {
    return call_.memory(rank)->read(reach(rank).in, offset, bytes_of(target));
}

bool DirectAccess::write(int rank, std::size_t offset, const Buffer& source) {
    return call_.memory(rank)->write(reach(rank).out, offset, bytes_of(source));
}

HeldMemory DirectAccess::hold_in(int rank, std::size_t offset, std::size_t bytes) {
    return call_.memory(rank)->hold(reach(rank).in, offset, bytes);
}

HeldMemory DirectAccess::hold_out(int rank, std::size_t offset, std::size_t bytes) {
    return call_.memory(rank)->hold(reach(rank).out, offset, bytes);
}

void DirectAccess::refuse_other_length(int rank, const Buffer& target) {
    const std::uint64_t length = reach(rank).in.length;
    if (length == target.bytes() || call_.place().phantom) return;
    const MessageHead head = call_.head(exchange);
    throw Error(head.owner->mismatch(
        call_.link(rank).peer(),
        Envelope{.key = head.key, .fingerprint = head.fingerprint, .length = length},
        target.bytes()));
}

Task DirectAccess::part() {
    if (commons_ != nullptr) {
        co_await leave_cells(call_);
        co_return;
    }
    for (int rank = 0; rank < call_.size(); ++rank) {
        if (!reads_from(call_, rank)) continue;
        Send send(call_, rank, finished, {});
        co_await send;
    }
    for (int rank = 0; rank < call_.size(); ++rank) {
        if (!is_read_by(call_, rank)) continue;
        Receive receive(call_, rank, finished, {});
        co_await receive;
    }
}

// It has failed, and what it has to say about that ends the wait.
Task DirectAccess::explain(int rank) {
    Receive reason(call_, rank, never, {});
    co_await reason;
    throw Error(ErrorCode::peer_lost, "a rank withdrew its memory while it was in use",
                {call_.link(rank).peer()});
}

}  // namespace trireme::algorithm
