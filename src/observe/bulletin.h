#pragma once

#include <functional>
#include <memory>
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

    Bulletin(std::shared_ptr<Store> store, const board::Board& own, World world);
    Bulletin(const Bulletin&) = delete;
    Bulletin& operator=(const Bulletin&) = delete;
    /// From here on neither `own` nor `world` is used. Waits for the thread, but not for a store
    /// that does not answer.
    ~Bulletin();

    /// This rank waits, and wants to see the boards of `ranks`. Does not block.
    void want(const std::vector<int>& ranks);
    /// This rank's board shows what others must see now.
    void hurry();

private:
    class Worker;
    std::shared_ptr<Worker> worker_;
    std::thread thread_;
};

}  // namespace trireme
