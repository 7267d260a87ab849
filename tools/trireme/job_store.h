#pragma once

#include <memory>
#include <string>

#include "ending.h"
#include "trireme/store.h"

namespace trireme::tool {

/// The store that the launcher holds for the job, and what it writes there (store/launcher_keys.h).
class JobStore {
public:
    /// Only who knows `token` is let in.
    explicit JobStore(const std::string& token);

    /// "127.0.0.1:40123", for TRIREME_STORE.
    [[nodiscard]] std::string address() const;

    /// Tells the other ranks how this one ended. Returns an error text, once, where it cannot.
    std::string publish(int rank, const Ending& ending);

private:
    TcpStoreServer server_;
    std::shared_ptr<Store> client_;
};

}  // namespace trireme::tool
