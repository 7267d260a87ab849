#include "core/op_record.h"

#include <fmt/format.h>

#include <string_view>

#include "core/op_info.h"

namespace trireme {

namespace {

// A fingerprint is packed rather than hashed, so that the other side can say what it means:
// kind 5 bits, dtype 5, reduce op 5, root 17 (0: none), count 32. Counts that need more than 31
// bits are folded, with the top bit set.
constexpr std::uint64_t kind_shift = 59;
constexpr std::uint64_t dtype_shift = 54;
constexpr std::uint64_t reduce_shift = 49;
constexpr std::uint64_t root_shift = 32;
constexpr std::uint64_t five_bits = 31;
constexpr std::uint64_t root_mask = (1U << 17) - 1;
constexpr std::uint64_t folded = 1U << 31;

std::string describe_call(OpKind kind, Dtype dtype, std::string_view count, ReduceOp reduce,
                          int root) {
    const OpInfo& row = info(kind);
    std::string text;
    if (row.shape != Shape::none) text = fmt::format("{}[{}]", name(dtype), count);
    if (row.reduces) text += fmt::format(" {}", name(reduce));
    if (row.has_root) text += fmt::format(" root {}", root);
    return text;
}

std::string_view base_name(std::string_view path) noexcept {
    return path.substr(path.find_last_of('/') + 1);
}

}  // namespace

OpRecord OpRecord::make(const Op& op, std::uint64_t sequence) noexcept {
    const Shape shape = info(op.kind).shape;
    const bool count_out = shape == Shape::scattered || shape == Shape::out_only || op.in.empty();
    const auto& buffers = count_out ? op.out : op.in;
    OpRecord record{.kind = op.kind,
                    .reduce = op.reduce,
                    .peer = op.peer,
                    .tag = op.tag,
                    .sequence = sequence,
                    .file = op.site.file_name(),
                    .line = op.site.line()};
    if (!buffers.empty()) {
        record.dtype = buffers.front().dtype;
        record.count = buffers.front().count;
    }
    return record;
}

std::string OpRecord::site() const { return fmt::format("{}:{}", base_name(file), line); }

std::string OpRecord::describe() const {
    std::string text{info(kind).name};
    if (sequence != 0) text += fmt::format(" #{}", sequence);
    const std::string call = describe_call(kind, dtype, fmt::to_string(count), reduce, peer);
    if (!call.empty()) text += " " + call;
    if (info(kind).point_to_point)
        text += fmt::format(" {} rank {}", kind == OpKind::send ? "to" : "from", peer);
    if (tag != 0) text += fmt::format(" tag {}", tag);
    return text + fmt::format(" ({})", site());
}

std::uint64_t OpRecord::fingerprint() const noexcept {
    const OpInfo& row = info(kind);
    // The two sides of a message look the same.
    const OpKind shown = kind == OpKind::recv ? OpKind::send : kind;
    const std::uint64_t short_count =
        count < folded ? count : ((count ^ count >> 31 ^ count >> 62) | folded) & 0xffffffffU;
    return static_cast<std::uint64_t>(shown) << kind_shift |
           static_cast<std::uint64_t>(dtype) << dtype_shift |
           (row.reduces ? static_cast<std::uint64_t>(reduce.kind()) + 1 : 0) << reduce_shift |
           (row.has_root ? static_cast<std::uint64_t>(peer + 1) & root_mask : 0) << root_shift |
           short_count;
}

std::string describe_fingerprint(std::uint64_t fingerprint) {
    const auto kind = fingerprint >> kind_shift;
    const auto dtype = fingerprint >> dtype_shift & five_bits;
    const auto reduce = fingerprint >> reduce_shift & five_bits;
    const auto root = fingerprint >> root_shift & root_mask;
    const auto count = fingerprint & 0xffffffffU;
    if (kind >= op_kinds || size_of(static_cast<Dtype>(dtype)) == 0 ||
        reduce > static_cast<std::uint64_t>(ReduceOp::Kind::avg) + 1)
        return "an unknown operation";
    const OpInfo& row = op_table[kind];
    std::string text{row.name};
    const std::string call =
        describe_call(row.kind, static_cast<Dtype>(dtype),
                      (count & folded) != 0 ? "2^31 or more" : fmt::to_string(count),
                      ReduceOp(static_cast<ReduceOp::Kind>(reduce == 0 ? 0 : reduce - 1)),
                      static_cast<int>(root) - 1);
    return call.empty() ? text : text + " " + call;
}

}  // namespace trireme
