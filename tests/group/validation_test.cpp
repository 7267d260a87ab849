// What is refused at the call, before a byte is sent: the group works on as if nothing had been.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "support/ranks.h"

namespace trireme {
namespace {

using testing::HasSubstr;

struct Refusal {
    std::string name;
    std::function<void(const Group&)> call;
    std::string text;
    ErrorCode code = ErrorCode::invalid_argument;
};

void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.name; }

class Refused : public testing::TestWithParam<Refusal> {};

TEST_P(Refused, AtTheCallAndTheGroupWorksOn) {
    const Refusal& refusal = GetParam();
    run_ranks(3, [&](World& world) {
        const Group group = world.group();
        // One rank alone makes the mistake: had it been sent anything, the others would fail.
        if (world.rank() == 1) {
            try {
                refusal.call(group);
                ADD_FAILURE() << "not refused";
            } catch (const Error& error) {
                EXPECT_EQ(error.code(), refusal.code) << error.what();
                EXPECT_THAT(error.what(), HasSubstr(refusal.text));
            }
        }
        std::vector<int> ones(5, 1);
        group.all_reduce(ones);
        EXPECT_EQ(ones, std::vector<int>(5, 3));
        group.send(ones, Peer{(world.rank() + 1) % 3});
        group.recv(ones, Peer{(world.rank() + 2) % 3});
    });
}

Op op_with(OpKind kind, std::span<const Buffer> in, std::span<const Buffer> out, int peer = -1) {
    return {.kind = kind, .in = in, .out = out, .peer = peer, .site = Site::current()};
}

std::vector<Refusal> refusals() {
    using Floats = std::vector<float>;
    return {
        {"RootTooHigh",
         [](const Group& g) {
             Floats x(2);
             g.broadcast(x, Root{3});
         },
         "root 3 is not a rank of the group; ranks are 0 to 2"},
        {"RootNegative",
         [](const Group& g) {
             Floats x(2);
             g.reduce(x, Root{-1});
         },
         "root -1 is not a rank of the group"},
        {"PeerTooHigh",
         [](const Group& g) {
             Floats x(2);
             g.send(x, Peer{3});
         },
         "peer 3 is not a rank of the group"},
        {"PeerNegative",
         [](const Group& g) {
             Floats x(2);
             g.recv(x, Peer{-1});
         },
         "peer -1 is not a rank of the group"},
        {"TagNegative",
         [](const Group& g) {
             Floats x(2);
             g.send(x, Peer{0}, Tag{-1});
         },
         "tag -1 is negative; tags are 0 or more"},
        {"Async",
         [](const Group& g) {
             Floats x(2);
             g.send_async(x, Peer{3}).wait();
         },
         "peer 3 is not a rank of the group"},
        {"NullBuffer",
         [](const Group& g) { g.all_reduce(std::span<float>(static_cast<float*>(nullptr), 4)); },
         "buffer is null but has 4 elements"},
        {"DtypesDiffer",
         [](const Group& g) {
             Floats x(2);
             std::vector<double> y(2);
             g.all_reduce(x, y);
         },
         "it mixes float32 and float64; all buffers must have the same dtype"},
        {"CountsDiffer",
         [](const Group& g) {
             Floats x(2);
             Floats y(3);
             g.all_reduce(x, y);
         },
         "the input has 2 elements, the output 3; they must be equal"},
        {"GatheredTooShort",
         [](const Group& g) {
             Floats x(2);
             Floats y(5);
             g.all_gather(x, y);
         },
         "the input has 2 elements, so the output must have 2 x 3 = 6, but has 5"},
        {"GatherAtTheRoot",
         [](const Group& g) {
             Floats x(2);
             Floats y(7);
             g.gather(x, y, Root{1});
         },
         "so the output must have 2 x 3 = 6, but has 7"},
        {"ScatterAtTheRoot",
         [](const Group& g) {
             Floats x(7);
             Floats y(2);
             g.scatter(x, y, Root{1});
         },
         "the output has 2 elements, so the input must have 2 x 3 = 6, but has 7"},
        {"ReduceScatter",
         [](const Group& g) {
             Floats x(7);
             Floats y(2);
             g.reduce_scatter(x, y);
         },
         "so the input must have 2 x 3 = 6, but has 7"},
        {"ExchangeNoMultiple",
         [](const Group& g) {
             Floats x(7);
             Floats y(7);
             g.all_to_all(x, y);
         },
         "the input has 7 elements, which do not divide among 3 ranks"},
        {"ExchangeCountsDiffer",
         [](const Group& g) {
             Floats x(6);
             Floats y(9);
             g.all_to_all(x, y);
         },
         "the input has 6 elements, the output 9"},
        {"AverageOfIntegers",
         [](const Group& g) {
             std::vector<int> x(2);
             g.all_reduce(x, avg);
         },
         "avg is not defined for int32; use sum and divide"},
        {"SumOfFloat8",
         [](const Group& g) {
             std::array<Float8E4m3, 2> x{};
             g.all_reduce(x);
         },
         "sum has no meaning for float8_e4m3"},
        {"MaximumOfComplex",
         [](const Group& g) {
             std::vector<std::complex<float>> x(2);
             g.all_reduce(x, max);
         },
         "max has no meaning for complex64"},
        {"SplitThatIsNotAll",
         [](const Group& g) {
             std::vector<int> x(5);
             g.all_to_all(split(x, {1, 2, 1}), split(x, {1, 2, 2}));
         },
         "counts [1, 2, 1] must make up 5 elements"},
        {"ListOfAnotherLength",
         [](const Group& g) {
             std::vector<std::vector<int>> out(2, std::vector<int>(1));
             g.all_gather(1, out);
         },
         "a list of 3, one per rank, but 2 are given"},
        {"ListWhosePartsAreOne",
         [](const Group& g) {
             std::vector<int> x(2);
             std::vector<std::span<int>> out(3, x);
             g.all_gather(std::vector<int>(2), out);
         },
         "two parts of the output share memory"},
        {"OwnPartDiffers",
         [](const Group& g) {
             std::vector<int> x(6);
             g.all_gather(std::vector<int>(3), split(x, {3, 2, 1}));
         },
         "this rank's part of the output has 2"},
        {"ListOfTwoTypes",
         [](const Group& g) {
             std::vector<float> out(6);
             g.all_gather(std::vector<int>(2), out);
         },
         "it mixes int32 and float32"},
        {"DeviceMemory",
         [](const Group& g) {
             Floats x(2);
             const Buffer buffer{reinterpret_cast<std::byte*>(x.data()), 2, Dtype::float32,
                                 Device::cuda};
             g.run(op_with(OpKind::all_reduce, {&buffer, 1}, {&buffer, 1}));
         },
         "is not in host memory", ErrorCode::unsupported},
        {"NoInput",
         [](const Group& g) {
             Floats x(2);
             const Buffer buffer{reinterpret_cast<std::byte*>(x.data()), 2, Dtype::float32};
             g.run(op_with(OpKind::all_reduce, {}, {&buffer, 1}));
         },
         "it takes one input buffer, but 0 are given"},
        {"NoBuffers",
         [](const Group& g) {
             g.start(op_with(OpKind::broadcast, {}, {}, 0), std::nullopt, std::nullopt).wait();
         },
         "but 0 are given"},
        {"Overlap",
         [](const Group& g) {
             Floats x(8);
             g.all_reduce(std::span(x).first(4), std::span(x).subspan(2, 4));
         },
         "input and output overlap"},
        {"GatherOverlapsAnothersSlice",
         [](const Group& g) {
             Floats x(6);
             g.all_gather(std::span(x).first(2), x);  // slice 0; this is rank 1
         },
         "input and output overlap"},
        {"ExchangeInPlace",
         [](const Group& g) {
             Floats x(6);
             g.all_to_all(x, x);
         },
         "input and output overlap"},
    };
}

INSTANTIATE_TEST_SUITE_P(Each, Refused, testing::ValuesIn(refusals()),
                         [](const auto& suite_info) { return suite_info.param.name; });

TEST(Allowed, InPlaceWhereTheOperationCan) {
    run_ranks(3, [](World& world) {
        const Group group = world.group();
        const auto own = static_cast<std::size_t>(world.rank());
        std::vector<int> all(6, -1);
        const auto slice = std::span(all).subspan(2 * own, 2);
        slice[0] = slice[1] = world.rank() + 1;
        group.all_gather(slice, all);
        EXPECT_EQ(all, (std::vector<int>{1, 1, 2, 2, 3, 3}));
        group.all_reduce(all, all);
        EXPECT_EQ(all, (std::vector<int>{3, 3, 6, 6, 9, 9}));
        group.reduce_scatter(all, slice);
        EXPECT_EQ(slice[0], 9 * (world.rank() + 1));
    });
}

TEST(Allowed, BuffersThatAreNotLookedAt) {
    run_ranks(3, [](World& world) {
        std::vector<int> mine(2, world.rank());
        std::vector<int> all(world.rank() == 2 ? 6 : 0);
        world.group().gather(mine, all, Root{2});
        EXPECT_EQ(all, world.rank() == 2 ? (std::vector<int>{0, 0, 1, 1, 2, 2}) : all);
        world.group().scatter(all, mine, Root{2});
        EXPECT_EQ(mine, std::vector<int>(2, world.rank()));
        std::vector<int> none;
        world.group().all_reduce(none);
    });
}

// What cannot run here is refused on every rank alike, and the group works on.
TEST(Algorithm, OneThatCannotRunIsRefused) {
    WorldOptions options = test_options(Transport::tcp);
    options.algorithm = "all_reduce:direct";
    run_ranks(
        2,
        [](World& world) {
            std::vector<int> ones(1000, 1);
            for (int i = 0; i < 3; ++i) {
                try {
                    world.group().all_reduce(ones);
                    ADD_FAILURE() << "not refused";
                } catch (const Error& error) {
                    EXPECT_EQ(error.code(), ErrorCode::unsupported);
                    EXPECT_THAT(error.what(), HasSubstr("all_reduce:direct"));
                }
            }
            world.group().broadcast(ones, Root{1});
        },
        options);
}

}  // namespace
}  // namespace trireme
