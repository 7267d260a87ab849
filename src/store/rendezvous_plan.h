#pragma once

#include <string>
#include <string_view>

#include "store/endpoint.h"

namespace trireme::store {

/// What a rendezvous URL and the environment say, checked, before anything is done.
struct RendezvousPlan {
    enum class Kind {
        client,  ///< somebody else, such as a launcher, hosts the store at `endpoint`
        hosted,  ///< rank 0 hosts it at `endpoint`
        file,
    };
    Kind kind = Kind::client;
    Endpoint endpoint;
    std::string path;
    int rank = 0;
    int size = 1;
};

/// Throws `Error(invalid_argument)`: variable or argument, value, what is expected.
[[nodiscard]] RendezvousPlan plan_rendezvous(std::string_view url, int rank, int size);

}  // namespace trireme::store
