// Lists of tensors as arguments, and memory that arguments share.

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <functional>

#include "support/expect_error.h"
#include "tensors.h"

namespace trireme {
namespace {

using test::expect_invalid;

/// Output lists of three parts of two elements that share memory, each in another way.
std::vector<Tensors> colliding_lists() {
    const at::Tensor one = at::zeros({2});
    const at::Tensor column = at::zeros({2, 2}).select(1, 0);
    const at::Tensor row = at::zeros({4});
    const at::Tensor matrix = at::zeros({2, 2});
    const at::Tensor wide = at::zeros({1, 4});
    const at::Tensor tall = at::zeros({3, 3});
    return {
        {one, one, one},
        {column, column, column},
        {column, at::zeros({2}), column.view({1, 2})},
        {row.narrow(0, 0, 2), row.narrow(0, 1, 2), at::zeros({2})},
        {row.slice(0, 0, 3, 2), row.slice(0, 1, 4, 2), row.slice(0, 0, 3, 2)},
        {matrix.select(0, 0), matrix.select(1, 0), at::zeros({2})},
        {wide.narrow(1, 2, 2), wide.narrow(1, 1, 2), wide.slice(1, 0, 3, 2)},
        {tall.select(1, 0).slice(0, 0, 2), tall.select(1, 1).slice(0, 0, 2),
         tall.select(1, 0).slice(0, 1, 3)},
    };
}

/// That the group still pairs up calls.
void expect_works(const Group& group) {
    const at::Tensor x = count_from(group.rank(), {3});
    group.all_reduce(x);
    EXPECT_TENSOR(x, count_from(0, {3}) * group.size() + group.size() * (group.size() - 1) / 2);
}

TEST(Cases, C03_PartsThatShareMemoryAreRefused) {
    on_ranks(3, [](const Group& group) {
        const at::Tensor in = count_from(0, {2});
        const at::Tensor long_in = count_from(0, {6});
        for (Tensors list : colliding_lists()) {
            const auto refused = [&](const std::function<void()>& call) {
                expect_invalid(call, {"share", "memory"});
            };
            refused([&] { group.all_gather(in, list); });
            refused([&] { group.all_gather_async(in, list).wait(); });
            refused([&] { (void)group.prepare_all_gather(in, list); });
            refused([&] { group.all_to_all(long_in, list); });
            refused([&] { group.all_to_all_async(long_in, list).wait(); });
            refused([&] { (void)group.prepare_all_to_all(long_in, list); });
            // Where the root finds out, the others have sent.
            if (group.rank() == 1) refused([&] { group.gather(in, list, Root{1}); });
            Tensors apart{at::zeros({2}), at::zeros({2}), at::zeros({2})};
            group.gather(in, apart, Root{1});
            if (group.rank() == 1) {
                for (const at::Tensor& part : apart) EXPECT_TENSOR(part, in);
            }
            expect_works(group);
        }
    });
}

TEST(Cases, C03_RefusedOnOneRankOnlyNothingWasSent) {
    on_ranks(3, [](const Group& group) {
        const at::Tensor in = count_from(2 * group.rank(), {2});
        for (Tensors list : colliding_lists()) {
            if (group.rank() == 2)
                expect_invalid([&] { group.all_gather(in, list); }, {"share", "memory"});
            Tensors apart{at::zeros({2}), at::zeros({2}), at::zeros({2})};
            group.all_gather(in, apart);
            EXPECT_TENSOR(at::cat(apart), count_from(0, {6}));
        }
    });
}

TEST(Cases, C03_ListsThatAreReadMayShareMemory) {
    on_ranks(3, [](const Group& group) {
        const at::Tensor one = count_from(10 * group.rank(), {2});
        Tensors list{one, one, one.expand({2})};
        const at::Tensor out = at::zeros({2});
        group.reduce_scatter(list, out);
        EXPECT_TENSOR(out, count_from(0, {2}) * 3 + 30);
        group.scatter(list, out, Root{2});
        EXPECT_TENSOR(out, count_from(20, {2}));
    });
}

TEST(Cases, C03_EmptyPartsShareNothing) {
    on_ranks(2, [](const Group& group) {
        const at::Tensor nothing = at::zeros({2, 0});
        Tensors list{nothing, nothing};
        group.all_gather(nothing, list);
        const at::Tensor column = at::full({3, 2}, -1.0F).select(1, 0);
        Tensors uneven{column, column.narrow(0, 1, 0)};
        group.all_gather(count_from(5, {group.rank() == 0 ? 3 : 0}), uneven);
        EXPECT_TENSOR(column, count_from(5, {3}));
    });
}

TEST(Cases, C03_InputIsOwnSliceOfTheOutput) {
    on_ranks(3, [](const Group& group) {
        for (const Layout layout : {Layout::contiguous, Layout::column}) {
            const Placed out = place(layout, {3});
            const at::Tensor own = out.view.narrow(0, group.rank(), 1);
            own.fill_(group.rank());
            group.all_gather(own, out.view);
            EXPECT_TENSOR(out.view, count_from(0, {3}));
            EXPECT_TRUE(out.gaps_untouched());

            Tensors list = out.view.split(1);
            out.view.fill_(-1);
            own.fill_(group.rank());
            group.all_gather(own, list);
            EXPECT_TENSOR(out.view, count_from(0, {3}));

            group.reduce_scatter(out.view, own);
            EXPECT_EQ(own.item<float>(), 3.0F * static_cast<float>(group.rank()));
        }
    });
}

TEST(Cases, C03_InputIsOffByOneElement) {
    on_ranks(3, [](const Group& group) {
        // Contiguous memory is lent, so it is refused; a column moves through a copy.
        const at::Tensor memory = count_from(0, {8});
        const at::Tensor out = memory.narrow(0, 0, 6);
        const at::Tensor in = memory.narrow(0, 2 * group.rank() + 1, 2);
        expect_invalid([&] { group.all_gather(in, out); }, {"all_gather", "overlap"});
        expect_invalid([&] { group.all_gather_async(in, out).wait(); }, {"all_gather", "overlap"});
        EXPECT_TENSOR(memory, count_from(0, {8}));

        const at::Tensor column = count_from(0, {8, 2}).select(1, 0);
        group.all_gather(column.narrow(0, 2 * group.rank() + 1, 2), column.narrow(0, 0, 6));
        EXPECT_TENSOR(column.narrow(0, 0, 6), count_from(0, {6}) * 2 + 2);
        expect_works(group);
    });
}

TEST(Cases, C03_ExpandedTargets) {
    on_ranks(3, [](const Group& group) {
        const at::Tensor expanded = at::zeros({1}).expand({3});
        const at::Tensor in = count_from(0, {3});
        const auto refused = [](const std::function<void()>& call) {
            expect_invalid(call, {"sizes [3]", "strides [0]", "share memory"});
        };
        for (int root = 0; root < 3; ++root) {
            refused([&] { group.broadcast(expanded, Root{root}); });
            refused([&] { group.reduce(expanded, Root{root}); });
            refused([&] { group.scatter(in, expanded, Root{root}); });
        }
        refused([&] { group.broadcast_async(expanded, Root{0}).wait(); });
        refused([&] { (void)group.prepare_broadcast(expanded, Root{0}); });
        refused([&] { group.all_reduce(expanded); });
        refused([&] { group.all_reduce(in, expanded); });
        refused([&] { group.all_gather(in.narrow(0, 0, 1), expanded); });
        refused([&] { group.all_to_all(in, expanded); });
        refused([&] { group.reduce_scatter(in, expanded); });
        refused([&] { group.scan(expanded); });
        refused([&] { group.recv(expanded, Peer{0}); });
        Tensors list{at::zeros({3}), expanded, at::zeros({3})};
        refused([&] { group.all_gather(in, list); });
        expect_works(group);
    });
}

TEST(Cases, C03_ListsOfTheWrongLength) {
    on_ranks(3, [](const Group& group) {
        const at::Tensor in = count_from(0, {3});
        for (const std::size_t parts : {1U, 2U, 4U}) {
            Tensors list;
            for (std::size_t i = 0; i < parts; ++i) list.push_back(at::zeros({9}));
            const auto refused = [&](const std::function<void()>& call) {
                expect_invalid(call, {"3", std::to_string(parts) + " are given"});
            };
            refused([&] { group.all_gather(in, list); });
            refused([&] { group.all_gather_async(in, list).wait(); });
            refused([&] { (void)group.prepare_all_gather(in, list); });
            refused([&] { group.reduce_scatter(list, in); });
            refused([&] { group.all_to_all(list, at::zeros({9})); });
            refused([&] { group.all_to_all(at::zeros({9}), list); });
            if (group.rank() == 0) {
                refused([&] { group.gather(in, list, Root{0}); });
                refused([&] { group.scatter(list, in, Root{0}); });
            }
        }
        Tensors none;
        expect_invalid([&] { group.all_gather(in, none); }, {"0 are given"});
        expect_works(group);
    });
}

}  // namespace
}  // namespace trireme
