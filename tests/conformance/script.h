#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "algorithm/select.h"
#include "conformance/execute.h"
#include "support/ranks.h"

namespace trireme::conformance {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

/// So many ranks the suites go up to: at -O0 under a sanitizer the larger ones alone take minutes,
/// and 5 is no power of two either.
inline constexpr int most_ranks = sanitized ? 4 : 9;

/// A cell, and what goes in and comes out of it.
struct Scene {
    Cell cell;
    std::vector<Round> rounds;
};

/// The cells that the ranks of a world play one after the other. Each is made once, by the rank
/// that comes first, for making it costs more than running it.
class Script {
public:
    using Next = std::function<std::optional<Cell>(std::size_t)>;

    Script(int ranks, Next next) : ranks_(ranks), next_(std::move(next)) {}

    /// The scene of this number; null at the end, which all ranks meet at the same number.
    [[nodiscard]] std::shared_ptr<const Scene> scene(std::size_t number) {
        const std::lock_guard lock(mutex_);
        auto [place, is_new] = scenes_.try_emplace(number);
        if (is_new) {
            const std::optional<Cell> cell = failures_ < 5 ? next_(number) : std::nullopt;
            if (cell) place->second.scene = make(sensible(*cell, ranks_));
        }
        const std::shared_ptr<const Scene> scene = place->second.scene;
        if (++place->second.taken == ranks_) scenes_.erase(place);
        return scene;
    }
    void count_failure() { ++failures_; }

private:
    struct Entry {
        std::shared_ptr<const Scene> scene;
        int taken = 0;
    };

    [[nodiscard]] std::shared_ptr<const Scene> make(const Cell& cell) const {
        Scene scene{cell, {}};
        // A pair without a meaning is refused, whatever its contents.
        const bool refused = cell.reduces() && !has_meaning(cell.dtype, cell.reduction);
        for (int i = 0; i < cell.rounds(); ++i)
            scene.rounds.push_back(make_round(refused ? Cell{} : cell, ranks_,
                                              scramble(cell.seed, static_cast<std::uint64_t>(i))));
        return std::make_shared<const Scene>(std::move(scene));
    }

    int ranks_;
    Next next_;
    std::mutex mutex_;
    std::map<std::size_t, Entry> scenes_;
    std::atomic<int> failures_{0};
};

/// A kind of world.
struct Stage {
    int ranks = 1;
    Transport transport = Transport::shm;
    std::vector<const Algorithm*> forced{};  ///< one row of the table per operation, at most
    bool reproducible = false;

    [[nodiscard]] WorldOptions options() const {
        WorldOptions options = test_options(transport);
        options.reproducible = reproducible;
        for (const Algorithm* row : forced) {
            options.algorithm += options.algorithm.empty() ? "" : ",";
            options.algorithm += std::string(info(row->kind).name) + ":" + std::string(row->name);
        }
        return options;
    }
    [[nodiscard]] std::string describe() const {
        return std::string(transport == Transport::tcp ? "tcp" : "shm") +
               (reproducible ? ", reproducible" : "");
    }
    /// As above, with the row that a cell is to be run by.
    [[nodiscard]] std::string describe(const Cell& cell) const {
        const Algorithm* row = row_for(cell);
        return describe() + (row == nullptr ? "" : ", by " + std::string(row->name));
    }

    /// Whether it is little enough for cells: 32 KiB of each rank, half of that where halves are
    /// reduced, and 128 KiB of all together.
    [[nodiscard]] bool fits_cells(const Cell& cell) const {
        const auto n = static_cast<std::size_t>(ranks);
        const bool parted = cell.kind == OpKind::all_to_all || cell.kind == OpKind::reduce_scatter;
        const std::size_t brought = cell.count * size_of(cell.dtype) * (parted ? n : 1);
        const bool is_half = cell.dtype == Dtype::float16 || cell.dtype == Dtype::bfloat16;
        return brought <= (cell.reduces() && is_half ? 16U : 32U) * 1024 &&
               brought * n <= 128 * 1024;
    }

