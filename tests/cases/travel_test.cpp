// Every dtype that tensors travel in, and tensors that stand for other values than their memory
// holds.

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <string>

#include "tensors.h"

namespace trireme {
namespace {

constexpr at::ScalarType types[] = {
    at::kDouble, at::kFloat,  at::kHalf,  at::kBFloat16,     at::kFloat8_e4m3fn, at::kFloat8_e5m2,
    at::kLong,   at::kInt,    at::kShort, at::kChar,         at::kByte,          at::kUInt16,
    at::kUInt32, at::kUInt64, at::kBool,  at::kComplexFloat, at::kComplexDouble,
};

/// `count` elements of any dtype, whose bytes are all different as far as that goes.
at::Tensor elements(at::ScalarType type, std::int64_t count, std::int64_t first) {
    const auto size = static_cast<std::int64_t>(c10::elementSize(type));
    const at::Tensor bytes = at::arange(first, first + count * size, at::kLong);
    // A bool may be 0 or 1 only. Everything else has all bit patterns.
    return bytes.remainder(type == at::kBool ? 2 : 251).to(at::kByte).view(type);
}

/// The same as every other element of a longer tensor.
at::Tensor column(const at::Tensor& values) {
    const at::Tensor memory = elements(values.scalar_type(), 2 * values.numel(), 77);
    const at::Tensor view = memory.view({-1, 2}).select(1, 1);
    view.copy_(values);
    return view;
}

void expect_same(const at::Tensor& actual, const at::Tensor& expected) {
    EXPECT_TRUE(at::equal(bytes_of(actual), bytes_of(expected)));
}

TEST(Cases, EveryDtypeTravels) {
    on_ranks(2, [](const Group& group) {
        for (const at::ScalarType type : types)
            for (const bool strided : {false, true}) {
                SCOPED_TRACE(std::string(c10::toString(type)) + (strided ? ", strided" : ""));
                const int rank = group.rank();
                const auto values = [&](int of) { return elements(type, 6, 40 * of + 3); };
                const auto placed = [&](const at::Tensor& x) {
                    return strided ? column(x) : x.clone();
                };
                const at::Tensor own = placed(values(rank));

                const at::Tensor data = own.clone();
                const at::Tensor copy = placed(data);
                group.broadcast(copy, Root{1});
                expect_same(copy, values(1));

                const at::Tensor received = placed(own);
                Work receive = group.recv_async(received, Peer{1 - rank});
                group.send(own, Peer{1 - rank});
                receive.wait();
                expect_same(received, values(1 - rank));

                Tensors list{placed(own), placed(own)};
                group.all_gather(own, list);
                expect_same(list[0], values(0));
                expect_same(list[1], values(1));

                const at::Tensor exchanged = placed(own);
                group.all_to_all(own, exchanged);
                expect_same(exchanged, at::cat({values(0).view(at::kByte).chunk(2)[rank != 0],
                                                values(1).view(at::kByte).chunk(2)[rank != 0]}));
                expect_same(own, values(rank));
                if (rank == 0) {
                    group.send_tensor(own, Peer{1});
                } else {
                    const at::Tensor made = group.recv_tensor(Peer{0});
                    EXPECT_EQ(made.scalar_type(), type);
                    expect_same(made, values(0));
                }
            }
    });
}

/// Tensors that are conjugated, or negated, without their memory having been touched.
at::Tensor conjugate(double first) {
    const at::Tensor x = at::complex(count_from(first, {4}), count_from(first + 0.5, {4})).conj();
    EXPECT_TRUE(x.is_conj());
    return x;
}
at::Tensor negative(double first) {
    const at::Tensor x = at::imag(at::complex(count_from(0, {4}), count_from(first, {4})).conj());
    EXPECT_TRUE(x.is_neg());
    return x;
}
at::Tensor negative_side_by_side(double first) {
    const at::Tensor x = at::_neg_view(count_from(first, {4}));
    EXPECT_TRUE(x.is_neg() && x.is_contiguous());
    return x;
}

TEST(Cases, LazilyFlaggedTensorsTravelAsTheValuesTheyStandFor) {
    on_ranks(2, [](const Group& group) {
        const int rank = group.rank();
        for (at::Tensor (*make)(double) : {conjugate, negative, negative_side_by_side}) {
            const auto values = [&](int of) { return make(10 * of).resolve_conj().resolve_neg(); };
            const at::Tensor own = make(10 * rank);
            ASSERT_FALSE(values(rank).is_conj() || values(rank).is_neg());

            const at::Tensor data = make(10 * rank);
            group.broadcast(data, Root{1});
            EXPECT_TENSOR(data, values(1));

            // Flagged on the one side, plain on the other.
            const at::Tensor mixed = rank == 0 ? make(0) : values(1);
            group.broadcast(mixed, Root{1});
            EXPECT_TENSOR(mixed, values(1));

            const at::Tensor received = make(50);
            if (rank == 0) {
                group.send(own, Peer{1});
                group.recv(received, Peer{1});
            } else {
                group.recv(received, Peer{0});
                group.send(own, Peer{0});
            }
            EXPECT_TENSOR(received, values(1 - rank));

            Tensors flagged{make(50), make(60)};
            group.all_gather(own, flagged);
            EXPECT_TENSOR(flagged[0], values(0));
            EXPECT_TENSOR(flagged[1], values(1));
            EXPECT_TRUE(flagged[0].is_conj() || flagged[0].is_neg());

            Tensors source{make(10 * rank), make(10 * rank + 100)};
            Tensors target{make(50), make(60)};
            group.all_to_all_async(source, target).wait();
            EXPECT_TENSOR(target[0], make(100 * rank));
            EXPECT_TENSOR(target[1], make(10 + 100 * rank));

            const at::Tensor summed = make(10 * rank);
            group.all_reduce(summed);
            EXPECT_TENSOR(summed, values(0) + values(1));
            if (rank == 0) {
                group.send_tensor(own, Peer{1});
            } else {
                EXPECT_TENSOR(group.recv_tensor(Peer{0}), values(0));
            }
            EXPECT_TENSOR(own, values(rank));
        }
    });
}

TEST(Cases, ZerosWithoutMemoryTravel) {
    on_ranks(2, [](const Group& group) {
        const at::Tensor out = at::ones({6});
        group.all_gather(at::_efficientzerotensor({3}), out);
        EXPECT_TENSOR(out, at::zeros({6}));
        Tensors list{at::_efficientzerotensor({3}), at::ones({3})};
        const at::Tensor part = at::empty({3});
        group.reduce_scatter(list, part);
        EXPECT_TENSOR(part, at::full({3}, group.rank() == 0 ? 0.0F : 2.0F));
    });
}

}  // namespace
}  // namespace trireme
