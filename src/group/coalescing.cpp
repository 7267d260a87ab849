#include "group/coalescing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>

#include "core/op_info.h"
#include "core/op_record.h"
#include "core/parts.h"
#include "group/group_state.h"
#include "group/take_operands.h"
#include "group/validate.h"
#include "trireme/coalesce.h"
#include "trireme/error.h"

namespace trireme {

namespace {

// The same side of many calls as one buffer: part r of all of them, then part r + 1 of all of them.
// A side that has one part is that of one rank.
class Joined {
public:
    Joined(std::vector<std::span<const Buffer>> sides, int parts)
        : sides_(std::move(sides)), parts_(parts) {
        for (int part = 0; part < parts; ++part) {
            std::size_t count = 0;
            for (const auto& side : sides_) count += part_of(side, part, parts).count;
            blocks_.push_back({nullptr, count, dtype(), Device::host});
        }
        const std::size_t width = size_of(dtype());
        memory_ = std::make_unique_for_overwrite<std::byte[]>(total_count(blocks_) * width);
        std::byte* next = memory_.get();
        for (Buffer& block : blocks_) {
            block.data = next;
            next += block.bytes();
        }
    }

    [[nodiscard]] std::span<const Buffer> buffers() const noexcept { return blocks_; }
    void fill() const {
        each([](std::byte* joined, const Buffer& part) {
            std::memcpy(joined, part.data, part.bytes());
        });
    }
    void give_back() const {
        each([](const std::byte* joined, const Buffer& part) {
            std::memcpy(part.data, joined, part.bytes());
        });
    }

private:
    [[nodiscard]] Dtype dtype() const noexcept { return sides_.front().front().dtype; }

    template <class Move>
    void each(Move move) const {
        std::byte* next = memory_.get();
        for (int rank = 0; rank < parts_; ++rank) {
            for (const auto& side : sides_) {
                const Buffer part = part_of(side, rank, parts_);
                if (part.count != 0) move(next, part);
                next += part.bytes();
            }
        }
    }

    std::vector<std::span<const Buffer>> sides_;
    int parts_;
    std::vector<Buffer> blocks_;
    std::unique_ptr<std::byte[]> memory_;
};

// The elements of a temporary.
class CopyKeeper final : public Keeper {
public:
    explicit CopyKeeper(std::size_t bytes)
        : memory(std::make_unique_for_overwrite<std::byte[]>(bytes)) {}
    std::unique_ptr<std::byte[]> memory;
};

void keep_copy(Operand& operand) {
    const std::span<Buffer> buffers =
        operand.is_list ? std::span(operand.blocks) : std::span(&operand.buffer, 1);
    std::size_t bytes = 0;
    for (const Buffer& buffer : buffers) bytes += buffer.bytes();
    auto keeper = std::make_unique<CopyKeeper>(bytes);
    std::byte* next = keeper->memory.get();
    for (Buffer& buffer : buffers) {
        if (buffer.count != 0) std::memcpy(next, buffer.data, buffer.bytes());
        buffer.data = next;
        next += buffer.bytes();
    }
    operand.keeper = std::move(keeper);
    operand.borrowed = false;
}

// Memory that a call uses.
struct Range {
    const std::byte* begin;
    const std::byte* end;
    const Op* call;
    bool written;
};

// Of the ranges so far the one that reaches furthest, and that of another call.
class Furthest {
public:
    void add(const Range& range) noexcept {
        if (first_ == nullptr || further(range, *first_)) {
            if (first_ != nullptr && first_->call != range.call) second_ = first_;
            first_ = &range;
        } else if (range.call != first_->call && (second_ == nullptr || further(range, *second_))) {
            second_ = &range;
        }
    }
    [[nodiscard]] const Range* met_by(const Range& range) const noexcept {
        const Range* other = first_ != nullptr && first_->call == range.call ? second_ : first_;
        const std::less<> before;
        return other != nullptr && before(range.begin, other->end) ? other : nullptr;
    }

private:
    static bool further(const Range& a, const Range& b) noexcept {
        return std::less<>()(b.end, a.end);
    }
    const Range* first_ = nullptr;
    const Range* second_ = nullptr;
};

}  // namespace

void Coalescing::add(const Op& op, std::optional<Operand> in, bool in_lasts,
                     std::optional<Operand> out) {
    if (op.peer == AnySource::rank)
        throw Error(ErrorCode::unsupported,
                    fmt::format("{} in coalesce: it could not tell where the message came from; "
                                "start it with recv_async",
                                OpRecord::make(op, 0).describe()));
    if (in && !in_lasts) keep_copy(*in);
    calls_.push_back({op, std::move(in), std::move(out)});
}

void Coalescing::check_alike(const GroupState& group) const {
    const Op& first = calls_.front().op;
    const auto dtype = [](const Op& op) {
        const auto& side = op.in.empty() ? op.out : op.in;
        return side.empty() ? Dtype::uint8 : side.front().dtype;
    };
    for (const Entry& call : calls_) {
        validate(call.op, group);
        if (info(first.kind).point_to_point && info(call.op.kind).point_to_point) continue;
        if (call.op.kind != first.kind || call.op.peer != first.peer ||
            (info(first.kind).reduces && call.op.reduce != first.reduce) ||
            dtype(call.op) != dtype(first))
            throw Error(
                ErrorCode::invalid_argument,
                fmt::format(
                    "coalesce on group \"{}\": {} and {} cannot become one "
                    "operation; kind, dtype, reduce op with its factor, and root must be the same",
                    group.name(), OpRecord::make(first, 0).describe(),
                    OpRecord::make(call.op, 0).describe()));
    }
}

std::uint32_t Coalescing::known_by() const noexcept {
    std::uint64_t hash = calls_.size();
    for (const Entry& call : calls_) {
        constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
        hash = (hash ^ OpRecord::make(call.op, 0).fingerprint()) * odd;
        hash ^= hash >> 32;
    }
    return static_cast<std::uint32_t>(hash) | 1U;
}

// What one call writes, no other may read or write: they run at the same time. In the order in
// which memory begins, a range meets one of another call where the furthest end so far lies beyond
// its beginning; only of the furthest two calls one can be its own.
void Coalescing::check_apart(const GroupState& group) const {
    std::vector<Range> ranges;
    for (const Entry& call : calls_) {
        const OpInfo& row = info(call.op.kind);
        const bool at_root = call.op.peer == group.rank();
        for (const Buffer& in : call.op.in)
            if ((at_root || !row.in_only_at_root) && in.count != 0)
                ranges.push_back({in.data, in.data + in.bytes(), &call.op, false});
        for (const Buffer& out : call.op.out)
            if ((at_root || !row.out_only_at_root) && out.count != 0)
                ranges.push_back({out.data, out.data + out.bytes(), &call.op, true});
    }
    std::ranges::sort(ranges, std::less<>(), &Range::begin);
    Furthest any;
    Furthest written;
    for (const Range& range : ranges) {
        const Range* met = (range.written ? any : written).met_by(range);
        if (met != nullptr)
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("coalesce on group \"{}\": {} and {} use the same memory, and "
                                    "one of them writes to it; calls that become one must be apart",
                                    group.name(), OpRecord::make(*met->call, 0).describe(),
                                    OpRecord::make(*range.call, 0).describe()));
        any.add(range);
        if (range.written) written.add(range);
    }
}

