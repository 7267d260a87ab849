#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <queue>
#include <vector>

#include "core/engine.h"
#include "link/link.h"
#include "link/sim/cost_model.h"
#include "link/sim/sim_packet.h"
#include "link/sim/sim_rank.h"

namespace trireme {

/// A world of virtual ranks in one process, and its virtual time: what the links between them write
/// becomes packets, and each packet an event.
///
/// **Time.** A rank has a clock of its own: what its processor has done so far. A packet leaves
/// when the processor has made it and the outgoing port is free, occupies the port for its length,
/// and arrives a latency later, at an incoming port which it occupies as long; then the receiving
/// processor takes it. Events are handled in the order in which packets reach their receiver. That
/// order is also that of the port, so one event does for both: the receiver's clock is set to when
/// the port is done, and nothing else can reach that rank before.
///
/// Links are made in pairs when a rank first uses one. They are not polled: only what has arrived
/// is looked at. One thread only; the engine's mutex is not taken.
class SimNetwork final : private LinkListener {
public:
    /// Ranks are placed on hosts in blocks, as evenly as it goes. With `phantom`, payloads are only
    /// lengths. More than `most_links` links are refused: `Error` from `link`.
    SimNetwork(int ranks, int hosts, const CostModel& costs, bool phantom, std::size_t most_links);
    SimNetwork(const SimNetwork&) = delete;
    SimNetwork& operator=(const SimNetwork&) = delete;
    ~SimNetwork();

    [[nodiscard]] Engine& engine() noexcept { return engine_; }
    [[nodiscard]] bool phantom() const noexcept { return phantom_; }
    [[nodiscard]] int size() const noexcept { return static_cast<int>(ranks_.size()); }
    [[nodiscard]] const SimRank& rank(int rank) const noexcept {
        return ranks_[static_cast<std::size_t>(rank)];
    }
    [[nodiscard]] std::size_t links() const noexcept { return links_; }

    /// The end of `rank` of the link to `peer`.
    [[nodiscard]] Link& link(int rank, int peer);

    /// What runs from here on, until `deliver_all`, runs on `rank`.
    void enter(int rank) noexcept { current_ = &ranks_[static_cast<std::size_t>(rank)]; }

    /// The processor of the rank that runs combines so many bytes.
    void charge_reduction(std::size_t bytes) noexcept {
        current_->now += sim_duration(bytes, costs_.reduce_gigabytes_per_second);
    }

    /// The processor of the rank that runs moves so many bytes to or from the memory of another.
    void charge_access(std::size_t bytes) noexcept;

    /// Delivers packets, and lets the ranks go on with them, until there are none, or `stop`.
    void deliver_all();
    void stop() noexcept { stopped_ = true; }
    [[nodiscard]] bool stopped() const noexcept { return stopped_; }

    /// Ends everything that waits for a message.
    void fail(const std::exception_ptr& error);

    /// From a wire.
    void send(SimEnd& from, SimEnd& to, ConstBytes head, ConstBytes body, int depth);

private:
    struct Event {
        SimTime time;
        std::uint64_t number;  // of two at the same time the one that was sent first
        std::uint32_t packet;
        [[nodiscard]] bool operator>(const Event& other) const noexcept {
            return time != other.time ? time > other.time : number > other.number;
        }
    };

    void stream_failed(int, std::uint32_t, const Error&) override {}
    void peer_left(int, std::uint32_t, const Error&) override {}
    void link_lost(int, const Error&) override {}
    void came_unexpected(int peer, const Envelope& envelope) override;
    void taken_up(int peer, const Envelope& envelope) override;
    [[nodiscard]] bool retired(std::uint32_t) const noexcept override { return false; }

    SimEnd& make_end(int rank, int peer);
    void make_link(SimEnd& end, SimEnd& other, int peer);
    [[nodiscard]] std::uint32_t take_packet();
    void deliver(SimPacket& packet, SimTime reached);

    CostModel costs_;
    bool phantom_;
    std::size_t most_links_;
    std::size_t links_ = 0;
    Engine engine_;
    std::deque<SimRank> ranks_;
    SimRank* current_ = nullptr;
    std::deque<SimPacket> packets_;
    std::vector<std::uint32_t> free_packets_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::uint64_t sent_ = 0;
    bool stopped_ = false;
};

}  // namespace trireme
