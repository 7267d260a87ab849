#include "link/self/self_wire.h"

namespace trireme {

std::size_t SelfWire::write(ConstBytes head, ConstBytes body) noexcept {
    if (shut_ || queue_.free() < head.size()) return 0;
    queue_.append(head);
    const std::size_t rest = std::min(body.size(), queue_.free());
    queue_.append(body.first(rest));
    return head.size() + rest;
}

ConstBytes SelfWire::peek(std::size_t /*want*/) noexcept { return queue_.view(); }

}  // namespace trireme
