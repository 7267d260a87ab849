#include "group/last_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
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
    static std::atomic<bool> begun = false;
    static std::atomic<bool> done = false;
    if (!begun.exchange(true)) {
        try {
            Living& all = living();
            // Given back before the handler that follows, which may end the process in an orderly
            // way.
            const std::unique_lock lock(all.mutex, std::try_to_lock);
            if (lock.owns_lock()) {
                const std::string thrown = what_was_thrown();
                for (WorldState* world : all.worlds) world->speak_last_words(thrown);
            }
        } catch (...) {
        }
        done = true;
    }
    // Another thread may be speaking: it has a second.
    for (int waits = 0; !done && waits < 100; ++waits)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
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
