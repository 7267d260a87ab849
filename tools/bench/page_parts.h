// The parts of the page, each a piece of HTML. See page.h.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "limit_time.h"
#include "result_rows.h"

namespace trireme::bench {

using ResultList = std::vector<ResultRow>;

/// Rows of one operation and variant, as they came.
struct OperationRows {
    std::string op;
    std::string variant;
    ResultList rows;

    /// "all_reduce, bfloat16".
    [[nodiscard]] std::string title() const;
};

/// In the order in which operations first appear.
[[nodiscard]] std::vector<OperationRows> by_operation(const ResultList& rows);

/// How much of each goal is reached, and where it is missed most.
[[nodiscard]] std::string goals_part(const ResultList& rows);
/// The ratios to the best MPI and to Gloo by operation and size, coloured by the goals.
[[nodiscard]] std::string ratios_part(const std::vector<OperationRows>& operations);
/// What the curves' signs mean, and the curves.
[[nodiscard]] std::string curves_part(const std::vector<OperationRows>& operations,
                                      const LimitTime& limit);
/// What `trireme bench limits` measured.
[[nodiscard]] std::string limits_part(const nlohmann::json& limits);
/// Every row in figures.
[[nodiscard]] std::string figures_part(const std::vector<OperationRows>& operations);

/// "2 ranks, 16 KiB, shared buffers".
[[nodiscard]] std::string case_text(const ResultRow& row);

}  // namespace trireme::bench
