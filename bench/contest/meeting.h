#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string>
#include <system_error>

namespace trireme::bench {

/// Where the ranks of a contestant meet outside of what is measured: a barrier in shared memory,
/// the same for all contestants, from which they leave together as nearly as the machine allows.
/// What rank 0 decides (how often, when to stop) is told to the others at the same place.
///
/// It moves nobody's library on, so a contestant's own barrier goes before it: after that, nothing
/// of the calls before is left under way.
class Meeting {
public:
    /// `path`: the driver's file of `size` bytes, all zero.
    Meeting(const std::string& path, int rank, int ranks) : rank_(rank), ranks_(ranks) {
        const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
        if (file < 0) throw std::system_error(errno, std::generic_category(), "open " + path);
        void* map = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        ::close(file);
        if (map == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
        board_ = static_cast<Board*>(map);
        // A rank that waits beside ranks which have no core must let them have its own.
        yields_ = ranks > static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
    }
    Meeting(const Meeting&) = delete;
    Meeting& operator=(const Meeting&) = delete;
    ~Meeting() { ::munmap(board_, size); }

    /// Returns when all ranks have called it, with the value that rank 0 gave.
    std::int64_t align(std::int64_t decision = 0) {
        // Two words in turn: a rank may still read the last one when rank 0 writes the next.
        std::atomic<std::int64_t>& word = board_->decision[++rounds_ % 2].value;
        if (rank_ == 0) word.store(decision, std::memory_order_relaxed);
        const std::uint64_t all = rounds_ * static_cast<std::uint64_t>(ranks_);
        board_->arrived.value.fetch_add(1, std::memory_order_acq_rel);
        for (int spins = 0; board_->arrived.value.load(std::memory_order_acquire) < all; ++spins) {
            if (yields_ || spins > patience)
                ::sched_yield();
            else
                __builtin_ia32_pause();
        }
        return word.load(std::memory_order_relaxed);
    }

    static constexpr std::size_t size = 4096;

private:
    static constexpr int patience = 10'000;  // then a stranger has taken some rank's core

    template <class T>
    struct alignas(128) Line {
        std::atomic<T> value;
    };
    struct Board {
        Line<std::uint64_t> arrived;
        std::array<Line<std::int64_t>, 2> decision;
    };
    static_assert(sizeof(Board) <= size);

    Board* board_ = nullptr;
    int rank_, ranks_;
    bool yields_ = false;
    std::uint64_t rounds_ = 0;
};

}  // namespace trireme::bench