void Coalescing::run(GroupState& group, const Limits& limits) {
    if (calls_.empty()) return;
    for (Entry& call : calls_) {
        take_operands(call.op, call.in ? &*call.in : nullptr, call.out ? &*call.out : nullptr);
    }
    check_alike(group);
    check_apart(group);
    if (info(calls_.front().op.kind).point_to_point)
        run_messages(group, limits);
    else
        run_collective(group, limits);
}

// Messages stay messages, but none waits for another.
void Coalescing::run_messages(GroupState& group, const Limits& limits) {
    std::vector<Work> works;
    works.reserve(calls_.size());
    for (Entry& call : calls_)
        works.push_back(group.start(call.op, std::move(call.in), std::move(call.out), limits));
    wait_all(works);
}

void Coalescing::run_collective(GroupState& group, const Limits& limits) {
    const OpInfo& row = info(calls_.front().op.kind);
    std::vector<std::span<const Buffer>> ins;
    std::vector<std::span<const Buffer>> outs;
    for (const Entry& call : calls_) {
        if (!call.op.in.empty()) ins.push_back(call.op.in);
        if (!call.op.out.empty()) outs.push_back(call.op.out);
    }
    const bool in_parts = row.shape == Shape::scattered || row.shape == Shape::exchanged;
    const bool out_parts = row.shape == Shape::gathered || row.shape == Shape::exchanged;
    Op all = calls_.front().op;
    // Ranks whose calls are others, or in another order, must not take them for the same.
    if (calls_.size() > 1) all.joined = known_by();
    all.in_is_list = in_parts;
    all.out_is_list = out_parts;
    std::optional<Joined> in;
    std::optional<Joined> out;
    if (!ins.empty()) {
        in.emplace(std::move(ins), in_parts ? group.size() : 1);
        in->fill();
        all.in = in->buffers();
    }
    if (!outs.empty()) {
        out.emplace(std::move(outs), out_parts ? group.size() : 1);
        // What the operation does not write stays as it is.
        out->fill();
        all.out = out->buffers();
    }
    static_cast<void>(group.run(all, limits));
    if (out) out->give_back();
    for (const Entry& call : calls_)
        if (call.out) call.out->finish();
}

CoalescingScope::CoalescingScope(std::shared_ptr<GroupState> group, const Limits& limits)
    : group_(std::move(group)), limits_(limits), calls_(std::make_unique<Coalescing>()) {
    if (!group_->open_scope(*calls_))
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("coalesce on group \"{}\" inside another one of the same group",
                                group_->name()));
}

CoalescingScope::~CoalescingScope() { close(); }

void CoalescingScope::close() noexcept {
    if (std::exchange(open_, false)) group_->close_scope(*calls_);
}

void CoalescingScope::run() {
    close();
    calls_->run(*group_, limits_);
}

}  // namespace trireme
