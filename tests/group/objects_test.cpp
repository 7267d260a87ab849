// C++ values that travel by msgpack.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/expect_error.h"
#include "support/ranks.h"
#include "trireme/object.h"

namespace trireme {
namespace {

struct Person {
    std::string name;
    int age = 0;
    std::vector<double> marks;
    MSGPACK_DEFINE(name, age, marks)
    bool operator==(const Person&) const = default;
};

using Dictionary = std::map<std::string, std::vector<int>>;

Person person(int rank) {
    return {std::string(static_cast<std::size_t>(rank) * 50'000, 'x'), rank, {0.5 * rank, -1}};
}

TEST(Objects, TravelByEveryOperation) {
    for (const int ranks : {1, 2, 5}) {
        run_ranks(ranks, [&](World& world) {
            const Group group = world.group();
            const int rank = world.rank();
            std::vector<Person> everyone;
            for (int other = 0; other < ranks; ++other) everyone.push_back(person(other));

            EXPECT_EQ(all_gather_object(group, person(rank)), everyone);
            const Root root{ranks - 1};
            EXPECT_EQ(gather_object(group, person(rank), root),
                      rank == root.rank ? everyone : std::vector<Person>{});
            EXPECT_EQ(
                scatter_object(group, rank == root.rank ? everyone : std::vector<Person>{}, root),
                person(rank));
            std::optional<Dictionary> value;
            if (rank == root.rank) value = Dictionary{{"a", {1, 2}}, {"", {}}};
            broadcast_object(group, value, root);
            EXPECT_EQ(value, (Dictionary{{"a", {1, 2}}, {"", {}}}));

            const Peer next{(rank + 1) % ranks};
            const int before = (rank + ranks - 1) % ranks;
            // Small ones are buffered, so that all may send first.
            send_object(group, "from " + std::to_string(rank), next);
            EXPECT_EQ(recv_object<std::string>(group, Peer{before}),
                      "from " + std::to_string(before));
            group.barrier();
        });
    }
}

TEST(Objects, FromAnySource) {
    run_ranks(3, [](World& world) {
        const Group group = world.group();
        if (world.rank() != 0) return send_object(group, world.rank() * 7, Peer{0});
        int sum = 0;
        for (int i = 0; i < 2; ++i) {
            const auto [value, source] = recv_object<int>(group, any_source);
            EXPECT_EQ(value, 7 * source);
            sum += value;
        }
        EXPECT_EQ(sum, 21);
    });
}

TEST(Objects, ScatterNeedsOneForEachRank) {
    run_ranks(1, [](World& world) {
        for (const std::size_t count : {0U, 2U})
            test::expect_invalid(
                [&] {
                    static_cast<void>(
                        scatter_object(world.group(), std::vector<std::string>(count), Root{0}));
                },
                {"scatter_object", std::to_string(count) + " values for 1 ranks"});
    });
}

TEST(Objects, OfAnotherTypeAreRefused) {
    run_ranks(2, [](World& world) {
        const Group group = world.group();
        if (world.rank() == 1) {
            send_object(group, std::string("text"), Peer{0});
            send_object(group, 5L, Peer{0});
            // What is no object at all.
            for (const std::uint64_t length : {3ULL, 40ULL}) {
                group.send(length, Peer{0});
                group.send(std::vector<char>(length, '\x7f'), Peer{0});
            }
            group.send(~std::uint64_t{0}, Peer{0});
            // One whose contents are cut.
            detail::ObjectBytes cut = detail::pack_object(Dictionary{{"key", {1, 2, 3}}});
            cut.pop_back();
            detail::send_bytes(group, cut, Peer{0}, default_tag, Site::current());
            return;
        }
        const auto refused = [&](auto receive, std::initializer_list<std::string> parts) {
            test::expect_error(ErrorCode::mismatch, parts, receive);
        };
        refused([&] { static_cast<void>(recv_object<int>(group, Peer{1})); },
                {"rank 1 sent", "basic_string", "expects int"});
        refused([&] { static_cast<void>(recv_object<int>(group, Peer{1})); },
                {"of type long", "expects int"});
        for (int i = 0; i < 2; ++i)
            refused([&] { static_cast<void>(recv_object<int>(group, Peer{1})); },
                    {"not a whole int", "it is no object"});
        refused([&] { static_cast<void>(recv_object<int>(group, Peer{1})); },
                {"announces an object of 18446744073709551615 bytes"});
        refused([&] { static_cast<void>(recv_object<Dictionary>(group, Peer{1})); },
                {"not a whole std::map"});
    });
}

}  // namespace
}  // namespace trireme
