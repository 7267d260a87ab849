// Short calls, for callgrind to count the instructions of: see scripts/instructions.
//
// Two ranks of one process, both driven by this thread, so that no count depends on who is faster:
// before each counted call the other rank has made its own, without waiting for it, so all that the
// counted one needs is there and it never polls.

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include "trireme/trireme.h"

namespace {

using trireme::Group;
using trireme::Peer;
using trireme::Work;
using trireme::World;

constexpr int calls = 100;

using Pair = std::array<float, 2>;

// What is counted: callgrind counts between their beginning and their end. One for each operation,
// by whose name it is known.
[[gnu::noinline]] void counted_all_reduce(const Group& group, Pair& data) {
    group.all_reduce(data);
    asm volatile("" ::: "memory");  // or else the call would be the function's last jump
}
[[gnu::noinline]] void counted_send(const Group& group, const Pair& data) {
    group.send(data, Peer{1});
    asm volatile("" ::: "memory");
}
[[gnu::noinline]] void counted_recv(const Group& group, Pair& data) {
    group.recv(data, Peer{1});
    asm volatile("" ::: "memory");
}

int refuse(const char* what) {
    std::fprintf(stderr, "trireme-instructions: %s\n", what);
    return EXIT_FAILURE;
}

bool all_reduce(const Group& counted, const Group& other) {
    for (int i = 0; i < calls; ++i) {
        Pair ours{1, 2};
        Pair theirs{10, 20};
        Work work = other.all_reduce_async(theirs);
        counted_all_reduce(counted, ours);
        work.wait();
        if (ours != Pair{11, 22} || theirs != ours) return false;
    }
    return true;
}

bool send(const Group& counted, const Group& other) {
    for (int i = 0; i < calls; ++i) {
        const Pair ours{1, 2};
        Pair theirs{};
        counted_send(counted, ours);
        other.recv(theirs, Peer{0});
        if (theirs != ours) return false;
    }
    return true;
}

bool receive(const Group& counted, const Group& other) {
    for (int i = 0; i < calls; ++i) {
        Pair ours{};
        const Pair theirs{1, 2};
        other.send(theirs, Peer{0});
        counted_recv(counted, ours);
        if (theirs != ours) return false;
    }
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return refuse("needs an operation: all_reduce, send or recv");
    const std::string_view operation = argv[1];
    std::array<char, 64> folder{"/tmp/trireme-instructions-XXXXXX"};
    if (::mkdtemp(folder.data()) == nullptr) return refuse("cannot make a folder in /tmp");
    const std::string store = std::string("file://") + folder.data() + "/store";

    bool right = false;
    {
        std::optional<World> theirs;
        std::thread joining([&] { theirs = World::connect(store, 1, 2); });
        const World ours = World::connect(store, 0, 2);
        joining.join();
        if (operation == "all_reduce") right = all_reduce(ours.group(), theirs->group());
        if (operation == "send") right = send(ours.group(), theirs->group());
        if (operation == "recv") right = receive(ours.group(), theirs->group());
    }
    std::filesystem::remove_all(folder.data());
    return right ? EXIT_SUCCESS : refuse("a wrong result, or no such operation");
}
