#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "conformance/execute.h"
#include "support/ranks.h"

namespace trireme::conformance {

/// One step of a program that all ranks of a world follow in the same order, each doing its part.
struct Step {
    enum class What : std::uint8_t {
        cell,     ///< an operation of a group, blocking or prepared: its members meet here
        launch,   ///< one that is started here, and waited for later
        message,  ///< from one rank to another, in order under one tag, received later
        collect,  ///< all others send to one, which receives from whoever comes
        settle,   ///< all that was started must end
    };
    What what = What::settle;
    std::size_t group = 0;
    Cell cell{};
    std::vector<Round> rounds{};
    int from = 0;
    int to = 0;
    std::size_t number = 0;
};

/// The steps, made one by one by the rank that comes first.
class Program {
public:
    static constexpr int ranks = 8;
    using MakeCell = std::function<Cell(std::mt19937_64&, int)>;

    Program(std::uint64_t seed, std::chrono::steady_clock::time_point end, MakeCell make_cell)
        : random_(seed), end_(end), make_cell_(std::move(make_cell)) {
        const auto add = [&](auto member) {
            std::vector<int> list;
            for (int rank = 0; rank < ranks; ++rank)
                if (member(rank)) list.push_back(rank);
            if (!list.empty()) groups_.push_back(list);
        };
        add([](int) { return true; });
        for (int i = 0; i < ranks / 2; ++i) add([&](int rank) { return rank / 2 == i; });
        for (int i = 0; i < 2; ++i) {
            add([&](int rank) { return rank / 4 == i; });
            add([&](int rank) { return rank % 2 == i; });
        }
        for (int i = 0; i < 3; ++i) {
            const std::uint64_t members = random_();
            add([&](int rank) { return (members >> rank & 1) != 0; });
            // Ranks in a group need not be in the order of the world.
            if (i == 0) std::ranges::reverse(groups_.back());
        }
    }

    [[nodiscard]] const std::vector<std::vector<int>>& groups() const { return groups_; }

    /// Null at the end. Steps are kept until all ranks have had them.
    [[nodiscard]] std::shared_ptr<const Step> step(std::size_t number) {
        const std::lock_guard lock(mutex_);
        auto [place, is_new] = steps_.try_emplace(number);
        if (is_new && number < most_steps && std::chrono::steady_clock::now() < end_ &&
            !testing::Test::HasFailure())
            place->second.first = std::make_shared<const Step>(make(number));
        const std::shared_ptr<const Step> step = place->second.first;
        if (++place->second.second == ranks) steps_.erase(place);
        return step;
    }

private:
    static constexpr std::size_t most_steps = 2000;

    [[nodiscard]] Step make(std::size_t number) {
        Step step;
        step.number = number;
        const std::uint64_t choice = random_() % 100;
        using What = Step::What;
        step.what = choice < 35   ? What::cell
                    : choice < 65 ? What::launch
                    : choice < 85 ? What::message
                    : choice < 95 ? What::collect
                                  : What::settle;
        step.from = static_cast<int>(random_() % ranks);
        step.to = static_cast<int>(random_() % ranks);
        step.group = random_() % groups_.size();
        const int members = static_cast<int>(groups_[step.group].size());
        step.cell = make_cell_(random_, members);
        if (step.what == What::message || step.what == What::collect) {
            step.cell.kind = OpKind::broadcast;  // all that is needed of it: contents
            step.cell = sensible(step.cell, ranks);
        }
        if (step.what == What::launch) step.cell.mode = Mode::started;
        if (step.what == What::cell && step.cell.mode == Mode::started)
            step.cell.mode = Mode::blocking;
        // One under way at a time per step: the program has others.
        const int rounds = step.what == What::cell ? step.cell.rounds() : 1;
        const bool messages = step.what == What::message || step.what == What::collect;
        for (int i = 0; i < rounds; ++i)
            step.rounds.push_back(make_round(step.cell, messages ? ranks : members, random_()));
        return step;
    }

    std::mt19937_64 random_;
    std::chrono::steady_clock::time_point end_;
    MakeCell make_cell_;
    std::vector<std::vector<int>> groups_;
    std::mutex mutex_;
    std::map<std::size_t, std::pair<std::shared_ptr<const Step>, int>> steps_;
};

/// One rank's part of a program.
class Player {
public:
    Player(World& world, const Program& program) : world_(world.group()), rank_(world.rank()) {
        for (const std::vector<int>& members : program.groups())
            groups_.push_back(world.group(members));
    }

    void play(const std::shared_ptr<const Step>& step) {
        switch (step->what) {
            case Step::What::cell: return meet(*step);
            case Step::What::launch: return launch(step);
            case Step::What::message: return message(step);
            case Step::What::collect: return collect(*step);
            case Step::What::settle: return settle(0);
        }
    }

