#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace trireme::schedule {

/// The sizes for which every schedule is tested.
inline constexpr int largest_size = 64;

/// How often each rank's contribution is in a partial result. Counts rather than a set, so that a
/// contribution that is added twice shows.
using Contributions = std::vector<int>;

inline Contributions only(int rank, int size) {
    Contributions result(static_cast<std::size_t>(size), 0);
    result[static_cast<std::size_t>(rank)] = 1;
    return result;
}

inline Contributions each_once(int size) {
    return Contributions(static_cast<std::size_t>(size), 1);
}

inline void add(Contributions& to, const Contributions& what) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += what[i];
}

/// The network of one step: what is sent must be received by the rank it was sent to, from the rank
/// that sent it, and nothing may be left over.
template <class Message>
class Step {
public:
    void send(int from, int to, Message message) {
        EXPECT_NE(from, to) << "rank " << from << " sends to itself";
        const bool first = in_flight_.emplace(std::pair(from, to), std::move(message)).second;
        EXPECT_TRUE(first) << from << " sends to " << to << " twice in one step";
    }

    std::optional<Message> receive(int from, int to) {
        const auto found = in_flight_.find({from, to});
        if (found == in_flight_.end()) {
            ADD_FAILURE() << to << " waits for " << from << ", which does not send to it";
            return std::nullopt;
        }
        Message message = std::move(found->second);
        in_flight_.erase(found);
        return message;
    }

    ~Step() { EXPECT_TRUE(in_flight_.empty()) << in_flight_.size() << " messages not received"; }

    Step() = default;
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

private:
    std::map<std::pair<int, int>, Message> in_flight_;
};

}  // namespace trireme::schedule
