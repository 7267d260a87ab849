// Tensors without dimensions or elements, worlds of one rank, parts of different lengths, and what
// a reduce to one rank leaves alone.

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <functional>
#include <stdexcept>

#include "support/expect_error.h"
#include "tensors.h"
#include "trireme/error.h"

namespace trireme {
namespace {

using test::expect_invalid;

/// That the next collectives pair up.
void expect_works(const Group& group) {
    const at::Tensor all = at::zeros({group.size()});
    group.all_gather(count_from(group.rank(), {1}), all);
    EXPECT_TENSOR(all, count_from(0, {group.size()}));
    group.barrier();
}

/// Every operation on tensors of these sizes, which have no element; those of a list may differ.
void check_empty(const Group& group, const std::function<Sizes(int)>& sizes_of) {
    const int ranks = group.size();
    const int rank = group.rank();
    const Sizes own = sizes_of(rank);
    const at::Tensor x = at::empty(own);
    const at::Tensor y = at::empty(own);
    const auto make_list = [&] {
        Tensors list;
        for (int i = 0; i < ranks; ++i) list.push_back(at::empty(sizes_of(i)));
        return list;
    };
    Tensors a = make_list();
    Tensors b = make_list();
    const Root root{ranks - 1};
    const Peer next{(rank + 1) % ranks};
    const Peer last{(rank + ranks - 1) % ranks};

    group.broadcast(x, root);
    group.broadcast_async(x, root).wait();
    for (const ReduceOp op : {sum, min, avg, prod}) {
        group.all_reduce(x, op);
        group.all_reduce(x, y, op);
        group.reduce(x, root, op);
        group.reduce_scatter(x, y, op);
        group.reduce_scatter(a, y, op);
        group.scan(x, op);
        group.exclusive_scan(x, op);
        group.all_reduce_async(x, op).wait();
    }
    group.all_gather(x, y);
    group.all_gather(x, a);
    group.all_gather_async(x, a).wait();
    group.gather(x, y, root);
    group.gather(x, a, root);
    group.scatter(x, y, root);
    group.scatter(a, y, root);
    group.all_to_all(x, y);
    group.all_to_all(a, b);
    group.all_to_all_async(a, b).wait();
    Prepared prepared = group.prepare_all_reduce(x);
    for (int round = 0; round < 2; ++round) {
        prepared.start();
        prepared.wait();
    }
    Work receive = group.recv_async(y, last);
    group.send(x, next);
    receive.wait();

    EXPECT_EQ(x.sizes().vec(), own);
    EXPECT_EQ(y.sizes().vec(), own);
    for (int i = 0; i < ranks; ++i)
        EXPECT_EQ(a[static_cast<std::size_t>(i)].sizes().vec(), sizes_of(i));
    expect_works(group);
}

TEST(Cases, C10_NoElements) {
    for (const int ranks : {1, 2, 4})
        on_ranks(ranks, [](const Group& group) {
            check_empty(group, [](int) { return Sizes{0}; });
            check_empty(group, [](int) { return Sizes{1, 0, 2}; });
            check_empty(group, [](int rank) { return Sizes{rank, 0}; });
            check_empty(group, [](int rank) { return rank == 0 ? Sizes{0} : Sizes{2, 0, rank}; });
        });
}

TEST(Cases, C10_NoElementsOfAStridedTensor) {
    on_ranks(2, [](const Group& group) {
        const at::Tensor whole = count_from(0, {3, 4});
        for (const at::Tensor& x :
             {whole.select(1, 0).narrow(0, 1, 0), whole.t().narrow(1, 3, 0)}) {
            const Sizes sizes = x.sizes().vec();
            group.all_reduce(x);
            group.broadcast(x, Root{0});
            Tensors list{x, x};
            group.all_gather(x, list);
            EXPECT_EQ(x.sizes().vec(), sizes);
        }
        EXPECT_TENSOR(whole, count_from(0, {3, 4}));
        expect_works(group);
    });
}

TEST(Cases, C10_SomePartsHaveNoElements) {
    on_ranks(4, [](const Group& group) {
        // Rank r has r rows, and so rank 0 none.
        const auto rows = [](int rank) { return count_from(10 * rank, {rank, 2}); };
        Tensors list;
        for (int rank = 0; rank < 4; ++rank) list.push_back(at::zeros({rank, 2}));
        group.all_gather(rows(group.rank()), list);
        for (int rank = 0; rank < 4; ++rank)
            EXPECT_TENSOR(list[static_cast<std::size_t>(rank)], rows(rank));
        const at::Tensor all = at::zeros({6, 2});
        group.all_gather(rows(group.rank()), split_rows(all, {0, 1, 2, 3}));
        EXPECT_TENSOR(all, at::cat(list));
        const at::Tensor back = at::zeros({group.rank(), 2});
        group.scatter(list, back, Root{0});
        EXPECT_TENSOR(back, rows(group.rank()));
        group.reduce_scatter(list, back);
        EXPECT_TENSOR(back, rows(group.rank()) * 4);
        expect_works(group);
    });
}

TEST(Cases, C10_NoDimensions) {
    for (const int ranks : {1, 4})
        on_ranks(ranks, [](const Group& group) {
            const int n = group.size();
            const at::Tensor x = at::scalar_tensor(group.rank(), at::kFloat);
            const at::Tensor all = at::zeros({n});
            Tensors list;
            for (int i = 0; i < n; ++i) list.push_back(at::zeros({}));
            group.all_gather(x, all);
            EXPECT_TENSOR(all, count_from(0, {n}));
            group.all_gather(x, list);
            EXPECT_TENSOR(at::stack(list), count_from(0, {n}));
            all.zero_();
            group.gather(x, all, Root{0});
            EXPECT_TENSOR(all, group.rank() == 0 ? count_from(0, {n}) : at::zeros({n}));
            group.gather(x, list, Root{0});
            const at::Tensor y = at::zeros({});
            group.scatter(list, y, Root{0});
            EXPECT_TENSOR(y, x);
            group.reduce_scatter(count_from(0, {n}), y);
            EXPECT_TENSOR(y, x * n);
            group.all_to_all(list, all);
            group.all_reduce(x);
            EXPECT_TENSOR(x, at::full({}, n * (n - 1) / 2, at::kFloat));
            EXPECT_EQ(x.dim(), 0);
            EXPECT_EQ(y.dim(), 0);
            group.broadcast(x, Root{0});
            expect_works(group);
        });
}

TEST(Cases, C10_OneRank) {
    on_ranks(1, [](const Group& group) {
        for (const Layout layout : {Layout::contiguous, Layout::column, Layout::transposed}) {
            const at::Tensor x = counted(layout, 1, {2, 3}).view;
            const at::Tensor expected = count_from(1, {2, 3});
            const auto out = [&] { return place(layout, {2, 3}); };
            for (const ReduceOp op : {sum, prod, min, max, avg}) {
                group.all_reduce(x, op);
                group.reduce(x, Root{0}, op);
                group.scan(x, op);
                group.exclusive_scan(x, op);
                const Placed y = out();
                group.all_reduce(x, y.view, op);
                EXPECT_TENSOR(y.view, expected);
                const Placed z = out();
                group.reduce_scatter(x, z.view, op);
                EXPECT_TENSOR(z.view, expected);
            }
            group.broadcast(x, Root{0});
            EXPECT_TENSOR(x, expected);
            const Placed moved[] = {out(), out(), out(), out(), out(), out()};
            group.all_gather(x, moved[0].view);
            group.gather(x, moved[1].view, Root{0});
            group.scatter(x, moved[2].view, Root{0});
            group.all_to_all(x, moved[3].view);
            Tensors source{x};
            Tensors target{moved[4].view};
            group.all_to_all(source, target);
            Work receive = group.recv_async(moved[5].view, Peer{0});
            group.send(x, Peer{0});
            receive.wait();
            for (const Placed& one : moved) {
                EXPECT_TENSOR(one.view, expected);
                EXPECT_TRUE(one.gaps_untouched());
            }
        }
        expect_works(group);
    });
}

/// Row k of rank r is 10 r + k, in each column.
at::Tensor rows_of(int rank, std::int64_t rows, std::int64_t columns) {
    return count_from(10 * rank, {rows, 1}).repeat({1, columns});
}

TEST(Cases, C12_UnevenAllToAll) {
    on_ranks(3, [](const Group& group) {
        const std::vector<Sizes> sends{{3, 2, 1}, {2, 2, 2}, {1, 2, 3}};
        const std::vector<std::vector<float>> expected{
            {0, 1, 2, 10, 11, 20}, {3, 4, 12, 13, 21, 22}, {5, 14, 15, 23, 24, 25}};
        const auto own = static_cast<std::size_t>(group.rank());
        Sizes receives;
        for (const Sizes& one : sends) receives.push_back(one[own]);
        for (const std::int64_t columns : {1, 3}) {
            const at::Tensor wanted = at::tensor(expected[own]).view({6, 1}).repeat({1, columns});
            const at::Tensor in = rows_of(group.rank(), 6, columns);
            at::Tensor out = at::zeros({6, columns});
            group.all_to_all(split_rows(in, sends[own]), split_rows(out, receives));
            EXPECT_TENSOR(out, wanted);
            out = at::zeros({columns, 6}).t();
            group.all_to_all_async(split_rows(in, sends[own]), split_rows(out, receives)).wait();
            EXPECT_TENSOR(out, wanted);
            // As lists of views; by counts of elements.
            out = at::zeros({6, columns});
            Tensors parts = in.split_with_sizes(sends[own]);
            Tensors targets = out.split_with_sizes(receives);
            group.all_to_all(parts, targets);
            EXPECT_TENSOR(out, wanted);
            out = at::zeros({6, columns});
            for (std::int64_t& count : receives) count *= columns;
            Sizes counts = sends[own];
            for (std::int64_t& count : counts) count *= columns;
            group.all_to_all(split(in, counts), split(out, receives));
            EXPECT_TENSOR(out, wanted);
            for (std::int64_t& count : receives) count /= columns;
        }
    });
}

TEST(Cases, C12_RankThatSendsNothing) {
    on_ranks(3, [](const Group& group) {
        const bool silent = group.rank() == 1;
        const at::Tensor in = rows_of(group.rank(), silent ? 0 : 3, 2);
        const at::Tensor out = at::zeros({2, 2});
        group.all_to_all(split_rows(in, silent ? Sizes{0, 0, 0} : Sizes{1, 1, 1}),
                         split_rows(out, {1, 0, 1}));
        EXPECT_TENSOR(out, at::cat({rows_of(0, 3, 2).narrow(0, group.rank(), 1),
                                    rows_of(2, 3, 2).narrow(0, group.rank(), 1)}));
        // Nobody sends anything to anybody.
        const at::Tensor nothing = at::zeros({0, 2});
        group.all_to_all(split_rows(nothing, {0, 0, 0}), split_rows(nothing, {0, 0, 0}));
        expect_works(group);
    });
}

TEST(Cases, C12_RowsThatDoNotFit) {
    on_ranks(3, [](const Group& group) {
        const at::Tensor x = at::zeros({4, 2});
        const at::Tensor y = at::zeros({4, 2});
        const auto refused = [&](Sizes rows, const std::string& shown) {
            expect_invalid([&] { group.all_to_all(split_rows(x, rows), split_rows(y, rows)); },
                           {"split_rows", shown, "sizes [4, 2]"});
        };
        refused({1, 1, 1}, "[1, 1, 1]");
        refused({2, 2, 1}, "[2, 2, 1]");
        refused({5, -1, 0}, "[5, -1, 0]");
        refused({-1, 5, 0}, "[-1, 5, 0]");
        expect_invalid([] { (void)split_rows(at::zeros({}), {1}); }, {"split_rows", "sizes []"});
        expect_invalid([] { (void)split_rows(at::Tensor(), {1}); }, {"split_rows", "undefined"});
        // The right sum, for another number of ranks.
        for (const Sizes& rows : {Sizes{4}, Sizes{2, 2}, Sizes{1, 1, 1, 1}})
            expect_invalid([&] { group.all_to_all(split_rows(x, rows), split_rows(y, rows)); },
                           {"all_to_all", "3", std::to_string(rows.size()) + " are given"});
        // Four rows do not divide among three ranks.
        expect_invalid([&] { group.all_to_all(x, y); }, {"all_to_all", "8 elements", "3 ranks"});
        expect_invalid([&] { group.all_to_all(x.select(1, 0), y.select(1, 0)); },
                       {"all_to_all", "4 elements", "3 ranks"});
        expect_invalid([&] { group.all_to_all_async(x, y).wait(); }, {"8 elements", "3 ranks"});
        expect_works(group);
    });
}

TEST(Cases, C12_PairThatDisagrees) {
    for (const std::int64_t columns : {1, 40'000})
        on_ranks(3, [columns](const Group& world) {
            const Group group = world.with(Timeout(5'000));
            const int rank = group.rank();
            // Rank 0 sends three rows to rank 1, which expects two.
            const at::Tensor in = at::ones({rank == 0 ? 5 : 3, columns});
            const at::Tensor out = at::zeros({rank == 1 ? 4 : 3, columns});
            const auto exchange = [&] {
                group.all_to_all(split_rows(in, rank == 0 ? Sizes{1, 3, 1} : Sizes{1, 1, 1}),
                                 split_rows(out, rank == 1 ? Sizes{2, 1, 1} : Sizes{1, 1, 1}));
                // Who had nothing more to wait for learns of it now.
                group.barrier();
            };
            test::expect_error(ErrorCode::mismatch,
                               {"all_to_all", "rank 0 sends " + std::to_string(3 * columns),
                                "to rank 1, which expects " + std::to_string(2 * columns)},
                               exchange);
        });
}

TEST(Cases, C14_ReduceLeavesTheOthersAlone) {
    on_ranks(4, [](const Group& group) {
        for (const Sizes& sizes : {Sizes{2, 2}, Sizes{50, 100}, Sizes{200, 200}})
            for (const Layout layout : {Layout::contiguous, Layout::column})
                for (int root = 0; root < 4; ++root) {
                    const Placed ones = place(layout, sizes);
                    ones.view.fill_(1);
                    group.reduce(ones.view, Root{root});
                    const bool here = group.rank() == root;
                    EXPECT_TENSOR(ones.view, at::full(sizes, here ? 4.0F : 1.0F));
                    const Placed counts = counted(layout, group.rank(), sizes);
                    group.reduce_async(counts.view, Root{root}, max).wait();
                    EXPECT_TENSOR(counts.view, count_from(here ? 3 : group.rank(), sizes));
                    EXPECT_TRUE(ones.gaps_untouched() && counts.gaps_untouched());
                    const at::Tensor halves = at::full(sizes, 1.5, at::kBFloat16);
                    group.reduce(halves, Root{root}, prod);
                    EXPECT_TENSOR(halves, at::full_like(halves, here ? 5.0625 : 1.5));
                }
    });
}

}  // namespace
}  // namespace trireme