    /// Waits until no more than `left` of what was started is under way.
    void settle(std::size_t left) {
        while (pending_.size() > left) {
            // Not the oldest first, and not the newest.
            const auto chosen =
                pending_.begin() + static_cast<std::ptrdiff_t>(pending_.size() * 2 / 3);
            for (Work& work : chosen->works) work.wait();
            if (chosen->caller) check(*chosen->step, chosen->caller->mistake());
            if (chosen->expected) check(*chosen->step, chosen->target, *chosen->expected);
            pending_.erase(chosen);
        }
    }

private:
    struct Pending {
        std::shared_ptr<const Step> step;
        std::unique_ptr<Caller> caller{};
        Bytes target{};
        std::optional<Bytes> expected{};
        std::vector<Work> works{};  // last: it ends before the memory goes
    };

    void check(const Step& step, const std::string& mistake) const {
        if (!mistake.empty())
            ADD_FAILURE() << "step " << step.number << ", group " << step.group << ", "
                          << describe(step.cell, groups_[step.group].size()) << ", rank " << rank_
                          << ": " << mistake;
    }
    void check(const Step& step, const Bytes& got, const Bytes& wanted) const {
        check(step, got == wanted ? "" : "a message has other contents");
    }

    static Argument argument(const Cell& cell, Bytes& bytes) {
        return {cell.dtype, Parts::whole, {bytes.data()}, {bytes.size() / size_of(cell.dtype)}};
    }

    void meet(const Step& step) {
        const Group& group = groups_[step.group];
        if (group.is_member()) check(step, run_cell(group, step.cell, step.rounds));
    }

    void launch(const std::shared_ptr<const Step>& step) {
        const Group& group = groups_[step->group];
        if (!group.is_member()) return;
        Pending pending{step, std::make_unique<Caller>(group, step->cell)};
        pending.caller->fill(step->rounds.front());
        pending.caller->start(pending.works);
        keep(std::move(pending));
    }

    // The receiver starts it too: who sends may wait for it.
    void message(const std::shared_ptr<const Step>& step) {
        const Bytes& contents = step->rounds.front().in[static_cast<std::size_t>(step->from)];
        const Tag tag(static_cast<int>(step->number % 3));
        // To itself it works as well, both sides being started.
        if (rank_ == step->to) {
            Pending pending{step, nullptr, Bytes(contents.size(), std::byte{0x5A}), contents};
            pending.works.push_back(
                world_.recv_async(argument(step->cell, pending.target), Peer(step->from), tag));
            keep(std::move(pending));
        }
        if (rank_ == step->from) {
            Pending pending{step, nullptr, contents};
            pending.works.push_back(
                world_.send_async(argument(step->cell, pending.target), Peer(step->to), tag));
            keep(std::move(pending));
        }
    }

    void collect(const Step& step) {
        const Tag tag(static_cast<int>(1000 + step.number));
        Bytes own = step.rounds.front().in[static_cast<std::size_t>(rank_)];
        if (rank_ != step.to) return world_.send(argument(step.cell, own), Peer(step.to), tag);
        std::vector<bool> came(static_cast<std::size_t>(world_.size()));
        for (int i = 1; i < world_.size(); ++i) {
            Bytes target(own.size());
            Argument in = argument(step.cell, target);
            int source = -1;
            if (i % 2 == 0) {
                source = world_.recv(in, any_source, tag);
            } else {
                Work work = world_.recv_async(in, any_source, tag);
                work.wait();
                source = work.source();
            }
            const auto index = static_cast<std::size_t>(source);
            if (source < 0 || source == rank_ || came[index])
                return check(step, "a message from " + std::to_string(source));
            came[index] = true;
            check(step, target, step.rounds.front().in[index]);
        }
    }

    void keep(Pending pending) {
        pending_.push_back(std::move(pending));
        settle(most_pending);
    }

    static constexpr std::size_t most_pending = 12;

    Group world_;
    int rank_;
    std::vector<Group> groups_;
    std::vector<Pending> pending_;
};

/// Plays a program until its steps or the time are over; returns the steps.
inline std::size_t run_program(Transport transport, std::uint64_t seed,
                               std::chrono::steady_clock::time_point end,
                               Program::MakeCell make_cell) {
    Program program(seed, end, std::move(make_cell));
    std::size_t steps = 0;
    run_ranks(
        Program::ranks,
        [&](World& world) {
            Player player(world, program);
            std::size_t number = 0;
            while (const auto step = program.step(number)) {
                ++number;
                player.play(step);
            }
            player.settle(0);
            world.group().barrier();
            if (world.rank() == 0) steps = number;
        },
        test_options(transport));
    return steps;
}

}  // namespace trireme::conformance
