#include "link/sim/sim_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "link/sim/sim_memory.h"

namespace trireme {

SimNetwork::SimNetwork(int ranks, int hosts, const CostModel& costs, bool phantom,
                       std::size_t most_links)
    : costs_(costs), phantom_(phantom), most_links_(most_links) {
    ranks_.resize(static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank)
        ranks_[static_cast<std::size_t>(rank)].host =
            static_cast<int>(std::int64_t{rank} * hosts / ranks);
}

SimNetwork::~SimNetwork() = default;

Link& SimNetwork::link(int rank, int peer) {
    auto& ends = ranks_[static_cast<std::size_t>(rank)].ends;
    if (const auto found = ends.find(peer); found != ends.end()) return *found->second.link;
    if (links_ >= most_links_)
        throw Error(ErrorCode::unsupported,
                    fmt::format("more than {} links would be needed", most_links_));
    SimEnd& here = make_end(rank, peer);
    SimEnd& there = rank == peer ? here : make_end(peer, rank);
    make_link(here, there, peer);
    if (rank != peer) make_link(there, here, rank);
    return *here.link;
}

SimEnd& SimNetwork::make_end(int rank, int peer) {
    SimRank& own = ranks_[static_cast<std::size_t>(rank)];
    SimEnd& end = own.ends[peer];
    end.rank = &own;
    end.leaves_host = own.host != ranks_[static_cast<std::size_t>(peer)].host;
    ++links_;
    return end;
}

void SimNetwork::make_link(SimEnd& end, SimEnd& other, int peer) {
    const Channel& channel = costs_.channel(!end.leaves_host);
    auto wire = std::make_unique<SimWire>(*this, end, other, channel.eager_limit);
    end.wire = wire.get();
    LinkListener& listener = *this;
    std::unique_ptr<PeerMemory> memory;
    if (!end.leaves_host && &end != &other) memory = std::make_unique<SimMemory>(*this, other);
    end.link.emplace(engine_, listener, peer, std::move(wire), std::move(memory));
}

std::uint32_t SimNetwork::take_packet() {
    if (free_packets_.empty()) {
        packets_.emplace_back();
        return static_cast<std::uint32_t>(packets_.size() - 1);
    }
    const std::uint32_t index = free_packets_.back();
    free_packets_.pop_back();
    return index;
}

void SimNetwork::send(SimEnd& from, SimEnd& to, ConstBytes head, ConstBytes body, int depth) {
    const std::uint32_t index = take_packet();
    SimPacket& packet = packets_[index];
    const Channel& channel = costs_.channel(!from.leaves_host);
    packet.to = &to;
    std::memcpy(packet.head.data(), head.data(), head.size());
    packet.head_bytes = head.size();
    packet.payload_bytes = body.size();
    if (!phantom_) packet.payload.assign(body.begin(), body.end());
    packet.transit = sim_duration(packet.bytes(), channel.gigabytes_per_second);
    packet.depth = depth;

    SimRank& sender = *from.rank;
    sender.bytes += body.size();
    if (from.leaves_host) sender.bytes_between_hosts += body.size();
    sender.now += costs_.per_message;
    const SimTime departs = std::max(sender.now, sender.out_free);
    sender.out_free = departs + packet.transit;
    events_.push({departs + channel.latency, ++sent_, index});
}

void SimNetwork::charge_access(std::size_t bytes) noexcept {
    current_->bytes += bytes;
    current_->now +=
        costs_.in_host.latency + sim_duration(bytes, costs_.in_host.gigabytes_per_second);
}

void SimNetwork::deliver_all() {
    while (!events_.empty() && !stopped_) {
        const Event event = events_.top();
        events_.pop();
        deliver(packets_[event.packet], event.time);
        free_packets_.push_back(event.packet);
    }
}

void SimNetwork::deliver(SimPacket& packet, SimTime reached) {
    SimEnd& end = *packet.to;
    SimRank& receiver = *end.rank;
    current_ = &receiver;
    receiver.in_free = std::max(reached, receiver.in_free) + packet.transit;
    receiver.now = std::max(receiver.now, receiver.in_free) + costs_.per_message;
    end.wire->show(packet);
    end.link->poll();
    receiver.take_up(end.wire->depth_taken_up());
    if (!end.wire->hide()) throw std::logic_error("a link left a packet unread");
    engine_.ready().run();
}

void SimNetwork::came_unexpected(int peer, const Envelope& envelope) {
    current_->ends.find(peer)->second.wire->came_unexpected(envelope);
}

void SimNetwork::taken_up(int peer, const Envelope& envelope) {
    current_->take_up(current_->ends.find(peer)->second.wire->taken_up(envelope));
}

void SimNetwork::fail(const std::exception_ptr& error) {
    // What unwinds makes no links, for a stream that has failed refuses every transfer; but it may
    // ask for those that are not there. So whatever is waiting is ended, until nothing is.
    for (SimRank& rank : ranks_) {
        current_ = &rank;
        for (auto& [peer, end] : rank.ends) end.link->fail_stream(0, error);
    }
    engine_.ready().run();
    while (!events_.empty()) events_.pop();
}

}  // namespace trireme
