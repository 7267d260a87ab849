#include "group/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "core/op_info.h"
#include "core/op_record.h"
#include "core/parts.h"
#include "group/group_state.h"
#include "reduce/kernel.h"
#include "trireme/error.h"

namespace trireme {

namespace {

class Check {
public:
    Check(const Op& op, const GroupState& group) : op_(op), row_(info(op.kind)), group_(group) {}

    void all() const {
        peer();
        buffers();
        counts();
        reduction();
        overlap();
    }

private:
    [[noreturn]] void refuse(const std::string& why,
                             ErrorCode code = ErrorCode::invalid_argument) const {
        throw Error(code, fmt::format("{} on group \"{}\" of {} ranks: {}",
                                      OpRecord::make(op_, 0).describe(), group_.name(),
                                      group_.size(), why));
    }

    [[nodiscard]] bool at_root() const noexcept { return op_.peer == group_.rank(); }
    [[nodiscard]] bool uses_in() const noexcept {
        return row_.shape != Shape::none && row_.shape != Shape::out_only &&
               (!row_.in_only_at_root || at_root());
    }
    [[nodiscard]] bool uses_out() const noexcept {
        return row_.shape != Shape::none && row_.shape != Shape::in_only &&
               (!row_.out_only_at_root || at_root());
    }
    [[nodiscard]] std::size_t ranks() const noexcept {
        return static_cast<std::size_t>(group_.size());
    }
    [[nodiscard]] Dtype dtype() const noexcept {
        return (uses_in() ? op_.in : op_.out).front().dtype;
    }

    void peer() const {
        if (!row_.has_root && !row_.point_to_point) return;
        const bool any = op_.kind == OpKind::recv && op_.peer == AnySource::rank;
        if (!any && (op_.peer < 0 || op_.peer >= group_.size()))
            refuse(fmt::format("{} {} is not a rank of the group; ranks are 0 to {}",
                               row_.has_root ? "root" : "peer", op_.peer, group_.size() - 1));
        if (op_.tag < 0) refuse(fmt::format("tag {} is negative; tags are 0 or more", op_.tag));
    }

    void buffer(const Buffer& buffer, const char* which) const {
        if (buffer.data == nullptr && buffer.count != 0)
            refuse(fmt::format("the {} buffer is null but has {} elements", which, buffer.count));
        if (buffer.device != Device::host)
            refuse(fmt::format("the {} buffer is not in host memory; this build moves host memory "
                               "only",
                               which),
                   ErrorCode::unsupported);
        if (buffer.dtype != dtype())
            refuse(fmt::format("it mixes {} and {}; all buffers must have the same dtype",
                               name(dtype()), name(buffer.dtype)));
    }

    void present(bool wanted, bool in_parts, std::span<const Buffer> given, bool is_list,
                 const char* which) const {
        if (!wanted) return;
        if (given.size() != 1 && !in_parts)
            refuse(fmt::format("it takes one {} buffer, but {} are given", which, given.size()));
        if ((given.size() != 1 || (is_list && in_parts)) && given.size() != ranks())
            refuse(
                fmt::format("it takes one {} buffer, or a list of {}, one per rank, but {} are "
                            "given",
                            which, ranks(), given.size()));
    }

    void buffers() const {
        const Shape shape = row_.shape;
        present(uses_in(), shape == Shape::scattered || shape == Shape::exchanged, op_.in,
                op_.in_is_list, "input");
        present(uses_out(), shape == Shape::gathered || shape == Shape::exchanged, op_.out,
                op_.out_is_list, "output");
        if (uses_in())
            for (const Buffer& one : op_.in) buffer(one, "input");
        if (uses_out())
            for (const Buffer& one : op_.out) buffer(one, "output");
    }

    // What lies in equal parts in one buffer.
    void divides(std::span<const Buffer> buffers, const char* which) const {
        if (buffers.size() == 1 && buffers.front().count % ranks() != 0)
            refuse(
                fmt::format("the {} has {} elements, which do not divide among {} ranks; give "
                            "`split(x, counts)` or a list of parts",
                            which, buffers.front().count, ranks()));
    }

    [[nodiscard]] std::size_t own_part(std::span<const Buffer> buffers) const noexcept {
        return part_of(buffers, group_.rank(), group_.size()).count;
    }

