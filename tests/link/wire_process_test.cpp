// Wires between real processes, and what becomes of them when one dies.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "connected_ranks.h"
#include "link/shm/shm_memory.h"
#include "support/temp_dir.h"

namespace trireme::test {
namespace {

using testing::HasSubstr;

/// A child that runs `body` and ends with its result.
class Child {
public:
    explicit Child(const std::function<int()>& body) : pid_(::fork()) {
        if (pid_ == 0) ::_exit(body());
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child() {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
        }
    }
    void signal(int number) const { ::kill(pid_, number); }
    /// Its exit code, or minus the signal that killed it.
    int wait() {
        int status = 0;
        ::waitpid(pid_, &status, 0);
        pid_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }

private:
    pid_t pid_;
};

class WireProcess : public testing::TestWithParam<Transport> {
protected:
    void SetUp() override { options_.transport = GetParam(); }

    // Rank 1 of two in a child; rank 0 is this process.
    [[nodiscard]] int as_child(const std::function<int(ConnectedRank&)>& body) const {
        ConnectedRank self;
        self.connect(*file_store(folder_ / store_), 1, 2, options_, 30s);
        if (self.error) {
            std::fprintf(stderr, "child: %s\n", self.error_text().c_str());
            return 99;
        }
        return body(self);
    }
    void connect() {
        self_.connect(*file_store(folder_ / store_), 0, 2, options_, 30s);
        ASSERT_EQ(self_.error_text(), "");
    }
    [[nodiscard]] bool closes_within(std::chrono::milliseconds time) {
        return eventually(
            [&] {
                Wire& wire = self_.wire(1);
                wire.descriptor_ready();
                return wire.peek(1).empty() && wire.closed();
            },
            time);
    }

