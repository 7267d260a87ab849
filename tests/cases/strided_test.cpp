// Tensors that are not contiguous, as input and as output of everything that moves data: the same
// results as contiguous ones give, and nothing else written.

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <string>
#include <vector>

#include "tensors.h"

namespace trireme {
namespace {

constexpr Layout targets[] = {Layout::contiguous, Layout::column, Layout::transposed,
                              Layout::channels_last, Layout::window};
constexpr Layout sources[] = {Layout::contiguous,    Layout::column, Layout::transposed,
                              Layout::channels_last, Layout::window, Layout::expanded};

/// Every operation, with inputs of one layout and outputs of another.
class Cells {
public:
    Cells(const Group& group, Layout in, Layout out, bool started)
        : group_(group),
          ranks_(group.size()),
          rank_(group.rank()),
          in_(in),
          out_(out),
          started_(started),
          trace_(__FILE__, __LINE__,
                 std::string(name(in)) + " to " + name(out) + (started ? ", started" : "")) {}

    void all() const {
        broadcast_and_reduce();
        all_reduce();
        scans();
        gathers();
        scatters();
        exchanges();
        messages();
    }

private:
    [[nodiscard]] Sizes part() const { return {2, 3, 2, 2}; }
    [[nodiscard]] Sizes whole() const { return {2L * ranks_, 3, 2, 2}; }

    [[nodiscard]] Placed source(int rank, const Sizes& sizes) const {
        return counted(in_, 1000.0 * rank, sizes);
    }
    /// What `source` gives on `rank`, contiguous.
    [[nodiscard]] at::Tensor values(int rank, const Sizes& sizes) const {
        return source(rank, sizes).view.contiguous();
    }
    [[nodiscard]] at::Tensor sum_of(int first, int last, const Sizes& sizes) const {
        at::Tensor sum = at::zeros(sizes);
        for (int rank = first; rank < last; ++rank) sum += values(rank, sizes);
        return sum;
    }
    [[nodiscard]] at::Tensor all_of(const Sizes& sizes) const {
        Tensors all;
        for (int rank = 0; rank < ranks_; ++rank) all.push_back(values(rank, sizes));
        return at::cat(all);
    }
    /// Part `index` of what `rank` has.
    [[nodiscard]] at::Tensor part_of(int rank, int index) const {
        return values(rank, whole()).chunk(ranks_)[static_cast<std::size_t>(index)];
    }

    void expect(const Placed& actual, const at::Tensor& expected) const {
        EXPECT_TENSOR(actual.view, expected);
        EXPECT_TRUE(actual.gaps_untouched());
    }
    void expect_untouched(const Placed& source, int rank, const Sizes& sizes) const {
        expect(source, values(rank, sizes));
    }

    void broadcast_and_reduce() const {
        // Both update in place: `out_` is read here too.
        const Placed data = counted(out_, 1000.0 * rank_, part());
        if (started_)
            group_.broadcast_async(data.view, Root{1}).wait();
        else
            group_.broadcast(data.view, Root{1});
        expect(data, count_from(1000, part()));

        data.view.add_(rank_);
        if (started_)
            group_.reduce_async(data.view, Root{0}).wait();
        else
            group_.reduce(data.view, Root{0});
        const at::Tensor one = count_from(1000, part());
        const int extra = ranks_ * (ranks_ - 1) / 2;
        expect(data, rank_ == 0 ? one * ranks_ + extra : one + rank_);
    }

    void all_reduce() const {
        const Placed in = source(rank_, part());
        const Placed out = place(out_, part());
        const Placed data = counted(out_, 1000.0 * rank_, part());
        if (started_) {
            group_.all_reduce_async(in.view, out.view).wait();
            group_.all_reduce_async(data.view).wait();
        } else {
            group_.all_reduce(in.view, out.view);
            group_.all_reduce(data.view);
        }
        expect(out, sum_of(0, ranks_, part()));
        expect_untouched(in, rank_, part());
        expect(data, count_from(0, part()) * ranks_ + 500.0 * ranks_ * (ranks_ - 1));
    }

