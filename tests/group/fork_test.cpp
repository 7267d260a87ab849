// A process that forks: the child cannot use the parent's groups, and does not harm them.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "support/ranks.h"
#include "support/temp_dir.h"

namespace trireme {
namespace {

// The sanitizers of GCC 12 do not make their allocator usable in the child of a process with
// threads, as the C library does with its own.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool child_can_allocate = false;
#else
constexpr bool child_can_allocate = true;
#endif

// Forks, runs `body` in the child, and returns the child's wait status.
int in_child(const std::function<void()>& body) {
    const pid_t child = ::fork();
    if (child == 0) {
        body();
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
}

// Ranks are processes here: rank 1 is forked off before either makes its world.
void on_two_processes(const std::function<void(const World&)>& body) {
    const test::TempDir folder;  // not a store that needs a thread: see in_child
    const auto run = [&](int rank) {
        const World world = World::create(file_store(folder / "store"), rank, 2, test_options());
        body(world);
    };
    const pid_t child = ::fork();
    if (child == 0) {
        try {
            run(1);
        } catch (...) {
            ::_exit(1);
        }
        ::_exit(testing::Test::HasFailure() ? 1 : 0);
    }
    run(0);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
}

void sum_once(const Group& group) {
    std::vector<int> data(1000, group.rank() + 1);
    group.all_reduce(data);
    EXPECT_EQ(data, std::vector<int>(1000, 3));
}

TEST(Cases, C22_AChildThatEndsLeavesTheParentsGroupsWhole) {
    on_two_processes([](const World& world) {
        sum_once(world.group());
        EXPECT_EQ(in_child([] {}), 0);
        EXPECT_EQ(in_child([] { ::kill(::getpid(), SIGKILL); }), SIGKILL);
        for (int i = 0; i < 100; ++i) sum_once(world.group());
    });
}

TEST(Cases, C22_AChildThatDestroysItsCopyOfTheWorldLeavesTheParentsWhole) {
    if (!child_can_allocate) GTEST_SKIP() << "the child frees memory";
    on_two_processes([](const World& world) {
        sum_once(world.group());
        World* copy = new World(world);
        const int status = in_child([&] {
            // The last handle in the child, as far as it can see: the outer one is never destroyed.
            delete copy;
            const_cast<World&>(world).~World();
        });
        EXPECT_EQ(status, 0);
        delete copy;
        for (int i = 0; i < 100; ++i) sum_once(world.group());
    });
}

TEST(Cases, C22_AChildCannotUseTheGroup) {
    if (!child_can_allocate) GTEST_SKIP() << "the child makes an exception";
    on_two_processes([](const World& world) {
        const int status = in_child([&] {
            int data = 1;
            try {
                world.group().all_reduce(data);
            } catch (const Error& error) {
                ::_exit(std::string(error.what()).find("after fork") != std::string::npos ? 7 : 8);
            }
        });
        EXPECT_EQ(WEXITSTATUS(status), 7);
        sum_once(world.group());
    });
}

TEST(Cases, C22_AChildCannotUseTheWorld) {
    if (!child_can_allocate) GTEST_SKIP() << "the child makes an exception";
    on_two_processes([](const World& world) {
        const std::function<void()> uses[] = {
            [&] { static_cast<void>(world.shrink()); },
            [&] { world.abort("the child"); },
            [&] { static_cast<void>(world.group({0, 1})); },
        };
        for (const auto& use : uses) {
            const int status = in_child([&] {
                try {
                    use();
                } catch (const Error& error) {
                    const std::string text = error.what();
                    ::_exit(text.find("after fork") != std::string::npos ? 7 : 8);
                }
            });
            EXPECT_EQ(WEXITSTATUS(status), 7);
        }
        sum_once(world.group());
        sum_once(world.shrink().group());
    });
}

}  // namespace
}  // namespace trireme
