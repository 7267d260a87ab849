#pragma once

namespace trireme {

class WorldState;

/// Lets a process say to its peers why it dies, when it dies of an exception that nobody catches:
/// a handler of `std::terminate`, which the one that was there before follows.
///
/// From `enrol` to `withdraw` the world is told: see `WorldState::speak_last_words`. The handler is
/// set with the first world and stays.
namespace last_words {

void enrol(WorldState& world);
void withdraw(WorldState& world) noexcept;

}  // namespace last_words

}  // namespace trireme