    void scans() const {
        const Placed in = source(rank_, part());
        const Placed out = place(out_, part());
        group_.scan(in.view, out.view);
        expect(out, sum_of(0, rank_ + 1, part()));

        const Placed before = place(out_, part());
        group_.exclusive_scan(in.view, before.view);
        if (rank_ > 0) expect(before, sum_of(0, rank_, part()));
        EXPECT_TRUE(before.gaps_untouched());

        const Placed data = place(out_, part());
        data.view.copy_(in.view);
        if (started_)
            group_.scan_async(data.view).wait();
        else
            group_.scan(data.view);
        expect(data, sum_of(0, rank_ + 1, part()));
        data.view.copy_(in.view);
        if (started_)
            group_.exclusive_scan_async(data.view).wait();
        else
            group_.exclusive_scan(data.view);
        expect(data, rank_ > 0 ? sum_of(0, rank_, part()) : values(0, part()));
        expect_untouched(in, rank_, part());
    }

    void gathers() const {
        const Placed in = source(rank_, part());
        const Placed all = place(out_, whole());
        const Placed at_root = place(out_, whole());
        std::vector<Placed> apart;
        std::vector<Placed> apart_at_root;
        for (int rank = 0; rank < ranks_; ++rank) {
            apart.push_back(place(out_, part()));
            apart_at_root.push_back(place(out_, part()));
        }
        Tensors list = views(apart);
        Tensors root_list = views(apart_at_root);
        if (started_) {
            group_.all_gather_async(in.view, all.view).wait();
            group_.gather_async(in.view, at_root.view, Root{1}).wait();
            group_.all_gather_async(in.view, list).wait();
            group_.gather_async(in.view, root_list, Root{1}).wait();
        } else {
            group_.all_gather(in.view, all.view);
            group_.gather(in.view, at_root.view, Root{1});
            group_.all_gather(in.view, list);
            group_.gather(in.view, root_list, Root{1});
        }
        expect(all, all_of(part()));
        expect(at_root, rank_ == 1 ? all_of(part()) : at::full(whole(), -1.0F));
        for (int rank = 0; rank < ranks_; ++rank) {
            const auto i = static_cast<std::size_t>(rank);
            expect(apart[i], values(rank, part()));
            expect(apart_at_root[i], rank_ == 1 ? values(rank, part()) : at::full(part(), -1.0F));
        }
        expect_untouched(in, rank_, part());
    }

    /// The parts of `source(rank_, whole())`, each in memory of its own.
    [[nodiscard]] std::vector<Placed> source_parts() const {
        std::vector<Placed> parts;
        for (int index = 0; index < ranks_; ++index) {
            // Of an expanded one the values are what they are: it cannot be written to.
            parts.push_back(place(in_ == Layout::expanded ? Layout::column : in_, part()));
            parts.back().view.copy_(part_of(rank_, index));
        }
        return parts;
    }

    void scatters() const {
        const Placed in = source(rank_, whole());
        const std::vector<Placed> parts = source_parts();
        const Placed one = place(out_, part());
        const Placed reduced = place(out_, part());
        const Placed from_list = place(out_, part());
        const Placed reduced_list = place(out_, part());
        Tensors list = views(parts);
        if (started_) {
            group_.scatter_async(in.view, one.view, Root{1}).wait();
            group_.scatter_async(list, from_list.view, Root{0}).wait();
            group_.reduce_scatter_async(in.view, reduced.view).wait();
            group_.reduce_scatter_async(list, reduced_list.view).wait();
        } else {
            group_.scatter(in.view, one.view, Root{1});
            group_.scatter(list, from_list.view, Root{0});
            group_.reduce_scatter(in.view, reduced.view);
            group_.reduce_scatter(list, reduced_list.view);
        }
        at::Tensor sum = at::zeros(part());
        for (int rank = 0; rank < ranks_; ++rank) sum += part_of(rank, rank_);
        expect(one, part_of(1, rank_));
        expect(from_list, part_of(0, rank_));
        expect(reduced, sum);
        expect(reduced_list, sum);
        expect_untouched(in, rank_, whole());
        for (int index = 0; index < ranks_; ++index)
            expect(parts[static_cast<std::size_t>(index)], part_of(rank_, index));
    }

