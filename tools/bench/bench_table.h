#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench_options.h"
#include "cell_result.h"

namespace trireme::bench {

/// "8 B", "64 KiB".
[[nodiscard]] std::string size_text(std::size_t bytes);

/// The table on standard output, a line for each result, as nccl-tests prints it; and, where
/// standard error is a terminal, a line there that says what is going on.
class Table {
public:
    explicit Table(const Options& options);

    /// The heading of what follows: an operation with so many ranks.
    void begin(Operation operation, int ranks);
    void print(const CellResult& result);
    /// A sentence between the lines, on standard error.
    void say(const std::string& text);
    /// What is going on; gone with the next line.
    void show(const std::string& text);

private:
    void clear();

    std::vector<std::string> peers_;
    bool on_terminal_;
    bool shows_ = false;
    std::size_t blocks_ = 0;
};

}  // namespace trireme::bench
