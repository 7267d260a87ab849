// Meshes: the ranks of a world as a box.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "support/expect_error.h"
#include "support/ranks.h"

namespace trireme {
namespace {

using test::expect_invalid;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Mesh, TwoByTwoByTwo) {
    run_ranks(8, [](World& world) {
        const Mesh mesh = world.mesh({{"dp", 2}, {"pp", 2}, {"tp", 2}});
        const int rank = world.rank();
        const int d = rank / 4;
        const int p = rank / 2 % 2;
        const int t = rank % 2;
        EXPECT_EQ(mesh.coordinate("dp"), d);
        EXPECT_EQ(mesh.coordinate("pp"), p);
        EXPECT_EQ(mesh.coordinate("tp"), t);
        EXPECT_EQ(mesh.size("pp"), 2);
        ASSERT_EQ(mesh.axes().size(), 3U);
        EXPECT_EQ(mesh.axes()[1].name, "pp");
        EXPECT_EQ(mesh.rank_at(std::array{d, p, t}), rank);
        EXPECT_EQ(mesh.rank_at(std::array{1, 0, 1}), 5);

        EXPECT_THAT(mesh.group("tp").ranks(), ElementsAre(4 * d + 2 * p, 4 * d + 2 * p + 1));
        EXPECT_THAT(mesh.group("pp").ranks(), ElementsAre(4 * d + t, 4 * d + t + 2));
        EXPECT_THAT(mesh.group("dp").ranks(), ElementsAre(2 * p + t, 2 * p + t + 4));
        const int plane = 2 * p;
        EXPECT_THAT(mesh.group({"dp", "tp"}).ranks(),
                    ElementsAre(plane, plane + 1, plane + 4, plane + 5));
        EXPECT_THAT(mesh.group({"tp", "dp"}).ranks(),
                    ElementsAre(plane, plane + 1, plane + 4, plane + 5));
        EXPECT_EQ(mesh.group({"dp", "pp", "tp"}).size(), 8);
        EXPECT_THAT(mesh.group(std::initializer_list<std::string_view>{}).ranks(),
                    ElementsAre(rank));

        int value = rank;
        mesh.group("tp").all_reduce(value);  // 2(4d + 2p) + 1
        EXPECT_EQ(value, 8 * d + 4 * p + 1);
        value = rank;
        mesh.group("dp").all_reduce(value);  // 2(2p + t) + 4
        EXPECT_EQ(value, 4 * p + 2 * t + 4);
    });
}

TEST(Mesh, GroupsAreMadeOnceAndOnlyByTheirMembers) {
    run_ranks(4, [](World& world) {
        const Mesh mesh = world.mesh({{"dp", 2}, {"tp", 2}});
        // Ranks 0 and 1 alone ask for theirs.
        if (world.rank() >= 2) return world.group().barrier();
        const Group first = mesh.group("tp");
        const Group again = mesh.group({"tp"});
        auto work = first.barrier_async();
        again.barrier();  // the second operation of the same group
        work.wait();
        EXPECT_EQ(first.name(), "tp");
        world.group().barrier();
    });
}

TEST(Mesh, AxesOfOneRank) {
    run_ranks(2, [](World& world) {
        const Mesh mesh = world.mesh({{"dp", 1}, {"pp", 2}, {"tp", 1}});
        EXPECT_EQ(mesh.coordinate("dp"), 0);
        EXPECT_EQ(mesh.coordinate("pp"), world.rank());
        EXPECT_THAT(mesh.group("tp").ranks(), ElementsAre(world.rank()));
        EXPECT_THAT(mesh.group("pp").ranks(), ElementsAre(0, 1));
        mesh.group("dp").barrier();
        mesh.group("pp").barrier();
    });
}

TEST(Mesh, MistakesAreRefusedWithTheNumbers) {
    run_ranks(4, [](World& world) {
        const auto make = [&](const std::vector<Axis>& axes) {
            return [&world, axes] { static_cast<void>(world.mesh(axes)); };
        };
        expect_invalid(make({{"dp", 2}, {"tp", 3}}), {"dp=2", "tp=3", "has 6 ranks", "has 4"});
        expect_invalid(make({}), {"has 1 ranks", "has 4"});
        expect_invalid(make({{"dp", 4}, {"tp", 0}}), {"at least one rank"});
        expect_invalid(make({{"dp", -4}, {"tp", -1}}), {"at least one rank"});
        expect_invalid(make({{"", 4}}), {"needs a name"});
        expect_invalid(make({{"x", 2}, {"x", 2}}), {"two axes are named \"x\""});
        expect_invalid(make({{"a", 1 << 30}, {"b", 1 << 30}, {"c", 1 << 30}}), {"has 4"});

        const Mesh mesh = world.mesh({{"dp", 2}, {"tp", 2}});
        expect_invalid([&] { static_cast<void>(mesh.size("pp")); },
                       {"no axis \"pp\"", "dp=2, tp=2"});
        expect_invalid([&] { static_cast<void>(mesh.group("pp")); }, {"no axis \"pp\""});
        expect_invalid([&] { static_cast<void>(mesh.group({"tp", "tp"})); }, {"twice"});
        expect_invalid([&] { static_cast<void>(mesh.rank_at(std::array{0, 2})); }, {"[0, 2]"});
        expect_invalid([&] { static_cast<void>(mesh.rank_at(std::array{0})); }, {"[0]"});
    });
}

}  // namespace
}  // namespace trireme
