#include "algorithm/cells.h"

#include <cstring>

#include "algorithm/algorithms.h"

namespace trireme::algorithm {

namespace {

// The fingerprint of no operation: of a member that has gone on without showing its call.
constexpr std::uint64_t unknown_call = ~std::uint64_t{0};

enum class Flow : std::uint8_t { among_all, from_root, to_root };

Flow flow_of(OpKind kind) noexcept {
    switch (kind) {
        case OpKind::broadcast:
        case OpKind::scatter: return Flow::from_root;
        case OpKind::gather: return Flow::to_root;
        default: return Flow::among_all;
    }
}

// What `rank` brought, from `offset` on, as a buffer like `shape`; it is only read.
Buffer brought_by(const Commons& commons, int rank, std::uint64_t number, std::size_t offset,
                  const Buffer& shape) noexcept {
    return {const_cast<std::byte*>(commons.payload(rank, number)) + offset, shape.count,
            shape.dtype, shape.device};
}

void copy_bytes(const Buffer& from, std::byte* to) noexcept {
    if (from.count != 0) std::memcpy(to, from.data, from.bytes());
}

// out = the fold, in rank order, of what lies at `offset` of all payloads.
void fold(const Call& call, const Commons& commons, std::uint64_t number, std::size_t offset,
          const Buffer& out) {
    Buffer partial = brought_by(commons, 0, number, offset, out);
    for (int rank = 1; rank < call.size(); ++rank) {
        call.reduce(partial, brought_by(commons, rank, number, offset, out), out);
        partial = out;
    }
    call.conclude(out);
}

// Throws where a member's call of an earlier operation, for which it was not needed, was another.
void refuse_strangers(const Call& call, Commons& commons, const MessageHead& head) {
    if (!commons.has_uncompared(head.number)) return;
    const auto stranger = commons.find_stranger(head.number);
    if (!stranger) return;
    MessageHead earlier = head;
    earlier.key.sequence = static_cast<std::uint32_t>(stranger->number);
    throw Error(head.owner->mismatch(
        call.link(stranger->rank).peer(),
        Envelope{.key = earlier.key, .fingerprint = stranger->fingerprint}, 0));
}

}  // namespace

void bring_to_cell(const Op& op, int own_rank, Commons& commons, std::uint64_t number) noexcept {
    if (op.kind == OpKind::barrier || (op.kind == OpKind::broadcast && own_rank != op.peer)) return;
    std::byte* next = commons.own_payload(number);
    for (const Buffer& part : op.in) {
        copy_bytes(part, next);
        next += part.bytes();
    }
}

bool needs_all_cells(const Call& call) noexcept {
    return flow_of(call.op().kind) == Flow::among_all;
}

bool reads_from(const Call& call, int rank) noexcept {
    if (rank == call.rank()) return false;
    switch (flow_of(call.op().kind)) {
        case Flow::from_root: return rank == call.peer();
        case Flow::to_root: return call.rank() == call.peer();
        default: return true;
    }
}

bool is_read_by(const Call& call, int rank) noexcept {
    if (rank == call.rank()) return false;
    switch (flow_of(call.op().kind)) {
        case Flow::from_root: return call.rank() == call.peer();
        case Flow::to_root: return rank == call.peer();
        default: return true;
    }
}

CellsTraffic cells_traffic(const Call& call) noexcept {
    switch (call.op().kind) {
        case OpKind::barrier: return {};
        case OpKind::broadcast: {
            const std::size_t bytes = call.out().bytes();
            return call.rank() == call.peer() ? CellsTraffic{bytes, 0} : CellsTraffic{0, bytes};
        }
        case OpKind::all_to_all:
        case OpKind::reduce_scatter: return {call.in_block(0).bytes(), call.in_block(0).bytes()};
        default: return {call.in().bytes(), call.in().bytes()};
    }
}

void take_from_cells(const Call& call, const Commons& commons, std::uint64_t number) {
    const auto own = static_cast<std::size_t>(call.rank());
    switch (call.op().kind) {
        case OpKind::broadcast:
            if (call.rank() != call.peer())
                copy_bytes(brought_by(commons, call.peer(), number, 0, call.out()),
                           call.out().data);
            return;
        case OpKind::all_reduce: return fold(call, commons, number, 0, call.out());
        case OpKind::reduce_scatter:
            return fold(call, commons, number, own * call.out().bytes(), call.out());
        case OpKind::all_gather:
        case OpKind::all_to_all:
            for (int rank = 0; rank < call.size(); ++rank) {
                const Buffer part = call.out_block(rank);
                const bool exchanged = call.op().kind == OpKind::all_to_all;
                const std::size_t offset = exchanged ? own * part.bytes() : 0;
                copy_bytes(brought_by(commons, rank, number, offset, part), part.data);
            }
            return;
        default: return;  // a barrier moves nothing
    }
}

Task await_cell(Call& call) {
    Commons& commons = *call.place().commons;
    const MessageHead head = call.head(0);
    Commons::Wait room(commons, head.number);
    co_await room;
    refuse_strangers(call, commons, head);
}

Task await_cells(Call& call) {
    Commons& commons = *call.place().commons;
    const MessageHead head = call.head(0);
    for (int rank = 0; rank < call.size(); ++rank) {
        if (!reads_from(call, rank)) continue;
        Commons::Wait arrival(commons, head.number, rank);
        co_await arrival;
        refuse_strangers(call, commons, head);
        const bool came = commons.has_come(rank, head.number);
        const std::uint64_t theirs = came ? commons.fingerprint(rank, head.number) : unknown_call;
        if (theirs == head.fingerprint) continue;
        const Envelope envelope{.key = head.key, .fingerprint = theirs};
        throw Error(head.owner->mismatch(call.link(rank).peer(), envelope, 0));
    }
    if (needs_all_cells(call)) commons.compared(head.number);
}

Task leave_cells(Call& call) {
    Commons& commons = *call.place().commons;
    const MessageHead head = call.head(0);
    commons.leave(head.number);
    for (int rank = 0; rank < call.size(); ++rank) {
        if (!is_read_by(call, rank)) continue;
        Commons::Wait left(commons, head.number, rank, Commons::Until::left);
        co_await left;
        refuse_strangers(call, commons, head);
    }
}

// Through memory that all ranks of the group map (see `Commons`): everyone writes what it has into
// a cell of its own, and reads all others'. One step, whatever the number of ranks, but everyone
// reads everything: for little data on one host. Reductions fold the cells in rank order, so all
// ranks compute the same bits. Nothing is written into a user's memory before all fingerprints that
// this rank needs have been compared.
Task cells(Call& call) {
    Commons& commons = *call.place().commons;
    const MessageHead head = call.head(0);
    // The short way may have brought it already.
    if (!commons.has_published(head.number)) {
        co_await await_cell(call);
        bring_to_cell(call.op(), call.rank(), commons, head.number);
        commons.publish(head.number, head.fingerprint);
        const CellsTraffic traffic = cells_traffic(call);
        for (int rank = 0; rank < call.size(); ++rank) {
            if (rank == call.rank()) continue;
            call.link(rank).traffic().count_sent(traffic.sent);
            if (reads_from(call, rank)) call.link(rank).traffic().count_received(traffic.received);
        }
    }
    co_await await_cells(call);
    take_from_cells(call, commons, head.number);
}

}  // namespace trireme::algorithm
