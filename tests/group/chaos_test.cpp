// Eight ranks run random operations while one of them is killed, stopped, delayed, cut off, or ends
// itself. The others must name it, all of them, and nothing may be left. Then anew: 18 times, or
// TRIREME_TEST_EVENTS; TRIREME_TEST_SEED repeats a run.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/unique_fd.h"
#include "support/processes.h"
#include "support/ranks.h"
#include "support/temp_dir.h"

namespace trireme {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Random = std::mt19937;
using test::Processes;

constexpr int size = 8;

enum class Event { kill, stop, delay, cut, exit, exception };
constexpr std::array names{"kill", "stop", "delay", "cut", "exit", "exception"};

int from_environment(const char* name, int otherwise) {
    const char* const text = std::getenv(name);
    return text != nullptr ? std::atoi(text) : otherwise;
}

// --- A rank -------------------------------------------------------------------------------------

volatile std::sig_atomic_t told = 0;

// The same on every rank that takes part: `random` is.
void random_operation(const Group& group, Random& random) {
    const int n = group.size();
    const auto count = static_cast<std::size_t>(1) << random() % 17;
    const int root = static_cast<int>(random() % static_cast<unsigned>(n));
    const auto expect = [&](const std::vector<int>& values, auto right) {
        for (std::size_t i = 0; i < values.size(); ++i)
            if (values[i] != right(i)) throw std::logic_error("a wrong value");
    };
    std::vector<int> own(count, group.rank());
    std::vector<int> all(count * static_cast<std::size_t>(n));
    switch (random() % 6) {
        case 0:
            group.all_reduce(own);
            return expect(own, [&](std::size_t) { return n * (n - 1) / 2; });
        case 1:
            group.all_gather(own, all);
            return expect(all, [&](std::size_t i) { return static_cast<int>(i / count); });
        case 2:
            group.broadcast(own, Root{root});
            return expect(own, [&](std::size_t) { return root; });
        case 3: {
            for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i / count);
            std::vector<int> from(all.size());
            group.all_to_all(all, from);
            return expect(from, [&](std::size_t) { return group.rank(); });
        }
        case 4: {
            std::vector<int> from(count);
            Work receive = group.recv_async(from, Peer{(group.rank() + n - 1) % n});
            group.send(own, Peer{(group.rank() + 1) % n});
            receive.wait();
            return expect(from, [&](std::size_t) { return (group.rank() + n - 1) % n; });
        }
        default: group.barrier();
    }
}

void use(const World& world, unsigned seed, const std::string& enough) {
    const Group half = world.group().blocks_of(size / 2);
    Random random(seed);
    for (int round = 0;; ++round) {
        // Not _exit, at which the thread sanitizer looks for threads that nobody joined.
        if (told == 1) std::quick_exit(7);
        if (told == 2) throw std::runtime_error("something that was not expected");
        random_operation(random() % 3 == 0 ? half.with(3s) : world.group().with(3s), random);
        if (round % 10 != 0) continue;
        int stop = world.rank() == 0 && std::filesystem::exists(enough) ? 1 : 0;
        world.group().with(3s).broadcast(stop, Root{0});
        if (stop == 1) return;
    }
}

// Writes what became of it into `report`: the error's code, when, whom it names, and its text.
int run_rank(const World& world, unsigned seed, const std::string& enough,
             const std::string& report) {
    const auto write = [&](const std::string& code, const std::vector<int>& ranks,
                           const std::string& text) {
        std::ofstream out(report + ".part");
        out << code << ' ' << Clock::now().time_since_epoch().count() << ' ' << ranks.size();
        for (const int rank : ranks) out << ' ' << rank;
        out << ' ' << text << '\n';
        out.close();
        std::filesystem::rename(report + ".part", report);
    };
    try {
        use(world, seed, enough);
        write("none", {}, "");
    } catch (const Error& error) {
        write(name(error.code()), error.ranks(), error.what());
    }
    return 0;
}

