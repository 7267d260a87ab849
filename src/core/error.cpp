#include "trireme/error.h"

#include <utility>

namespace trireme {

const char* name(ErrorCode code) noexcept {
    switch (code) {
        case ErrorCode::invalid_argument: return "invalid_argument";
        case ErrorCode::unsupported: return "unsupported";
        case ErrorCode::mismatch: return "mismatch";
        case ErrorCode::timeout: return "timeout";
        case ErrorCode::deadlock: return "deadlock";
        case ErrorCode::peer_lost: return "peer_lost";
        case ErrorCode::aborted: return "aborted";
        case ErrorCode::rendezvous: return "rendezvous";
        case ErrorCode::store: return "store";
        case ErrorCode::system: return "system";
    }
    return "unknown";
}

Error::Error(ErrorCode code, const std::string& message, std::vector<int> ranks)
    : std::runtime_error(message),
      code_(code),
      ranks_(std::make_shared<const std::vector<int>>(std::move(ranks))) {}

}  // namespace trireme
