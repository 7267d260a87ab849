#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "trireme/op.h"

namespace trireme {

/// How the element counts of an operation's two buffers belong together, n being the group's size.
enum class Shape : std::uint8_t {
    none,       ///< no data
    in_only,    ///< reads `in`
    out_only,   ///< writes `out`
    same,       ///< out = in
    gathered,   ///< out = n * in
    scattered,  ///< in = n * out
    exchanged,  ///< out = in, both a multiple of n
};

/// Which ranks must agree on an operation's element count.
enum class Counts : std::uint8_t {
    equal,     ///< all of them
    listed,    ///< all, on the list of all parts' counts, if these differ
    pairwise,  ///< the two sides of each message
    /// All where the parts are equal, else the two sides of each message.
    equal_or_pairwise,
};

/// One row per kind of operation; feeds validation, fingerprints, error texts and the benchmark.
struct OpInfo {
    OpKind kind;
    std::string_view name;
    Shape shape;
    Counts counts;
    bool has_root;         ///< `Op::peer` is a root
    bool in_only_at_root;  ///< scatter: the others' `in` is not looked at
    bool out_only_at_root;
    bool reduces;
    bool point_to_point;  ///< `Op::peer` is the other side
    /// Bus bandwidth over algorithm bandwidth for n ranks: (numerator_n * n + numerator) / n, as
    /// nccl-tests defines it, so that figures of different operations can be compared.
    int bus_numerator_n;
    int bus_numerator;

    [[nodiscard]] constexpr double bus_factor(int n) const noexcept {
        return static_cast<double>(bus_numerator_n * n + bus_numerator) / n;
    }
};

inline constexpr std::array<OpInfo, op_kinds> op_table{{
    // clang-format off
    //                                          shape             counts                    root   in@r   out@r  reduce p2p    bus
    {OpKind::broadcast, "broadcast",            Shape::same,      Counts::equal,             true,  false, false, false, false, 1, 0},
    {OpKind::all_reduce, "all_reduce",          Shape::same,      Counts::equal,             false, false, false, true,  false, 2, -2},
    {OpKind::reduce, "reduce",                  Shape::same,      Counts::equal,             true,  false, false, true,  false, 1, 0},
    {OpKind::all_gather, "all_gather",          Shape::gathered,  Counts::listed,            false, false, false, false, false, 1, -1},
    {OpKind::gather, "gather",                  Shape::gathered,  Counts::pairwise,          true,  false, true,  false, false, 1, -1},
    {OpKind::scatter, "scatter",                Shape::scattered, Counts::pairwise,          true,  true,  false, false, false, 1, -1},
    {OpKind::reduce_scatter, "reduce_scatter",  Shape::scattered, Counts::listed,            false, false, false, true,  false, 1, -1},
    {OpKind::all_to_all, "all_to_all",          Shape::exchanged, Counts::equal_or_pairwise, false, false, false, false, false, 1, -1},
    {OpKind::barrier, "barrier",                Shape::none,      Counts::equal,             false, false, false, false, false, 0, 0},
    {OpKind::scan, "scan",                      Shape::same,      Counts::equal,             false, false, false, true,  false, 1, 0},
    {OpKind::exclusive_scan, "exclusive_scan",  Shape::same,      Counts::equal,             false, false, false, true,  false, 1, 0},
    {OpKind::send, "send",                      Shape::in_only,   Counts::equal,             false, false, false, false, true,  1, 0},
    {OpKind::recv, "recv",                      Shape::out_only,  Counts::equal,             false, false, false, false, true,  1, 0},
    {OpKind::monitored_barrier, "monitored_barrier", Shape::none, Counts::equal,             false, false, false, false, false, 0, 0},
    // clang-format on
}};

[[nodiscard]] constexpr const OpInfo& info(OpKind kind) noexcept {
    return op_table[static_cast<std::size_t>(kind)];
}

}  // namespace trireme
