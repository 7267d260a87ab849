#include "core/op_record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "core/op_info.h"

namespace trireme {

namespace {

// A fingerprint is packed rather than hashed, so that the other side can say what it means:
// kind 5 bits, dtype 5, reduce op 5, root 17 (0: none), how the count is meant 2, count 30. A
// user's reduce op is known by its name, of which a hash is laid over the root.
constexpr std::uint64_t kind_shift = 59;
constexpr std::uint64_t dtype_shift = 54;
constexpr std::uint64_t reduce_shift = 49;
constexpr std::uint64_t root_shift = 32;
constexpr std::uint64_t mode_shift = 30;
constexpr std::uint64_t five_bits = 31;
constexpr std::uint64_t root_mask = (1U << 17) - 1;
constexpr std::uint64_t count_mask = (1U << 30) - 1;

static_assert(op_kinds <= five_bits && dtype_count <= five_bits && reduce_op_kinds <= five_bits);

enum Mode : std::uint8_t {
    plain,   // the count itself
    folded,  // a count that needs more bits
    listed,  // a hash of all parts' counts, or of the calls that were joined
    free_,   // none: each message's length is compared
};

// Spreads what differs in few bits over all of them (the finaliser of splitmix64).
constexpr std::uint64_t mix(std::uint64_t x) noexcept {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
    x = (x ^ x >> 27) * 0x94d049bb133111ebU;
    return x ^ x >> 31;
}

std::string describe_call(OpKind kind, Dtype dtype, std::string_view count, std::string_view reduce,
                          int root) {
    const OpInfo& row = info(kind);
    std::string text;
    if (row.shape != Shape::none) text = fmt::format("{}[{}]", name(dtype), count);
    if (row.reduces) text += fmt::format(" {}", reduce);
    if (row.has_root) text += fmt::format(" root {}", root);
    return text;
}

bool differ(std::span<const Buffer> parts) noexcept {
    return std::ranges::any_of(
        parts, [&](const Buffer& part) { return part.count != parts.front().count; });
}

std::uint64_t count_field(const OpRecord& record) noexcept {
    if (record.joined != 0)
        return std::uint64_t{listed} << mode_shift | (record.joined & count_mask);
    const Counts counts = info(record.kind).counts;
    if (counts == Counts::pairwise || (counts == Counts::equal_or_pairwise && record.uneven))
        return std::uint64_t{free_} << mode_shift;
    if (record.uneven) return std::uint64_t{listed} << mode_shift | (record.parts & count_mask);
    if (record.count <= count_mask) return record.count;
    return std::uint64_t{folded} << mode_shift | (mix(record.count) & count_mask);
}

std::string_view base_name(std::string_view path) noexcept {
    return path.substr(path.find_last_of('/') + 1);
}

}  // namespace

OpRecord OpRecord::make(const Op& op, std::uint64_t sequence) noexcept {
    const OpInfo& row = info(op.kind);
    const Shape shape = row.shape;
    const bool count_out = shape == Shape::scattered || shape == Shape::out_only || op.in.empty();
    const auto& buffers = count_out ? op.out : op.in;
    OpRecord record{.kind = op.kind,
                    .reduce = op.reduce.kind(),
                    .peer = op.peer,
                    .tag = op.tag,
                    .joined = op.joined,
                    .sequence = sequence,
                    .file = op.site.file_name(),
                    .line = op.site.line()};
    if (!buffers.empty()) {
        record.dtype = buffers.front().dtype;
        for (const Buffer& part : buffers) record.count += part.count;
    }
    if (row.counts == Counts::listed) {
        const auto& parts = shape == Shape::gathered ? op.out : op.in;
        record.uneven = differ(parts);
        std::uint64_t hash = parts.size();
        if (record.uneven)
            for (const Buffer& part : parts) hash = mix(hash ^ part.count);
        record.parts = static_cast<std::uint32_t>(hash);
    } else if (row.counts == Counts::equal_or_pairwise) {
        record.uneven = op.in.size() > 1 || op.out.size() > 1;
    }
    if (const UserReduce* user = op.reduce.user()) {
        user->name().copy(record.user.data(), record.user.size() - 1);
        std::uint64_t hash = user->commutes() ? 0 : 1;
        for (const char letter : user->name())
            hash = mix(hash ^ static_cast<unsigned char>(letter));
        record.user_key = static_cast<std::uint32_t>(hash);
    }
    return record;
}

std::string OpRecord::site() const { return fmt::format("{}:{}", base_name(file), line); }

std::string OpRecord::describe() const {
    std::string text{info(kind).name};
    if (sequence != 0) text += fmt::format(" #{}", sequence);
    const bool own = reduce == ReduceOp::Kind::user;
    const std::string call =
        describe_call(kind, dtype, fmt::format("{}{}", count, uneven ? " of uneven parts" : ""),
                      own ? std::string_view(user.data()) : name(reduce), peer);
    if (!call.empty()) text += " " + call;
    if (peer == AnySource::rank)
        text += " from any rank";
    else if (info(kind).point_to_point)
        text += fmt::format(" {} rank {}", kind == OpKind::send ? "to" : "from", peer);
    if (tag != 0) text += fmt::format(" tag {}", tag);
    if (joined != 0) text += " of coalesced calls";
    return text + fmt::format(" ({})", site());
}

std::uint64_t OpRecord::fingerprint() const noexcept {
    const OpInfo& row = info(kind);
    // The two sides of a message look the same.
    const OpKind shown = kind == OpKind::recv ? OpKind::send : kind;
    std::uint64_t root = row.has_root ? static_cast<std::uint64_t>(peer + 1) : 0;
    if (row.reduces) root ^= user_key;
    return static_cast<std::uint64_t>(shown) << kind_shift |
           static_cast<std::uint64_t>(dtype) << dtype_shift |
           (row.reduces ? static_cast<std::uint64_t>(reduce) + 1 : 0) << reduce_shift |
           (root & root_mask) << root_shift | count_field(*this);
}

std::string describe_difference(std::uint64_t one, std::uint64_t other) {
    if (one >> kind_shift != other >> kind_shift) return {};
    const auto differ = [&](std::uint64_t shift, std::uint64_t mask) {
        return ((one >> shift ^ other >> shift) & mask) != 0;
    };
    const auto reduce = one >> reduce_shift & five_bits;
    const bool by_user = reduce == static_cast<std::uint64_t>(ReduceOp::Kind::user) + 1;
    std::vector<std::string_view> fields;
    if (differ(dtype_shift, five_bits)) fields.emplace_back("the dtype");
    if (differ(reduce_shift, five_bits))
        fields.emplace_back("the reduce op");
    else if (differ(root_shift, root_mask))
        fields.emplace_back(by_user ? "the root or the user's op: its name, or whether it commutes"
                                    : "the root");
    const auto is_plain = [](std::uint64_t of) {
        const auto mode = of >> mode_shift & 3;
        return mode == plain || mode == folded;
    };
    if (differ(0, (1ULL << (mode_shift + 2)) - 1))
        fields.emplace_back(is_plain(one) && is_plain(other)
                                ? "the count"
                                : "the counts of their parts or coalesced calls");
    return fmt::format("{}", fmt::join(fields, " and "));
}

std::string describe_fingerprint(std::uint64_t fingerprint) {
    const auto kind = fingerprint >> kind_shift;
    const auto dtype = fingerprint >> dtype_shift & five_bits;
    const auto reduce = fingerprint >> reduce_shift & five_bits;
    const auto root = fingerprint >> root_shift & root_mask;
    const auto mode = fingerprint >> mode_shift & 3;
    if (kind >= op_kinds || dtype >= dtype_count || reduce > reduce_op_kinds)
        return "an unknown operation";
    const OpInfo& row = op_table[kind];
    const auto reduce_kind = static_cast<ReduceOp::Kind>(reduce == 0 ? 0 : reduce - 1);
    std::string count = fmt::to_string(fingerprint & count_mask);
    if (mode == folded) count = "2^30 or more";
    if (mode == listed) count = row.counts == Counts::equal ? "coalesced calls" : "uneven parts";
    if (mode == free_) count = "...";
    std::string text{row.name};
    // A user's op hides the root.
    const std::string call =
        describe_call(row.kind, static_cast<Dtype>(dtype), count,
                      reduce_kind == ReduceOp::Kind::user ? "by a user's op" : name(reduce_kind),
                      static_cast<int>(root) - 1);
    return call.empty() ? text : text + " " + call;
}

}  // namespace trireme