// As a main function: an exception ends the process.
[[gnu::noinline]] int without_handler(const std::function<int()>& main) noexcept { return main(); }

// --- What happens to it -------------------------------------------------------------------------

// Shuts all TCP connections of a process while it is stopped: for it and for its peers, all of them
// are cut at once.
bool cut_off(pid_t pid) {
    ::kill(pid, SIGSTOP);
    const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    int cut = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd")) {
        const int number = std::stoi(entry.path().filename());
        const UniqueFd socket(
            static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), number, 0)));
        int family = 0;
        int connected = 0;
        socklen_t bytes = sizeof(family);
        sockaddr_storage peer{};
        socklen_t peer_bytes = sizeof(peer);
        if (!socket || ::getsockopt(socket.get(), SOL_SOCKET, SO_DOMAIN, &family, &bytes) != 0 ||
            (family != AF_INET && family != AF_INET6))
            continue;
        connected = ::getpeername(socket.get(), reinterpret_cast<sockaddr*>(&peer), &peer_bytes);
        if (connected == 0 && ::shutdown(socket.get(), SHUT_RDWR) == 0) ++cut;
    }
    ::kill(pid, SIGCONT);
    return cut > 0;
}

struct Report {
    std::string code;
    Clock::duration when{};
    std::vector<int> ranks;
    std::string text;
};

class Round {
public:
    Round(Event event, Random& random)
        : event_(event),
          victim_(static_cast<int>(random() % size)),
          transport_(event == Event::cut || random() % 2 == 0 ? Transport::tcp : Transport::shm),
          pause_(random() % 80),
          seed_(random()) {}

    [[nodiscard]] std::string describe() const {
        return std::string(names[static_cast<std::size_t>(event_)]) + " of rank " +
               std::to_string(victim_) + " over " + (transport_ == Transport::tcp ? "tcp" : "shm") +
               ", seed " + std::to_string(seed_);
    }

    /// How long it took until the last rank knew.
    Clock::duration run() {
        Processes ranks(size, [this](int rank) {
            const rlimit no_core{0, 0};
            ::setrlimit(RLIMIT_CORE, &no_core);
            std::signal(SIGUSR1, [](int) { told = 1; });
            std::signal(SIGUSR2, [](int) { told = 2; });
            return without_handler([&] {
                World world = World::create(file_store(folder_ / "store"), rank, size,
                                            test_options(transport_));
                world.group().barrier();
                std::ofstream(folder_ / ("ready" + std::to_string(rank))).put('\n');
                return run_rank(world, seed_, folder_ / "enough", report_of(rank));
            });
        });
        for (int rank = 0; rank < size; ++rank) await(folder_ / ("ready" + std::to_string(rank)));
        std::this_thread::sleep_for(std::chrono::milliseconds(pause_));
        const auto start = Clock::now().time_since_epoch();
        strike(ranks);
        const int end = expect_reports(start, ranks);
        check_victim(ranks, end);
        return longest_;
    }

private:
    [[nodiscard]] std::string report_of(int rank) const {
        return folder_ / ("report" + std::to_string(rank));
    }

    static void await(const std::string& file) {
        const auto end = Clock::now() + 60s;
        while (!std::filesystem::exists(file)) {
            if (Clock::now() > end) throw std::runtime_error(file + " does not come");
            std::this_thread::sleep_for(2ms);
        }
    }

    void strike(const Processes& ranks) const {
        switch (event_) {
            case Event::kill: return ranks.signal(victim_, SIGKILL);
            case Event::stop: return ranks.signal(victim_, SIGSTOP);
            case Event::exit: return ranks.signal(victim_, SIGUSR1);
            case Event::exception: return ranks.signal(victim_, SIGUSR2);
            case Event::cut: EXPECT_TRUE(cut_off(ranks.pid(victim_))); return;
            case Event::delay:
                ranks.signal(victim_, SIGSTOP);
                std::this_thread::sleep_for(std::chrono::milliseconds(100 + pause_ * 5));
                ranks.signal(victim_, SIGCONT);
                std::ofstream(folder_ / "enough").put('\n');
        }
    }