    WorldOptions options_;
    const TempDir folder_;
    std::string store_ = "store";
    ConnectedRank self_;
};

TEST_P(WireProcess, CarriesBytesBothWays) {
    constexpr std::size_t bytes = 3'000'000;
    Child child([&] {
        return as_child([](ConnectedRank& self) {
            Wire& wire = self.wire(0);
            std::vector<std::byte> data(bytes);
            std::size_t got = 0;
            for (; got < bytes; std::this_thread::yield()) {
                got += wire.read(Bytes(data).subspan(got));
            }
            std::size_t sent = 0;
            for (; sent < bytes; std::this_thread::yield()) {
                sent += wire.write({}, ConstBytes(data).subspan(sent));
            }
            // Until the other side has all of it.
            while (!wire.closed()) {
                wire.descriptor_ready();
                static_cast<void>(wire.peek(1));
            }
            return 0;
        });
    });
    ASSERT_NO_FATAL_FAILURE(connect());
    Wire& wire = self_.wire(1);
    std::vector<std::byte> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i >> 4 ^ i);
    std::vector<std::byte> back(bytes);
    std::size_t sent = 0;
    std::size_t got = 0;
    while (got < bytes) {
        if (sent < bytes) sent += wire.write({}, ConstBytes(data).subspan(sent));
        got += wire.read(Bytes(back).subspan(got));
        std::this_thread::yield();
    }
    EXPECT_EQ(back, data);
    self_.connections = {};
    EXPECT_EQ(child.wait(), 0);
}

TEST_P(WireProcess, NoticesAKilledPeer) {
    Child child([&] {
        return as_child([](ConnectedRank& self) {
            const std::byte ready{1};
            while (self.wire(0).write({&ready, 1}, {}) == 0) {
            }
            ::pause();
            return 0;
        });
    });
    ASSERT_NO_FATAL_FAILURE(connect());
    ASSERT_TRUE(eventually([&] { return !self_.wire(1).peek(1).empty(); }));
    self_.wire(1).consume(1);
    EXPECT_FALSE(self_.wire(1).closed());
    child.signal(SIGKILL);
    EXPECT_TRUE(closes_within(20s));
    if (GetParam() == Transport::shm) {
        EXPECT_THAT(self_.wire(1).close_reason(), HasSubstr("has ended"));
    }
}

// The grandchild holds copies of all of the child's sockets.
TEST_P(WireProcess, NoticesAKilledPeerWhoseChildLivesOn) {
    if (GetParam() != Transport::shm) return;  // over TCP only a heartbeat tells
    int pipe_ends[2];
    ASSERT_EQ(::pipe(pipe_ends), 0);
    Child child([&] {
        return as_child([&](ConnectedRank&) {
            const pid_t grandchild = ::fork();
            if (grandchild == 0) {
                ::pause();
                ::_exit(0);
            }
            if (::write(pipe_ends[1], &grandchild, sizeof(grandchild)) < 0) return 1;
            ::pause();
            return 0;
        });
    });
    ASSERT_NO_FATAL_FAILURE(connect());
    pid_t grandchild = -1;
    ASSERT_EQ(::read(pipe_ends[0], &grandchild, sizeof(grandchild)), sizeof(grandchild));
    child.signal(SIGKILL);
    EXPECT_TRUE(closes_within(20s));
    ::kill(grandchild, SIGKILL);
    ::close(pipe_ends[0]);
    ::close(pipe_ends[1]);
}

TEST_P(WireProcess, ReadsAndWritesThePeersMemory) {
    if (GetParam() != Transport::shm) return;
    constexpr std::size_t bytes = 3'000'000;
    Child child([&] {
        return as_child([](ConnectedRank& self) {
            Wire& wire = self.wire(0);
            std::vector<std::byte> memory(bytes, std::byte{5});
            const auto open = self.memory(0)->publish(memory);
            const ConstBytes head = std::as_bytes(std::span(&*open, 1));
            if (wire.write(head, {}) != head.size()) return 1;
            while (wire.peek(1).empty()) {
            }
            self.memory(0)->withdraw(*open);
            for (const std::byte byte : memory) {
                if (byte != std::byte{6}) return 2;
            }
            return 0;
        });
    });
    ASSERT_NO_FATAL_FAILURE(connect());
    RemoteBuffer open;
    ASSERT_TRUE(eventually([&] { return self_.wire(1).peek(1).size() >= sizeof(open); }));
    ASSERT_EQ(self_.wire(1).read(std::as_writable_bytes(std::span(&open, 1))), sizeof(open));
    std::vector<std::byte> mine(bytes);
    ASSERT_TRUE(self_.memory(1)->read(open, 0, mine));
    EXPECT_EQ(mine, std::vector<std::byte>(bytes, std::byte{5}));
    mine.assign(bytes, std::byte{6});
    ASSERT_TRUE(self_.memory(1)->write(open, 0, mine));
    EXPECT_EQ(self_.wire(1).write(ConstBytes(mine).first(1), {}), 1U);
    EXPECT_EQ(child.wait(), 0);
}

// A writer that is stopped in the middle of a write is killed, and named; one that has died is
// not waited for.
TEST_P(WireProcess, WithdrawDoesNotWaitForTheStoppedOrTheDead) {
    if (GetParam() != Transport::shm) return;
    for (const int signal : {SIGSTOP, SIGKILL}) {
        store_ = "store-" + std::to_string(signal);  // a world per store
        self_ = ConnectedRank();
        Child child([&] {
            return as_child([](ConnectedRank&) {
                ::pause();
                return 0;
            });
        });
        ASSERT_NO_FATAL_FAILURE(connect());
        std::vector<std::byte> memory(100);
        const auto open = self_.memory(1)->publish(memory);
        ASSERT_TRUE(open);
        self_.connections.inbox->region(1).leases[open->slot].busy.store(1);
        child.signal(signal);
        self_.memory(1)->withdraw(*open);
        EXPECT_TRUE(closes_within(20s));
        EXPECT_THAT(self_.wire(1).close_reason(),
                    HasSubstr(signal == SIGSTOP ? "was stopped while it wrote" : "has ended"));
        EXPECT_EQ(child.wait(), -SIGKILL);
    }
}

TEST_P(WireProcess, RunningOutOfDescriptorsIsNamed) {
    Child child([&] {
        ConnectedRank self;
        // Over shared memory there is one left for the inbox, and none for the listener.
        const int next = ::dup(self.doorbell.get());
        ::close(next);
        rlimit limit{};
        limit.rlim_cur = limit.rlim_max =
            static_cast<rlim_t>(next + (GetParam() == Transport::shm ? 1 : 0));
        ::setrlimit(RLIMIT_NOFILE, &limit);
        self.connect(*memory_store(), 0, 2, options_, 30s);
        const std::string text = self.error_text();
        std::fprintf(stderr, "%s\n", text.c_str());
        return text.find("raise it with ulimit -n") == std::string::npos ? 1 : 0;
    });
    EXPECT_EQ(child.wait(), 0);
}

INSTANTIATE_TEST_SUITE_P(Each, WireProcess, testing::Values(Transport::shm, Transport::tcp),
                         [](const auto& suite_info) {
                             return suite_info.param == Transport::shm ? "shm" : "tcp";
                         });

}  // namespace
}  // namespace trireme::test