    void counts() const {
        if (!uses_in() || !uses_out()) return;
        const std::size_t reads = total_count(op_.in);
        const std::size_t writes = total_count(op_.out);
        switch (row_.shape) {
            case Shape::same:
                if (reads != writes)
                    refuse(
                        fmt::format("the input has {} elements, the output {}; they must be "
                                    "equal",
                                    reads, writes));
                break;
            case Shape::gathered: parts_fit(op_.out, "output", reads, "input"); break;
            case Shape::scattered: parts_fit(op_.in, "input", writes, "output"); break;
            case Shape::exchanged:
                divides(op_.in, "input");
                divides(op_.out, "output");
                if (op_.in.size() == 1 && op_.out.size() == 1 && reads != writes)
                    refuse(
                        fmt::format("the input has {} elements, the output {}; they must be equal, "
                                    "or give `split(x, counts)`",
                                    reads, writes));
                if (own_part(op_.in) != own_part(op_.out))
                    refuse(
                        fmt::format("this rank sends itself {} elements but expects {} from itself",
                                    own_part(op_.in), own_part(op_.out)));
                break;
            case Shape::none:
            case Shape::in_only:
            case Shape::out_only: break;
        }
    }

    // Of a gathered or scattered operation: the parts against this rank's own one.
    void parts_fit(std::span<const Buffer> parts, const char* long_side, std::size_t own,
                   const char* short_side) const {
        if (parts.size() == 1 && parts.front().count != ranks() * own)
            refuse(fmt::format(
                "the {} has {} elements, so the {} must have {} x {} = {}, but has "
                "{}; for uneven parts give `split(x, counts)`",
                short_side, own, long_side, own, ranks(), own * ranks(), parts.front().count));
        if (own_part(parts) != own)
            refuse(fmt::format("the {} has {} elements, but this rank's part of the {} has {}",
                               short_side, own, long_side, own_part(parts)));
    }

    void reduction() const {
        if (!row_.reduces || reducible(dtype(), op_.reduce.kind())) return;
        if (op_.reduce == avg && class_of(dtype()) == DtypeClass::integer)
            refuse(fmt::format("avg is not defined for {}; use sum and divide", name(dtype())));
        refuse(fmt::format("{} has no meaning for {}: see docs/operations.md", name(op_.reduce),
                           name(dtype())));
    }

    // Input and output must be apart, or lie as the operation allows: the same memory, or this
    // rank's own part of the longer side. The parts of an output must be apart from one another.
    void overlap() const {
        if (!uses_out()) return;
        if (op_.out.size() > 1) outputs_apart();
        if (!uses_in()) return;
        for (const Buffer& in : op_.in)
            for (const Buffer& out : op_.out)
                if (overlaps(in, out) && !may_overlap(in, out))
                    refuse(
                        "input and output overlap; they must be apart, or be the same memory or "
                        "this rank's own part where the operation works in place");
    }

    void outputs_apart() const {
        std::vector<Buffer> sorted(op_.out.begin(), op_.out.end());
        std::erase_if(sorted, [](const Buffer& one) { return one.count == 0; });
        std::ranges::sort(sorted, std::less<>(), &Buffer::data);
        for (std::size_t i = 1; i < sorted.size(); ++i)
            if (overlaps(sorted[i - 1], sorted[i]))
                refuse("two parts of the output share memory; each needs its own");
    }

    static bool overlaps(const Buffer& a, const Buffer& b) noexcept {
        const std::less<> before;
        return a.count != 0 && b.count != 0 && before(a.data, b.data + b.bytes()) &&
               before(b.data, a.data + a.bytes());
    }

    [[nodiscard]] bool may_overlap(const Buffer& in, const Buffer& out) const noexcept {
        const auto is_own_part = [&](const Buffer& part, std::span<const Buffer> of) {
            return part.data == part_of(of, group_.rank(), group_.size()).data;
        };
        switch (row_.shape) {
            case Shape::same: return in.data == out.data;
            case Shape::gathered: return is_own_part(in, op_.out);
            case Shape::scattered:
                return is_own_part(out, op_.in) && (op_.in.size() == 1 || in.data == out.data);
            case Shape::exchanged: return group_.size() == 1 && in.data == out.data;
            default: return false;
        }
    }

    const Op& op_;
    const OpInfo& row_;
    const GroupState& group_;
};

}  // namespace

void validate(const Op& op, const GroupState& group) { Check(op, group).all(); }

}  // namespace trireme
