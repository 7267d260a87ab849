#pragma once

namespace trireme::schedule {

/// Pairwise exchange: everyone has something for everyone, and it goes there directly.
///
/// In step s every rank sends to the rank s after it and receives from the rank s before it. In
/// each step every rank is sent to exactly once, so nobody is swamped while others wait.
///
/// All-to-all sends in each step the block meant for that peer. Reduce-scatter does so too, and
/// reduces what it receives into the own block; compared with the ring a block makes one hop
/// instead of size - 1, and needs all pairs of ranks to be connected.
struct Pairwise {
    int rank = 0;
    int size = 1;

    /// Steps are numbered from one to this: step 0 would be the exchange with oneself.
    [[nodiscard]] constexpr int last_step() const noexcept { return size - 1; }

    [[nodiscard]] constexpr int send_to(int step) const noexcept {
        return rank < size - step ? rank + step : rank + step - size;
    }

    [[nodiscard]] constexpr int receive_from(int step) const noexcept {
        return rank >= step ? rank - step : rank - step + size;
    }
};

}  // namespace trireme::schedule
