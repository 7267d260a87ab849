#include "algorithm/call.h"

#include <cstring>

namespace trireme {

Call::Call(const Op& op, int rank, std::span<Link* const> links, const MessageHead& head,
           BlockPool& blocks)
    : op_(op), rank_(rank), links_(links), head_(head), blocks_(blocks) {
    if (info(op.kind).reduces) kernel_ = find_kernel(in().dtype, op.reduce);
}

Buffer Call::block(const Buffer& whole, int rank) const noexcept {
    const std::size_t count = whole.count / static_cast<std::size_t>(size());
    return whole.slice(count * static_cast<std::size_t>(rank), count);
}

MessageHead Call::head(int step) const noexcept {
    MessageHead head = head_;
    // The user's tags are 0 and more; the steps of collectives count down from -1.
    if (!info(op_.kind).point_to_point) head.key.tag = -1 - step;
    return head;
}

void Call::copy(const Buffer& from, const Buffer& to) noexcept {
    if (from.data != to.data && from.count != 0) std::memcpy(to.data, from.data, from.bytes());
}

void Call::reduce(const Buffer& a, const Buffer& b, const Buffer& out) const noexcept {
    kernel_(a.data, b.data, out.data, out.count);
}

void Call::conclude(const Buffer& sums) const noexcept {
    if (op_.reduce == avg) divide(sums.dtype, sums.data, sums.count, links_.size());
}

}  // namespace trireme
