#include "group/shadow.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>

namespace trireme {

namespace {

std::span<std::byte> memory_of(const Buffer& buffer) { return {buffer.data, buffer.bytes()}; }

std::vector<std::byte> copy_of(const Buffer& buffer) {
    const auto memory = memory_of(buffer);
    return {memory.begin(), memory.end()};
}

bool overlap(const Buffer& a, const Buffer& b) {
    const std::less<> before;
    return a.count != 0 && b.count != 0 && before(a.data, b.data + b.bytes()) &&
           before(b.data, a.data + a.bytes());
}

bool contains(const Buffer& outer, const Buffer& inner) {
    const std::less_equal<> up_to;
    return up_to(outer.data, inner.data) &&
           up_to(inner.data + inner.bytes(), outer.data + outer.bytes());
}

// "element 3 of 100"; empty where both are the same.
std::string first_difference(const Buffer& user, const std::vector<std::byte>& expected) {
    const auto memory = memory_of(user);
    const auto [at, other] = std::ranges::mismatch(memory, expected);
    if (at == memory.end()) return {};
    return fmt::format("element {} of {}",
                       static_cast<std::size_t>(at - memory.begin()) / size_of(user.dtype),
                       user.count);
}

}  // namespace

Shadow::Shadow(Op& op) {
    for (const Buffer& user : op.out) outputs_.push_back({user, copy_of(user), {}});
    for (const Buffer& user : op.in) {
        if (!overlaps_outputs(user) || piece_with(user) != nullptr) continue;
        outputs_.clear();
        return;
    }

    for (Piece& piece : outputs_) {
        Buffer copy = piece.user;
        copy.data = piece.copy.data();
        out_.push_back(copy);
        const bool read = std::ranges::any_of(
            op.in, [&](const Buffer& input) { return overlap(piece.user, input); });
        if (!read && piece.user.count != 0) std::memset(piece.user.data, 0xff, piece.user.bytes());
        piece.before = copy_of(piece.user);
    }
    for (const Buffer& user : op.in) {
        Buffer copy = user;
        if (Piece* piece = piece_with(user)) {
            copy.data = piece->copy.data() + (user.data - piece->user.data);
        } else {
            inputs_.push_back({user, copy_of(user), {}});
            copy.data = inputs_.back().copy.data();
        }
        in_.push_back(copy);
    }
    op.in = in_;
    op.out = out_;
}

Shadow::Piece* Shadow::piece_with(const Buffer& buffer) {
    const auto piece = std::ranges::find_if(
        outputs_, [&](const Piece& one) { return contains(one.user, buffer); });
    return piece != outputs_.end() ? &*piece : nullptr;
}

bool Shadow::overlaps_outputs(const Buffer& buffer) const {
    return std::ranges::any_of(outputs_,
                               [&](const Piece& one) { return overlap(one.user, buffer); });
}

std::string Shadow::finish() {
    std::string touched;
    for (const Piece& piece : inputs_)
        if (const auto at = first_difference(piece.user, piece.copy);
            !at.empty() && touched.empty())
            touched = "its input, " + at;
    for (const Piece& piece : outputs_) {
        if (const auto at = first_difference(piece.user, piece.before);
            !at.empty() && touched.empty())
            touched = "its output, " + at;
        std::ranges::copy(piece.copy, piece.user.data);
    }
    return touched;
}

}  // namespace trireme
