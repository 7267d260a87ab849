#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "link/shm/layout.h"
#include "link/traffic.h"

/// What lies where in a board: the memory in which a rank shows what it does.
///
/// The owner writes; ranks of the same host, and tools, read whenever they like, without the owner
/// taking part: it may hang, be stopped or be dead. So whatever is longer than a word carries a
/// version, odd while it is being written, and a reader tries again when it has changed meanwhile.
/// All words are stored with release and loaded with acquire, which costs nothing on x86 and needs
/// no fence.
namespace trireme::board {

inline constexpr std::uint64_t magic = 0x6472'616f'6269'7254;  // "Triboard"
inline constexpr std::uint32_t layout_version = 3;

/// So many operations are remembered: the flight recorder.
inline constexpr std::size_t slots = 4096;
inline constexpr std::size_t most_waits = 62;
inline constexpr std::size_t most_names = 1024;
inline constexpr std::size_t name_bytes = 64;
inline constexpr std::size_t most_groups = 256;
/// Peers whose traffic is counted one by one; the last stands for all further ones.
inline constexpr std::size_t traffic_peers = 1024;

/// Something of several words that is read while it may be written.
template <class T>
class Shown {
    static_assert(sizeof(T) % sizeof(std::uint64_t) == 0);
    static_assert(std::is_trivially_copyable_v<T>);
    static constexpr std::size_t words = sizeof(T) / sizeof(std::uint64_t);

public:
    /// By one thread at a time, the owner's.
    void write(const T& value) noexcept {
        std::array<std::uint64_t, words> plain;
        std::memcpy(plain.data(), &value, sizeof(T));
        const std::uint64_t version = version_.load(std::memory_order_relaxed);
        version_.store(version + 1, std::memory_order_release);
        for (std::size_t i = 0; i < words; ++i)
            words_[i].store(plain[i], std::memory_order_release);
        version_.store(version + 2, std::memory_order_release);
    }

    /// False where the owner was always writing; one that died in the middle is.
    [[nodiscard]] bool read(T& value) const noexcept {
        constexpr int tries = 100;
        for (int i = 0; i < tries; ++i) {
            const std::uint64_t version = version_.load(std::memory_order_acquire);
            std::array<std::uint64_t, words> plain;
            for (std::size_t word = 0; word < words; ++word)
                plain[word] = words_[word].load(std::memory_order_acquire);
            if (version % 2 != 0 || version_.load(std::memory_order_acquire) != version) continue;
            std::memcpy(static_cast<void*>(&value), plain.data(), sizeof(T));
            return true;
        }
        return false;
    }

private:
    std::atomic<std::uint64_t> version_;
    std::array<std::atomic<std::uint64_t>, words> words_;
};

/// One operation. Names are numbers in the table of names; times are of the steady clock.
struct Entry {
    std::uint64_t number = 0;  ///< of all that this rank did, from 1
    std::int64_t begun = 0;
    std::uint64_t sequence = 0;
    std::uint64_t count = 0;
    std::uint32_t stream = 0;
    std::uint32_t line = 0;
    std::int32_t peer = -1;
    std::int32_t tag = 0;
    std::uint32_t group : 10 = 0;
    std::uint32_t file : 10 = 0;
    std::uint32_t algorithm : 10 = 0;
    std::uint32_t user : 10 = 0;  ///< the name of a user's reduce op
    std::uint32_t kind : 6 = 0;
    std::uint32_t dtype : 6 = 0;
    std::uint32_t reduce : 6 = 0;
    std::uint32_t uneven : 1 = 0;
    std::uint32_t joined : 1 = 0;
    std::uint32_t blocking : 1 = 0;  ///< the thread that called waits in it
    std::int64_t ended = 0;          ///< 0 while it is under way; negative where it has failed
};
inline constexpr std::uint32_t name_bits = (1U << 10U) - 1;
static_assert(most_names == name_bits + 1);

/// An entry that is read while it may be written, in a single cache line: one is written for each
/// call. Its number is its version, 0 while it is being written.
class alignas(64) Slot {
    static constexpr std::size_t words = sizeof(Entry) / sizeof(std::uint64_t);
    static_assert(sizeof(Entry) == 64 && offsetof(Entry, number) == 0 &&
                  offsetof(Entry, begun) == 8 && offsetof(Entry, sequence) == 16 &&
                  offsetof(Entry, ended) == 56);

public:
    /// By one thread at a time, the owner's. What differs from an entry to the next like it is
    /// given apart: it would have to be put into a copy before, and be waited for there.
    void write(const Entry& like, std::uint64_t number, std::int64_t begun,
               std::uint64_t sequence) noexcept {
        words_[0].store(0, std::memory_order_release);
        words_[1].store(static_cast<std::uint64_t>(begun), std::memory_order_release);
        words_[2].store(sequence, std::memory_order_release);
        for (std::size_t i = 3; i < words; ++i) {
            std::uint64_t word;
            std::memcpy(&word, reinterpret_cast<const std::byte*>(&like) + i * sizeof(word),
                        sizeof(word));
            words_[i].store(word, std::memory_order_release);
        }
        words_[0].store(number, std::memory_order_release);
    }

