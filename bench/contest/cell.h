#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

#include "contest/element.h"

namespace trireme::bench {

enum class Operation : std::uint8_t {
    all_reduce,
    all_gather,
    reduce_scatter,
    broadcast,
    all_to_all,
    barrier,
    reduce,
    gather,
    scatter,
    scan,
    sendrecv_latency,
    sendrecv_bandwidth,
};

/// How an operation is measured, beside its call.
struct OperationInfo {
    std::string_view name;
    bool in_has_parts;   ///< the input has a part for each rank, and the size counts all of them
    bool out_has_parts;  ///< the same of the output
    bool reduces;
    bool is_rooted;
    bool can_be_in_place;
    bool can_be_out_of_place;
    /// Bus bandwidth over algorithm bandwidth for n ranks, as nccl-tests has it:
    /// (bus_n * n + bus_one) / n.
    int bus_n, bus_one;
};

inline constexpr std::array<OperationInfo, 12> operation_table{{
    // clang-format off
    //                      in     out    reduce root   in place  out of  bus
    {"all_reduce",          false, false, true,  false, true,     true,   2, -2},
    {"all_gather",          false, true,  false, false, true,     true,   1, -1},
    {"reduce_scatter",      true,  false, true,  false, false,    true,   1, -1},
    {"broadcast",           false, false, false, true,  true,     false,  1, 0},
    {"all_to_all",          true,  true,  false, false, false,    true,   1, -1},
    {"barrier",             false, false, false, false, true,     false,  0, 0},
    {"reduce",              false, false, true,  true,  true,     false,  1, 0},
    {"gather",              false, true,  false, true,  false,    true,   1, -1},
    {"scatter",             true,  false, false, true,  false,    true,   1, -1},
    {"scan",                false, false, true,  false, true,     true,   1, 0},
    {"sendrecv_latency",    false, false, false, false, false,    true,   1, 0},
    {"sendrecv_bandwidth",  false, false, false, false, false,    true,   1, 0},
    // clang-format on
}};

[[nodiscard]] constexpr const OperationInfo& info(Operation operation) noexcept {
    return operation_table[static_cast<std::size_t>(operation)];
}

[[nodiscard]] inline Operation operation_named(std::string_view name) {
    for (std::size_t row = 0; row < operation_table.size(); ++row)
        if (operation_table[row].name == name) return static_cast<Operation>(row);
    throw std::invalid_argument("no operation is called " + std::string(name));
}

[[nodiscard]] constexpr bool is_point_to_point(Operation operation) noexcept {
    return operation == Operation::sendrecv_latency || operation == Operation::sendrecv_bandwidth;
}

/// What is measured at a time: one operation at one size, in one form.
struct Cell {
    Operation operation = Operation::all_reduce;
    Element element = Element::float32;
    std::string reduce = "sum";
    std::size_t bytes = 0;  ///< as asked for; `part` says what becomes of it
    bool in_place = false;
    bool shared = false;  ///< buffers that the contestant allocates for itself

    /// Elements of a rank's part or, where there are no parts, of its whole buffer: one at least.
    [[nodiscard]] std::size_t part(int ranks) const noexcept {
        if (operation == Operation::barrier) return 0;
        const auto& row = info(operation);
        const std::size_t parts =
            row.in_has_parts || row.out_has_parts ? static_cast<std::size_t>(ranks) : 1;
        return std::max<std::size_t>(1, bytes / info(element).size / parts);
    }
    [[nodiscard]] std::size_t in_count(int ranks) const noexcept {
        return part(ranks) * (info(operation).in_has_parts ? static_cast<std::size_t>(ranks) : 1);
    }
    [[nodiscard]] std::size_t out_count(int ranks) const noexcept {
        return part(ranks) * (info(operation).out_has_parts ? static_cast<std::size_t>(ranks) : 1);
    }
    /// What bandwidths are reckoned from: the larger of input and output.
    [[nodiscard]] std::size_t moved_bytes(int ranks) const noexcept {
        return std::max(in_count(ranks), out_count(ranks)) * info(element).size;
    }
    /// How many messages a call of `sendrecv_bandwidth` sends: 64 as long as they make 64 MiB at
    /// most. A call of anything else is one.
    [[nodiscard]] std::size_t window() const noexcept {
        constexpr std::size_t most_bytes = std::size_t{64} << 20U;
        if (operation != Operation::sendrecv_bandwidth) return 1;
        return std::clamp<std::size_t>(most_bytes / std::max<std::size_t>(bytes, 1), 1, 64);
    }
    /// By what the time of a call is divided: a ping-pong is two messages, a window many.
    [[nodiscard]] double messages_per_call() const noexcept {
        return operation == Operation::sendrecv_latency ? 2 : static_cast<double>(window());
    }
};

/// The rank with which one exchanges messages: pairs of neighbours; itself where one is left over.
[[nodiscard]] constexpr int partner_of(int rank, int ranks) noexcept {
    const int partner = rank ^ 1;
    return partner < ranks ? partner : rank;
}

inline void to_json(nlohmann::json& json, const Cell& cell) {
    json = {{"op", info(cell.operation).name}, {"dtype", info(cell.element).name},
            {"reduce", cell.reduce},           {"bytes", cell.bytes},
            {"in_place", cell.in_place},       {"shared", cell.shared}};
}

inline void from_json(const nlohmann::json& json, Cell& cell) {
    cell.operation = operation_named(json.at("op").get<std::string>());
    cell.element = element_named(json.at("dtype").get<std::string>());
    cell.reduce = json.at("reduce");
    cell.bytes = json.at("bytes");
    cell.in_place = json.at("in_place");
    cell.shared = json.at("shared");
}

}  // namespace trireme::bench