    /// The row that must run a cell; null where the table decides.
    [[nodiscard]] const Algorithm* row_for(const Cell& cell) const {
        const auto row = std::ranges::find(forced, cell.kind, &Algorithm::kind);
        if (row == forced.end()) return nullptr;
        const auto traits = (*row)->traits;
        // Of an exchange no rank can tell whether the others' parts are equal: a list never counts
        // as such.
        const bool is_list = cell.kind == OpKind::all_to_all && cell.parts != Parts::whole;
        const bool uneven = (is_list || (cell.uneven && cell.count > 0)) && ranks > 1;
        const bool suits = ranks >= (*row)->least_ranks && ranks <= (*row)->most_ranks &&
                           !(uneven && (traits & needs_even) != 0) && (traits & needs_hosts) == 0 &&
                           ((traits & needs_commons) == 0 || fits_cells(cell));
        return suits ? *row : nullptr;
    }
    /// How a cell must be refused, on every rank; nothing where it must not.
    [[nodiscard]] std::optional<ErrorCode> refusal(const Cell& cell) const {
        if (cell.reduces() && !has_meaning(cell.dtype, cell.reduction))
            return ErrorCode::invalid_argument;
        const Algorithm* row = row_for(cell);
        if (row == nullptr || ranks == 1) return std::nullopt;
        const bool in_order = cell.reduces() && (reproducible || !cell.reduction.commutes());
        if (((row->traits & needs_memory) != 0 && transport == Transport::tcp) ||
            (in_order && (row->traits & rank_order) == 0))
            return ErrorCode::unsupported;
        return std::nullopt;
    }
};

/// Of a suite over numbers of ranks and transports.
using StageParameters = std::tuple<int, Transport>;
[[nodiscard]] inline std::string stage_name(const testing::TestParamInfo<StageParameters>& tested) {
    const auto [ranks, transport] = tested.param;
    return (transport == Transport::tcp ? "tcp" : "shm") + std::to_string(ranks);
}

/// Runs one cell on a rank of a stage; returns what went wrong.
[[nodiscard]] inline std::string play(const Stage& stage, const Group& group, const Scene& scene) {
    const auto refusal = stage.refusal(scene.cell);
    const Algorithm* row = stage.row_for(scene.cell);
    if (!refusal)
        return run_cell(group, scene.cell, scene.rounds,
                        row == nullptr ? std::string_view{} : row->name);
    try {
        // Nothing is filled in: nothing may be looked at.
        Caller caller(group, scene.cell);
        std::vector<Work> works;
        std::vector<Prepared> steps;
        if (scene.cell.mode == Mode::blocking) caller.run();
        if (scene.cell.mode == Mode::started) caller.start(works);
        if (scene.cell.mode == Mode::prepared) caller.prepare(steps);
        for (Prepared& step : steps) step.start();
        for (Prepared& step : steps) step.wait();
        for (Work& work : works) work.wait();
    } catch (const Error& error) {
        return error.code() == *refusal ? "" : std::string("refused by ") + error.what();
    }
    return std::string("was not refused as ") + name(*refusal);
}

/// Makes a world and lets all its ranks run the cells that `next` gives; it is asked for each
/// number once, on any thread. Returns how many there were.
inline std::size_t run_script(const Stage& stage, Script::Next next) {
    Script script(stage.ranks, std::move(next));
    std::atomic<std::size_t> played{0};
    run_ranks(
        stage.ranks,
        [&](World& world) {
            const Group group = world.group();
            for (std::size_t number = 0;; ++number) {
                const auto scene = script.scene(number);
                if (scene == nullptr) break;
                const auto where = [&] {
                    return describe(scene->cell, stage.ranks) + ", rank " +
                           std::to_string(world.rank()) + ", " + stage.describe(scene->cell);
                };
                try {
                    const std::string wrong = play(stage, group, *scene);
                    if (!wrong.empty()) {
                        script.count_failure();
                        ADD_FAILURE() << where() << ": " << wrong;
                    }
                } catch (const std::exception& error) {
                    throw std::runtime_error(where() + ": " + error.what());
                }
                if (world.rank() == 0) ++played;
            }
            group.barrier();
        },
        stage.options());
    return played;
}

/// As above, of a list of cells.
inline void run_cells(const Stage& stage, const std::vector<Cell>& cells) {
    run_script(stage, [&](std::size_t number) {
        return number < cells.size() ? std::optional(cells[number]) : std::nullopt;
    });
}

}  // namespace trireme::conformance