    void exchanges() const {
        const Placed in = source(rank_, whole());
        const Placed out = place(out_, whole());
        const std::vector<Placed> parts = source_parts();
        std::vector<Placed> apart;
        for (int rank = 0; rank < ranks_; ++rank) apart.push_back(place(out_, part()));
        Tensors in_list = views(parts);
        Tensors out_list = views(apart);
        if (started_) {
            group_.all_to_all_async(in.view, out.view).wait();
            group_.all_to_all_async(in_list, out_list).wait();
        } else {
            group_.all_to_all(in.view, out.view);
            group_.all_to_all(in_list, out_list);
        }
        Tensors expected;
        for (int rank = 0; rank < ranks_; ++rank) expected.push_back(part_of(rank, rank_));
        expect(out, at::cat(expected));
        for (std::size_t i = 0; i < expected.size(); ++i) expect(apart[i], expected[i]);
        expect_untouched(in, rank_, whole());
    }

    void messages() const {
        const Placed in = source(rank_, part());
        const Placed out = place(out_, part());
        const Peer next{(rank_ + 1) % ranks_};
        const Peer last{(rank_ + ranks_ - 1) % ranks_};
        if (started_) {
            Work receive = group_.recv_async(out.view, last);
            group_.send_async(in.view, next).wait();
            receive.wait();
        } else {
            group_.send(in.view, next);
            group_.recv(out.view, last);
        }
        expect(out, values(last.rank, part()));
        expect_untouched(in, rank_, part());
    }

    Group group_;
    int ranks_;
    int rank_;
    Layout in_;
    Layout out_;
    bool started_;
    testing::ScopedTrace trace_;
};

TEST(Cases, C01_StridedTensors) {
    for (const int ranks : {2, 3})
        on_ranks(ranks, [](const Group& group) {
            for (const Layout in : sources)
                for (const Layout out : targets)
                    for (const bool started : {false, true}) Cells(group, in, out, started).all();
        });
}

TEST(Cases, C01_StridedTensorsOfPreparedOperations) {
    on_ranks(2, [](const Group& group) {
        const Sizes sizes{2, 3, 2, 2};
        for (const Layout layout : targets) {
            SCOPED_TRACE(name(layout));
            const Placed in = place(layout, sizes);
            const Placed sum_of_all = place(layout, sizes);
            const Placed in_place = place(layout, sizes);
            const std::vector<Placed> apart{place(layout, sizes), place(layout, sizes)};
            Tensors list = views(apart);
            Prepared reduce = group.prepare_all_reduce(in.view, sum_of_all.view);
            Prepared reduce_in_place = group.prepare_all_reduce(in_place.view);
            Prepared gather = group.prepare_all_gather(in.view, list);
            for (int round = 0; round < 3; ++round) {
                in.view.copy_(count_from(100 * group.rank() + round, sizes));
                in_place.view.copy_(in.view);
                for (Prepared* one : {&reduce, &reduce_in_place, &gather}) one->start();
                for (Prepared* one : {&reduce, &reduce_in_place, &gather}) one->wait();
                EXPECT_TENSOR(sum_of_all.view, count_from(0, sizes) * 2 + 2 * round + 100);
                EXPECT_TENSOR(in_place.view, sum_of_all.view);
                EXPECT_TENSOR(list[0], count_from(round, sizes));
                EXPECT_TENSOR(list[1], count_from(round + 100, sizes));
            }
            EXPECT_TRUE(sum_of_all.gaps_untouched() && in_place.gaps_untouched());
            EXPECT_TRUE(apart[0].gaps_untouched() && apart[1].gaps_untouched());
        }
    });
}

// The columns of one matrix lie between one another; each is a target of its own.
TEST(Cases, C01_ColumnsOfOneMatrixAsAList) {
    on_ranks(3, [](const Group& group) {
        const at::Tensor matrix = at::full({4, 4}, -1.0F);
        Tensors columns = matrix.narrow(1, 0, 3).unbind(1);
        group.all_gather(count_from(10 * group.rank(), {4}), columns);
        const at::Tensor expected =
            at::stack({count_from(0, {4}), count_from(10, {4}), count_from(20, {4})}, 1);
        EXPECT_TENSOR(matrix.narrow(1, 0, 3), expected);
        EXPECT_TRUE(matrix.select(1, 3).eq(-1).all().item<bool>());

        at::Tensor exchanged = at::zeros({4, 3});
        Tensors target = exchanged.unbind(1);
        group.all_to_all(columns, target);
        EXPECT_TENSOR(exchanged, count_from(10 * group.rank(), {4, 1}).expand({4, 3}));
    });
}

}  // namespace
}  // namespace trireme
