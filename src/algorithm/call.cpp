#include "algorithm/call.h"

#include <algorithm>
#include <cstring>

namespace trireme {

namespace {

void combine_nothing(const std::byte*, const std::byte*, std::byte*, std::size_t) {}

Combine combine_for(const Op& op, bool phantom) {
    if (!info(op.kind).reduces) return {};
    // A user's function is called even so: that of a simulation counts what it would have done.
    if (phantom && op.reduce.user() == nullptr) return {.kernel = combine_nothing};
    return Combine::of((op.in.empty() ? op.out : op.in).front().dtype, op.reduce);
}

}  // namespace

Call::Call(const Op& op, const Place& place, const MessageHead& head)
    : op_(&op),
      place_(&place),
      rank_(place.rank),
      size_(place.size),
      head_(head),
      combine_(combine_for(op, place.phantom)) {}

Call::Call(Call& whole, const Op& op, std::span<const int> ranks, int number)
    : op_(&op),
      place_(whole.place_),
      rank_(whole.rank_),
      size_(whole.size_),
      members_(ranks.empty() ? whole.members_ : ranks),
      head_(whole.head_),
      first_step_(whole.first_step_ + number * steps_per_part),
      combine_(combine_for(op, whole.place_->phantom)) {
    if (ranks.empty()) return;
    rank_ = static_cast<int>(std::ranges::find(ranks, whole.rank_) - ranks.begin());
    size_ = static_cast<int>(ranks.size());
}

MessageHead Call::head(int step) const noexcept {
    MessageHead head = head_;
    // The user's tags are 0 and more; the steps of collectives count down from -1.
    if (!info(op_->kind).point_to_point) head.key.tag = -1 - first_step_ - step;
    return head;
}

void Call::copy(const Buffer& from, const Buffer& to) const noexcept {
    if (from.data != to.data && from.count != 0 && !place_->phantom)
        std::memcpy(to.data, from.data, from.bytes());
}

void Call::reduce(const Buffer& a, const Buffer& b, const Buffer& out) const {
    combine_(a.data, b.data, out.data, out.count);
}

void Call::conclude(const Buffer& sums, int ranks) const noexcept {
    if (op_->reduce == avg && !place_->phantom)
        divide(sums.dtype, sums.data, sums.count, static_cast<std::size_t>(ranks));
}

}  // namespace trireme
