// A backend of one's own, in place of Trireme's links: here the ranks are threads of one process
// and meet in a table.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "support/expect_error.h"
#include "support/ranks.h"

namespace trireme {
namespace {

using namespace std::chrono_literals;

/// What the ranks have put down, by the number of the operation.
struct Table {
    std::mutex mutex;
    std::map<int, std::vector<std::vector<float>>> put;
};

/// Sums float32, and nothing else.
class TableBackend final : public Backend {
public:
    TableBackend(std::shared_ptr<Table> table, const BackendContext& context)
        : table_(std::move(table)), ranks_(context.world_ranks.size()) {
        context.store->set("made/" + std::to_string(context.rank), context.group);
    }

    bool can(const Op& op) const override {
        return op.kind == OpKind::all_reduce && op.in.front().dtype == Dtype::float32 &&
               op.reduce == sum;
    }
    void submit(const Op& op, Done done) override {
        const Buffer& in = op.in.front();
        std::vector<float> values(in.count);
        std::memcpy(values.data(), in.data, in.bytes());
        const std::lock_guard lock(table_->mutex);
        table_->put[++number_].push_back(std::move(values));
        waiting_.emplace(number_, std::pair(&op, std::move(done)));
    }
    bool poll() override {
        if (waiting_.empty()) return false;
        const auto first = waiting_.begin();
        std::vector<std::vector<float>> all;
        {
            const std::lock_guard lock(table_->mutex);
            if (table_->put[first->first].size() < ranks_) return false;
            all = table_->put[first->first];
        }
        const auto [op, done] = std::move(first->second);
        waiting_.erase(first);
        std::vector<float> result(op->out.front().count);
        for (const auto& one : all)
            for (std::size_t i = 0; i < result.size(); ++i) result[i] += one[i];
        std::memcpy(op->out.front().data, result.data(), op->out.front().bytes());
        done(nullptr);
        return true;
    }
    void abort(const std::string& /*reason*/) noexcept override { waiting_.clear(); }

private:
    std::shared_ptr<Table> table_;
    std::size_t ranks_;
    int number_ = 0;
    std::map<int, std::pair<const Op*, Done>> waiting_;
};

WorldOptions with_table() {
    WorldOptions options = test_options();
    options.backends["table"] = [table = std::make_shared<Table>()](const BackendContext& context) {
        return std::make_unique<TableBackend>(table, context);
    };
    return options;
}

GroupOptions on_table() {
    GroupOptions options("on the table");
    options.backend = "table";
    return options;
}

TEST(Backends, RunOperationsOfTheirGroups) {
    run_ranks(
        3,
        [](World& world) {
            const Group group = world.group({0, 1, 2}, on_table());
            std::vector<float> x(5, static_cast<float>(world.rank() + 1));
            group.all_reduce(x);
            EXPECT_EQ(x, std::vector<float>(5, 6));
            Work first = group.all_reduce_async(x);
            EXPECT_EQ(first.algorithm(), "backend");
            first.wait();
            Prepared again = group.prepare_all_reduce(x);
            for (int i = 0; i < 3; ++i) {
                again.start();
                again.wait();
            }
            EXPECT_EQ(x, std::vector<float>(5, 6 * 81));
            // The world's own group has Trireme's links.
            int y = 1;
            world.group().all_reduce(y);
            EXPECT_EQ(y, 3);
        },
        with_table());
}

TEST(Backends, RefuseWhatTheyCannotDo) {
    run_ranks(
        2,
        [](World& world) {
            const Group group = world.group({0, 1}, on_table());
            std::vector<int> x(5);
            std::vector<float> y(5);
            test::expect_error(ErrorCode::unsupported, {"int32[5]", "its backend cannot"},
                               [&] { group.all_reduce(x); });
            test::expect_error(ErrorCode::unsupported, {"broadcast"},
                               [&] { group.broadcast(y, Root{0}); });
            GroupOptions unknown;
            unknown.backend = "nccl";
            test::expect_invalid([&] { static_cast<void>(world.group({0, 1}, unknown)); },
                                 {"no backend \"nccl\"", "[table]"});
        },
        with_table());
}

TEST(Backends, AreAbortedAtTheDeadline) {
    run_ranks(
        2,
        [](World& world) {
            const Group group = world.group({0, 1}, on_table());
            std::vector<float> x(5);
            if (world.rank() == 0) {
                test::expect_error(ErrorCode::timeout, {"on the table"},
                                   [&] { group.with(100ms).all_reduce(x); });
                test::expect_error(ErrorCode::timeout, {"has failed"},
                                   [&] { group.all_reduce(x); });
            }
            world.group().barrier();
        },
        with_table());
}

}  // namespace
}  // namespace trireme
