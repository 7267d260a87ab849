#include "algorithm/algorithms.h"
#include "algorithm/cells.h"
#include "algorithm/direct.h"

// Everyone takes what it needs straight out of the memory of those who have it.

namespace trireme::algorithm {

namespace {

// What of this rank's memory `rank` needs.
Buffer given_to(const Call& call, int rank) {
    switch (call.op().kind) {
        case OpKind::broadcast: return call.out();
        case OpKind::all_gather:
        case OpKind::gather: return call.in();
        default: return call.in_block(rank);
    }
}

// Where this rank puts what it takes from `rank`.
Buffer taken_from(const Call& call, int rank) {
    switch (call.op().kind) {
        case OpKind::broadcast:
        case OpKind::scatter: return call.out();
        default: return call.out_block(rank);
    }
}

// Whether this rank has something for itself, in another place than where it must be.
bool keeps_own(const Call& call) {
    switch (call.op().kind) {
        case OpKind::broadcast: return false;
        case OpKind::gather:
        case OpKind::scatter: return call.rank() == call.peer();
        default: return true;
    }
}

DirectAccess::Shown show_given(const Call& call, int rank) { return {given_to(call, rank)}; }

}  // namespace

// Each rank begins with the one after it, so that not all go to the same one at the same time.
Task copies_direct(Call& call) {
    DirectAccess access(call);
    co_await access.meet(show_given);
    for (int rank = 0; rank < call.size(); ++rank)
        if (reads_from(call, rank)) access.refuse_other_length(rank, taken_from(call, rank));
    if (keeps_own(call)) call.copy(given_to(call, call.rank()), taken_from(call, call.rank()));
    for (int step = 1; step < call.size(); ++step) {
        const int rank = (call.rank() + step) % call.size();
        if (is_read_by(call, rank))
            call.link(rank).traffic().count_sent(given_to(call, rank).bytes());
        if (!reads_from(call, rank)) continue;
        const Buffer target = taken_from(call, rank);
        if (target.count != 0 && !access.read(rank, 0, target)) {
            co_await access.explain(rank);
        }
        call.link(rank).traffic().count_received(target.bytes());
    }
    co_await access.part();
}

}  // namespace trireme::algorithm
