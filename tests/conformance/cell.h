#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "conformance/reference.h"
#include "core/op_info.h"

namespace trireme::conformance {

enum class Mode : std::uint8_t { blocking, started, prepared };

/// How the parts of a longer side are given.
enum class Parts : std::uint8_t { whole, split, list };

/// One thing to try: an operation, on what, and in which form. A send stands for a ring: every rank
/// sends to the rank `root` places on and receives from the one as many places back.
struct Cell {
    OpKind kind = OpKind::barrier;
    Dtype dtype = Dtype::float32;
    Reduction reduction{};
    Mode mode = Mode::blocking;
    Parts parts = Parts::whole;
    bool uneven = false;  ///< parts of different lengths, some empty; not of `Parts::whole`
    bool in_place = false;
    int root = 0;
    std::size_t count = 0;  ///< of a part, where there are parts
    std::uint64_t seed = 0;
    Flavour flavour = Flavour::any;

    [[nodiscard]] bool reduces() const { return info(kind).reduces; }
    /// A prepared operation runs three times on the same buffers, a started one together with
    /// another like it.
    [[nodiscard]] int rounds() const {
        return mode == Mode::prepared ? 3 : mode == Mode::started ? 2 : 1;
    }
};

[[nodiscard]] inline std::string describe(const Cell& cell, int ranks) {
    constexpr const char* modes[] = {"blocking", "started", "prepared"};
    constexpr const char* parts[] = {"whole", "split", "list"};
    testing::Message text;
    text << info(cell.kind).name << " of " << cell.count << " " << name(cell.dtype);
    if (cell.reduces()) text << " " << name(cell.reduction);
    text << ", root " << cell.root << ", " << modes[static_cast<int>(cell.mode)] << ", "
         << parts[static_cast<int>(cell.parts)] << (cell.uneven ? " uneven" : "")
         << (cell.in_place ? " in place" : "") << ", on " << ranks << " ranks, seed " << cell.seed;
    return text.GetString();
}

/// Which forms an operation has.
[[nodiscard]] inline bool has_parts(OpKind kind) {
    const Shape shape = info(kind).shape;
    return shape == Shape::gathered || shape == Shape::scattered || shape == Shape::exchanged;
}
[[nodiscard]] inline bool always_in_place(OpKind kind) {
    return kind == OpKind::broadcast || kind == OpKind::reduce;
}
[[nodiscard]] inline bool can_be_in_place(OpKind kind) {
    const Shape shape = info(kind).shape;
    return shape == Shape::same || shape == Shape::gathered || shape == Shape::scattered;
}

/// Whether a cell can be of this kind: a receive belongs to its send, and a monitored barrier is a
/// barrier that only blocks.
[[nodiscard]] inline bool has_cells(OpKind kind) {
    return kind != OpKind::recv && kind != OpKind::monitored_barrier;
}
[[nodiscard]] inline std::vector<OpKind> all_kinds() {
    std::vector<OpKind> kinds;
    for (const OpInfo& row : op_table)
        if (has_cells(row.kind)) kinds.push_back(row.kind);
    return kinds;
}

/// Makes a cell one that can be: no parts where there are none, and so on.
[[nodiscard]] inline Cell sensible(Cell cell, int ranks) {
    cell.root %= ranks;
    if (!has_parts(cell.kind)) cell.parts = Parts::whole;
    if (cell.parts == Parts::whole) cell.uneven = false;
    if (always_in_place(cell.kind)) cell.in_place = true;
    if (!can_be_in_place(cell.kind)) cell.in_place = false;
    if (!cell.reduces()) cell.reduction = {};
    if (!is_for(cell.dtype, cell.reduction.own)) cell.reduction.own = Own::last;
    if (!cell.reduces())
        cell.flavour = Flavour::any;
    else if (cell.flavour == Flavour::any)
        cell.flavour = flavour_of(cell.dtype, cell.reduction);
    return cell;
}

/// The elements that go from one rank to another in an exchange; with `from` 0, the part of a rank.
/// No rank's parts are all of one length where they are uneven, for all ranks must agree on that.
[[nodiscard]] inline std::size_t part_length(const Cell& cell, int from, int to) {
    if (!cell.uneven) return cell.count;
    const auto step = static_cast<std::size_t>(from + 2 * to) + cell.seed % 3;
    return step % 3 * ((cell.count + 1) / 2);
}

/// The lengths of the parts of a rank's input and output; one where there are no parts.
struct Lengths {
    std::vector<std::size_t> in;
    std::vector<std::size_t> out;
};

[[nodiscard]] inline Lengths lengths_of(const Cell& cell, int rank, int ranks) {
    Lengths lengths;
    const auto all = [&](auto length) {
        std::vector<std::size_t> list;
        for (int other = 0; other < ranks; ++other) list.push_back(length(other));
        return list;
    };
    const auto parts = [&] { return all([&](int other) { return part_length(cell, 0, other); }); };
    const std::vector<std::size_t> own{part_length(cell, 0, rank)};
    switch (info(cell.kind).shape) {
        case Shape::gathered: return {own, parts()};
        case Shape::scattered: return {parts(), own};
        case Shape::exchanged:
            return {all([&](int other) { return part_length(cell, rank, other); }),
                    all([&](int other) { return part_length(cell, other, rank); })};
        case Shape::none: return {{0}, {0}};
        default: return {own, own};
    }
}

/// One run of a cell: what each rank gives, and what it must get; nothing where its output stays as
/// it is.
struct Round {
    std::vector<Bytes> in;
    std::vector<std::optional<Bytes>> out;
};

namespace detail {

[[nodiscard]] inline std::size_t sum_of(const std::vector<std::size_t>& list, int first) {
    std::size_t sum = 0;
    for (int i = 0; i < first; ++i) sum += list[static_cast<std::size_t>(i)];
    return sum;
}

[[nodiscard]] inline Bytes part(const Bytes& bytes, const std::vector<std::size_t>& lengths,
                                int index, std::size_t width) {
    const std::size_t offset = sum_of(lengths, index) * width;
    const std::size_t size = lengths[static_cast<std::size_t>(index)] * width;
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(offset);
    return {begin, begin + static_cast<std::ptrdiff_t>(size)};
}

[[nodiscard]] inline Bytes expected(const Cell& cell, const std::vector<Bytes>& in,
                                    const Bytes& reduced, int rank) {
    const int ranks = static_cast<int>(in.size());
    const std::size_t width = size_of(cell.dtype);
    Bytes result;
    const auto append = [&](const Bytes& more) {
        result.insert(result.end(), more.begin(), more.end());
    };
    const auto from = [&](int other) -> const Bytes& {
        return in[static_cast<std::size_t>(other)];
    };
    switch (cell.kind) {
        case OpKind::broadcast: return from(cell.root);
        case OpKind::all_gather:
        case OpKind::gather:
            for (const Bytes& bytes : in) append(bytes);
            return result;
        case OpKind::scatter:
            return part(from(cell.root), lengths_of(cell, cell.root, ranks).in, rank, width);
        case OpKind::reduce_scatter:
            return part(reduced, lengths_of(cell, rank, ranks).in, rank, width);
        case OpKind::all_to_all:
            for (int other = 0; other < ranks; ++other)
                append(part(from(other), lengths_of(cell, other, ranks).in, rank, width));
            return result;
        case OpKind::scan: return fold(cell.dtype, cell.reduction, in, rank + 1);
        case OpKind::exclusive_scan: return fold(cell.dtype, cell.reduction, in, rank);
        case OpKind::send: return from((rank + ranks - cell.root) % ranks);
        default: return reduced;
    }
}

}  // namespace detail

[[nodiscard]] inline Round make_round(const Cell& cell, int ranks, std::uint64_t seed) {
    Round round;
    for (int rank = 0; rank < ranks; ++rank) {
        const Lengths lengths = lengths_of(cell, rank, ranks);
        const std::size_t count = detail::sum_of(lengths.in, static_cast<int>(lengths.in.size()));
        round.in.push_back(make_values(cell.dtype, cell.flavour, count, seed, rank));
    }
    Bytes reduced;
    if (cell.kind == OpKind::all_reduce || cell.kind == OpKind::reduce ||
        cell.kind == OpKind::reduce_scatter)
        reduced = fold(cell.dtype, cell.reduction, round.in, ranks);
    for (int rank = 0; rank < ranks; ++rank) {
        const bool untouched = (info(cell.kind).out_only_at_root && rank != cell.root) ||
                               (cell.kind == OpKind::reduce && rank != cell.root) ||
                               (cell.kind == OpKind::exclusive_scan && rank == 0);
        round.out.emplace_back();
        if (!untouched) round.out.back() = detail::expected(cell, round.in, reduced, rank);
    }
    return round;
}

}  // namespace trireme::conformance
