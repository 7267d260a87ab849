#include "group/validate.h"

#include <fmt/format.h>

#include <functional>

#include "core/op_info.h"
#include "core/op_record.h"
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
    [[nodiscard]] const Buffer& in() const noexcept { return op_.in.front(); }
    [[nodiscard]] const Buffer& out() const noexcept { return op_.out.front(); }

    void peer() const {
        if (!row_.has_root && !row_.point_to_point) return;
        if (op_.peer < 0 || op_.peer >= group_.size())
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
    }

    void present(bool wanted, std::size_t given, const char* which) const {
        if (wanted && given != 1)
            refuse(fmt::format("it takes one {} buffer, but {} are given", which, given));
    }

    void buffers() const {
        present(uses_in(), op_.in.size(), "input");
        present(uses_out(), op_.out.size(), "output");
        if (uses_in()) buffer(in(), "input");
        if (uses_out()) buffer(out(), "output");
        if (uses_in() && uses_out() && in().dtype != out().dtype)
            refuse(fmt::format("the input is {}, the output {}; both must have the same dtype",
                               name(in().dtype), name(out().dtype)));
    }

    void counts() const {
        if (!uses_in() || !uses_out()) return;
        const auto n = static_cast<std::size_t>(group_.size());
        const std::size_t reads = in().count;
        const std::size_t writes = out().count;
        switch (row_.shape) {
            case Shape::same:
                if (reads != writes)
                    refuse(
                        fmt::format("the input has {} elements, the output {}; they must be "
                                    "equal",
                                    reads, writes));
                break;
            case Shape::gathered:
                if (writes != n * reads)
                    refuse(
                        fmt::format("the input has {} elements, so the output must have {} x {} "
                                    "= {}, but has {}",
                                    reads, n, reads, n * reads, writes));
                break;
            case Shape::scattered:
                if (reads != n * writes)
                    refuse(
                        fmt::format("the output has {} elements, so the input must have {} x {} "
                                    "= {}, but has {}",
                                    writes, n, writes, n * writes, reads));
                break;
            case Shape::exchanged:
                if (reads != writes || reads % n != 0)
                    refuse(
                        fmt::format("the input has {} elements, the output {}; both must be the "
                                    "same multiple of {}",
                                    reads, writes, n));
                break;
            case Shape::none:
            case Shape::in_only:
            case Shape::out_only: break;
        }
    }

    void reduction() const {
        if (!row_.reduces || find_kernel(in().dtype, op_.reduce) != nullptr) return;
        if (op_.reduce == avg && in().dtype != Dtype::float16 && in().dtype != Dtype::bfloat16)
            refuse(fmt::format("avg is not defined for {}; use sum and divide", name(in().dtype)));
        refuse(fmt::format("{} of {} is not supported; convert to float32 first", name(op_.reduce),
                           name(in().dtype)),
               ErrorCode::unsupported);
    }

    // Input and output must be apart, or lie as the operation allows: the same memory, or this
    // rank's own slice of the longer one.
    void overlap() const {
        if (!uses_in() || !uses_out()) return;
        const std::less<> before;
        const Buffer& a = in();
        const Buffer& b = out();
        if (a.count == 0 || b.count == 0 || !before(a.data, b.data + b.bytes()) ||
            !before(b.data, a.data + a.bytes()))
            return;
        const auto own = static_cast<std::size_t>(group_.rank());
        const bool allowed =
            (row_.shape == Shape::same && a.data == b.data) ||
            (row_.shape == Shape::gathered && a.data == b.data + own * a.bytes()) ||
            (row_.shape == Shape::scattered && b.data == a.data + own * b.bytes()) ||
            (row_.shape == Shape::exchanged && group_.size() == 1 && a.data == b.data);
        if (!allowed)
            refuse(
                "input and output overlap; they must be apart, or be the same memory or this "
                "rank's own slice where the operation works in place");
    }

    const Op& op_;
    const OpInfo& row_;
    const GroupState& group_;
};

}  // namespace

void validate(const Op& op, const GroupState& group) { Check(op, group).all(); }

}  // namespace trireme
