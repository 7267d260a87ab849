#include "link/sim/sim_memory.h"

#include <algorithm>
#include <cstring>

#include "link/sim/sim_network.h"

namespace trireme {

std::optional<RemoteBuffer> SimMemory::publish(Bytes memory) noexcept {
    const RemoteBuffer own{reinterpret_cast<std::uintptr_t>(memory.data()), memory.size(), 0,
                           ++generation_};
    if (!network_.phantom()) open_.push_back(own);
    return own;
}

void SimMemory::withdraw(const RemoteBuffer& own) noexcept {
    std::erase_if(open_, [&](const RemoteBuffer& one) { return one.generation == own.generation; });
}

// Null where the peer has not published that.
std::byte* SimMemory::reach(const RemoteBuffer& buffer, std::size_t offset,
                            std::size_t bytes) noexcept {
    const auto& open = static_cast<SimMemory*>(peer_.link->memory())->open_;
    const auto found = std::ranges::find(open, buffer.generation, &RemoteBuffer::generation);
    if (found == open.end() || offset > found->length || bytes > found->length - offset)
        return nullptr;
    return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(found->address)) + offset;
}

bool SimMemory::read(const RemoteBuffer& source, std::size_t offset, Bytes target) noexcept {
    network_.charge_access(target.size());
    if (network_.phantom()) return true;
    const std::byte* from = reach(source, offset, target.size());
    if (from != nullptr && !target.empty()) std::memcpy(target.data(), from, target.size());
    return from != nullptr;
}

bool SimMemory::write(const RemoteBuffer& target, std::size_t offset, ConstBytes source) noexcept {
    network_.charge_access(source.size());
    if (network_.phantom()) return true;
    std::byte* to = reach(target, offset, source.size());
    if (to != nullptr && !source.empty()) std::memcpy(to, source.data(), source.size());
    return to != nullptr;
}

}  // namespace trireme
