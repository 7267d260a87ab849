#pragma once

#include <cstddef>
#include <vector>

#include "algorithm/select.h"
#include "trireme/world.h"

namespace trireme::conformance {

/// The rows of the selection table, by operation, that can run with ranks of one host; those for
/// several hosts cannot.
[[nodiscard]] inline std::vector<std::vector<const Algorithm*>> rows_by_kind(Transport transport) {
    std::vector<std::vector<const Algorithm*>> rows(op_kinds);
    for (const Algorithm& row : algorithms()) {
        const bool misses_memory = (row.traits & needs_memory) != 0 && transport == Transport::tcp;
        if ((row.traits & needs_hosts) == 0 && !misses_memory)
            rows[static_cast<std::size_t>(row.kind)].push_back(&row);
    }
    return rows;
}

/// A world takes longer to make than many cells to play, so one world forces a row of every
/// operation: the row of that index, and no operation twice. None: there are no more.
[[nodiscard]] inline std::vector<const Algorithm*> rows_of_index(Transport transport,
                                                                 std::size_t index) {
    std::vector<const Algorithm*> forced;
    for (const auto& rows : rows_by_kind(transport))
        if (index < rows.size()) forced.push_back(rows[index]);
    return forced;
}

}  // namespace trireme::conformance
