#include "group/last_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <vector>

#include "group/world_state.h"
#include "trireme/object.h"

namespace trireme::last_words {

namespace {

struct Living {
    std::mutex mutex;
    std::vector<WorldState*> worlds;
};

// Never destroyed: a process may end by an exception after its statics are gone.
Living& living() {
    static auto* const all = new Living;
    return *all;
}

std::terminate_handler previous = nullptr;

std::string what_was_thrown() {
    const std::exception_ptr thrown = std::current_exception();
    if (!thrown) return "std::terminate was called";
    try {
        std::rethrow_exception(thrown);
    } catch (const std::exception& error) {
        return fmt::format("{}: {}", detail::type_name(typeid(error)), error.what());
    } catch (...) {
        return "an exception that is no std::exception";
    }
}

// Whatever holds a mutex here will not give it back; then the peers learn only that this rank died.
[[noreturn]] void speak_and_die() {
    static std::atomic<bool> spoken = false;
    try {
        Living& all = living();
        if (!spoken.exchange(true) && all.mutex.try_lock()) {
            const std::string thrown = what_was_thrown();
            for (WorldState* world : all.worlds) world->speak_last_words(thrown);
        }
    } catch (...) {
    }
    if (previous != nullptr) previous();
    std::abort();
}

}  // namespace

void enrol(WorldState& world) {
    Living& all = living();
    const std::lock_guard lock(all.mutex);
    static const bool set = [] {
        previous = std::set_terminate(speak_and_die);
        return true;
    }();
    static_cast<void>(set);
    all.worlds.push_back(&world);
}

void withdraw(WorldState& world) noexcept {
    Living& all = living();
    const std::lock_guard lock(all.mutex);
    std::erase(all.worlds, &world);
}

}  // namespace trireme::last_words
