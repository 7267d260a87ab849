#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "contest/cell.h"

namespace trireme::bench {

/// A command line that cannot be obeyed; exit code 2.
class UsageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

struct Options {
    std::vector<Operation> operations;
    std::vector<int> ranks{2};
    std::vector<std::size_t> sizes;
    Element element = Element::float32;
    std::string reduce = "sum";
    int iterations = 0;  ///< 0: as many as fit into a turn
    int warmup = -1;     ///< -1: a few
    int turns = 3;
    double turn_seconds = 0.1;
    double cell_seconds = 30;  ///< after which a contestant is taken for hung
    double minutes = 0;        ///< 0: no limit
    bool check = true;
    bool in_place = false;  ///< neither or both: see `forms_of`
    bool out_of_place = false;
    bool user_buffers = true;
    bool shared_buffers = false;
    std::vector<std::string> peers;
    int hosts = 1;
    std::string json;
    std::string html;
    bool limits = false;  ///< measured too, for the report
};

/// Throws `UsageError`; nothing where help was asked for, and printed.
[[nodiscard]] std::optional<Options> parse_options(int argc, char** argv);

/// In which forms an operation is measured, true for in place: those asked for that it has, else
/// the one in which it is mostly used.
[[nodiscard]] std::vector<bool> forms_of(Operation operation, const Options& options);

}  // namespace trireme::bench