    /// Its end alone, which nobody can see half written.
    void write_end(std::int64_t time) noexcept {
        words_.back().store(static_cast<std::uint64_t>(time), std::memory_order_release);
    }

    /// False where another one is there by now, or being written.
    [[nodiscard]] bool read(std::uint64_t number, Entry& entry) const noexcept {
        std::array<std::uint64_t, words> plain;
        for (std::size_t word = 0; word < words; ++word)
            plain[word] = words_[word].load(std::memory_order_acquire);
        if (plain[0] != number || words_[0].load(std::memory_order_acquire) != number) return false;
        std::memcpy(static_cast<void*>(&entry), plain.data(), sizeof(Entry));
        return true;
    }

private:
    std::array<std::atomic<std::uint64_t>, words> words_;
};

/// How an operation waits: one of the ranks is enough; it may end though no rank makes a call.
inline constexpr std::uint32_t wait_for_any = 1;
inline constexpr std::uint32_t wait_may_end = 2;

/// That the operation of this number needs something of this world rank to go on.
struct Wait {
    std::uint64_t number = 0;
    std::int32_t rank = -1;
    std::uint32_t how = 0;  ///< of the above, or 0
};

struct Waits {
    std::uint64_t count = 0;
    std::int64_t since = 0;  ///< when this was found
    std::array<Wait, most_waits> waits{};
};

/// What a rank waits for outside of operations, such as the making of a group.
struct Errand {
    std::int64_t since = 0;        ///< 0: for nothing
    std::array<char, 248> text{};  ///< ends with a 0
};

/// A circle of ranks that wait for one another, each in the operation of that number of its own:
/// this rank has found it, and gives up. The others of the circle cannot see it any more.
struct Circle {
    static constexpr std::size_t most = 64;
    struct Member {
        std::int64_t rank = -1;
        std::uint64_t number = 0;  ///< of the operation, as this rank counts
        [[nodiscard]] bool operator==(const Member&) const = default;
    };
    std::uint64_t count = 0;
    std::array<Member, most> members{};
    std::array<char, 4096> text{};  ///< ends with a 0
};

/// A group that this rank is a member of.
struct Membership {
    std::uint32_t stream = 0;  ///< 0: none
    std::uint32_t name = 0;
    std::int32_t rank = -1;  ///< its own in the group
    std::int32_t size = 0;
};

struct Board {
    std::uint64_t magic = 0;
    std::uint32_t version = 0;
    std::int32_t rank = -1;
    std::int32_t pid = 0;
    std::int32_t size = 0;               ///< of the world
    shm::Token token{};                  ///< all 0 until the rank has joined the world
    std::int64_t made = 0;               ///< when
    std::array<char, name_bytes> job{};  ///< the launcher's id; ends with a 0
    std::atomic<std::uint64_t> begun;    ///< how many operations have begun
    std::atomic<std::uint32_t> names;    ///< how many are in use
    /// Not 0: another thread than the one that waits may make calls, or a callback.
    std::atomic<std::uint32_t> other_callers;
    /// The last collective that began on a group's stream, at the place `stream % size`: stream in
    /// the upper half, its number in the lower.
    std::array<std::atomic<std::uint64_t>, 256> progress;
    std::array<Shown<Membership>, most_groups> groups;
    Shown<Waits> waits;
    Shown<Circle> circle;
    Shown<Errand> errand;
    alignas(shm::apart) std::array<Traffic, traffic_peers> traffic;  ///< by world rank
    alignas(shm::apart) std::array<Slot, slots> ring;                ///< by number
    /// Beside each entry: its number where a thread waits in it, though it was only started.
    std::array<std::atomic<std::uint64_t>, slots> awaited;
    std::array<std::array<char, name_bytes>, most_names> name;  ///< each ends with a 0
};

}  // namespace trireme::board