    // Returns how many survivors were right.
    int expect_reports(Clock::duration start, Processes& ranks) {
        int right = 0;
        for (int rank = 0; rank < size; ++rank) {
            if (rank == victim_ && event_ != Event::delay) continue;
            await(report_of(rank));
            EXPECT_EQ(ranks.wait(rank), 0) << rank;
            const Report report = read(rank);
            longest_ = std::max(longest_, report.when - start);
            const bool named = event_ == Event::delay ? report.code == "none" : is_right(report);
            EXPECT_TRUE(named) << "rank " << rank << " says " << report.code << ": " << report.text;
            right += named ? 1 : 0;
        }
        return right;
    }

    [[nodiscard]] bool is_right(const Report& report) const {
        const auto says = [&](const char* text) {
            return report.text.find(text) != report.text.npos;
        };
        if (report.ranks != std::vector{victim_}) return false;
        switch (event_) {
            // In half of the world a rank may hear it from one that has left for that reason.
            case Event::stop: return says("is stopped by a signal");
            // Whether the stack is unwound first, and the World destroyed, is the compiler's
            // choice.
            case Event::exception:
                return report.code == "peer_lost" && (says("not expected") || says("an exception"));
            default: return report.code == "peer_lost";
        }
    }

    [[nodiscard]] Report read(int rank) const {
        std::ifstream in(report_of(rank));
        Report report;
        Clock::duration::rep when = 0;
        std::size_t count = 0;
        in >> report.code >> when >> count;
        report.when = Clock::duration(when);
        report.ranks.resize(std::min<std::size_t>(count, size));
        for (int& one : report.ranks) in >> one;
        std::getline(in, report.text);
        return report;
    }

    void check_victim(Processes& ranks, int right) const {
        if (event_ == Event::stop) ranks.signal(victim_, SIGKILL);
        if (event_ == Event::delay) return;
        const std::map<Event, int> ends{{Event::kill, -SIGKILL},
                                        {Event::stop, -SIGKILL},
                                        {Event::cut, 0},
                                        {Event::exit, 7},
                                        {Event::exception, -SIGABRT}};
        EXPECT_EQ(ranks.wait(victim_), ends.at(event_)) << right;
    }

    Event event_;
    int victim_;
    Transport transport_;
    unsigned pause_;
    unsigned seed_;
    Clock::duration longest_{};
    test::TempDir folder_;
};

std::size_t entries(const char* folder) {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder),
                                                  std::filesystem::directory_iterator()));
}

TEST(Chaos, EverySurvivorNamesTheRightRank) {
    const int events = from_environment("TRIREME_TEST_EVENTS", 18);
    const auto seed =
        static_cast<unsigned>(from_environment("TRIREME_TEST_SEED", static_cast<int>(::getpid())));
    std::cout << "TRIREME_TEST_SEED=" << seed << '\n';
    Random random(seed);
    const std::size_t descriptors = entries("/proc/self/fd");
    const std::size_t shared = entries("/dev/shm");
    std::map<Event, std::pair<int, Clock::duration>> longest;
    for (int i = 0; i < events && !HasFailure(); ++i) {
        const auto event = static_cast<Event>(i % static_cast<int>(names.size()));
        Round round(event, random);
        SCOPED_TRACE(round.describe());
        auto& [count, time] = longest[event];
        ++count;
        time = std::max(time, round.run());
        EXPECT_EQ(entries("/proc/self/fd"), descriptors);
        EXPECT_LE(entries("/dev/shm"), shared);  // other processes may end meanwhile
    }
    for (const auto& [event, result] : longest)
        std::printf("%-10s %3d times; the last rank knew after %.2f s at most\n",
                    names[static_cast<std::size_t>(event)], result.first,
                    std::chrono::duration<double>(result.second).count());
}

}  // namespace
}  // namespace trireme
