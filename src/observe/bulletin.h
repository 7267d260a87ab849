#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "observe/board_layout.h"
#include "trireme/store.h"

namespace trireme {

/// The boards of a world's ranks, for those of other hosts: a thread that puts an excerpt of this
/// rank's board into the store at a slow beat, and fetches those of the ranks that this one waits
/// for. The beat is faster while this rank waits, or wants to know of others.
///
/// A rank that is stopped, or cut off, puts up no more excerpts, so that its silence shows.
class Bulletin {
public:
    /// Called by the thread. `remote` says which ranks' boards cannot be seen from this host; where
    /// there are none, the thread ends. `deliver` gets what a rank has put up.
    struct World {
        std::function<std::vector<int>()> remote;
        std::function<void(int rank, const std::string& excerpt)> deliver;
    };

    /// `own` outlives this object.
    Bulletin(std::shared_ptr<Store> store, const board::Board& own, World world);
    Bulletin(const Bulletin&) = delete;
    Bulletin& operator=(const Bulletin&) = delete;
    /// Waits for the thread, and so for a call of the store's.
    ~Bulletin();

    /// This rank waits, and wants to see the boards of `ranks`. Does not block.
    void want(const std::vector<int>& ranks);
    /// This rank's board shows what others must see now.
    void hurry();

private:
    void run(const std::stop_token& stop);
    [[nodiscard]] bool await_beat(const std::stop_token& stop);
    void put_up(std::uint64_t beat);
    void fetch();

    std::shared_ptr<Store> store_;
    const board::Board& own_;
    World world_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    bool hurried_ = false;
    std::chrono::steady_clock::time_point busy_until_{};
    std::map<int, std::chrono::steady_clock::time_point> wanted_;  // until when
    std::vector<int> remote_;                                      // the thread's
    std::jthread thread_;                                          // last: it uses all the others
};

}  // namespace trireme
