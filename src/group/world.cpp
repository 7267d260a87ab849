#include "trireme/world.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "group/group_state.h"
#include "group/mesh_state.h"
#include "group/world_state.h"
#include "store/rendezvous.h"
#include "trireme/error.h"

namespace trireme {

namespace {

std::string_view variable(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

[[noreturn]] void malformed(const char* name, std::string_view value, const char* expected) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}=\"{}\": expected {}", name, value, expected));
}

// Where the variable is set.
void set_seconds(Timeout& timeout, const char* name) {
    const std::string_view text = variable(name);
    if (text.empty()) return;
    double seconds = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (error != std::errc{} || end != text.data() + text.size() || !(seconds > 0) || seconds > 1e9)
        malformed(name, text, "a number of seconds above 0");
    timeout = Timeout(static_cast<Timeout::rep>(seconds * 1000) + 1);
}

void set_switch(bool& on, const char* name) {
    const std::string_view text = variable(name);
    if (!text.empty() && text != "0" && text != "1") malformed(name, text, "0 or 1");
    if (!text.empty()) on = text == "1";
}

}  // namespace

WorldOptions WorldOptions::from_environment() {
    WorldOptions options;
    set_seconds(options.timeout, "TRIREME_TIMEOUT");
    set_seconds(options.patience, "TRIREME_PATIENCE");
    set_seconds(options.heartbeat, "TRIREME_HEARTBEAT");
    if (const auto text = variable("TRIREME_TRANSPORT"); text == "shm") {
        options.transport = Transport::shm;
    } else if (text == "tcp") {
        options.transport = Transport::tcp;
    } else if (!text.empty() && text != "auto") {
        malformed("TRIREME_TRANSPORT", text, "auto, shm or tcp");
    }
    set_switch(options.reproducible, "TRIREME_REPRODUCIBLE");
    set_switch(options.check_buffers, "TRIREME_CHECK_BUFFERS");
    options.address = variable("TRIREME_ADDRESS");
    options.interface = variable("TRIREME_INTERFACE");
    options.algorithm = variable("TRIREME_ALGORITHM");
    options.dump = variable("TRIREME_DUMP");
    options.trace = variable("TRIREME_TRACE");
    if (const auto text = variable("TRIREME_TRACE_LIMIT"); !text.empty()) {
        const auto [end, error] =
            std::from_chars(text.data(), text.data() + text.size(), options.trace_limit);
        if (error != std::errc{} || end != text.data() + text.size() || options.trace_limit < 1)
            malformed("TRIREME_TRACE_LIMIT", text, "a number of MiB above 0");
    }
    options.metrics = variable("TRIREME_METRICS");
    return options;
}

World::World(const std::shared_ptr<WorldState>& state)
    // The last World leaves the world, even where groups keep its state in memory.
    : state_(state.get(), [kept = state](WorldState*) { kept->shut_down(); }),
      group_(state->make_group(
          [&] {
              std::vector<int> all(static_cast<std::size_t>(state->size()));
              std::iota(all.begin(), all.end(), 0);
              return all;
          }(),
          GroupOptions("world"))) {}

World World::from_env(const WorldOptions& options) { return connect("env://", -1, -1, options); }

World World::connect(std::string_view url, int rank, int size, const WorldOptions& options) {
    return World(
        std::make_shared<WorldState>(rendezvous(url, rank, size, options.timeout), options));
}

World World::create(std::shared_ptr<Store> store, int rank, int size, const WorldOptions& options) {
    if (size < 1 || rank < 0 || rank >= size)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("rank {} of a world of {}: ranks are 0 to size - 1", rank, size));
    // Several worlds may be made in one store, one after the other: each rank counts its own.
    const auto number = store->add(fmt::format("trireme/made/{}", rank), 1);
    auto part = prefix_store(fmt::format("trireme/world/{}", number), std::move(store));
    return World(std::make_shared<WorldState>(
        Rendezvous{.store = std::move(part), .rank = rank, .size = size, .server = nullptr},
        options));
}

int World::rank() const noexcept { return state_->rank(); }
int World::size() const noexcept { return state_->size(); }
Store& World::store() const noexcept { return state_->store(); }
Group World::group() const { return Group(group_); }

Group World::group(const std::vector<int>& ranks, GroupOptions options) const {
    return Group(state_->make_group(ranks, std::move(options)));
}

Mesh World::mesh(std::vector<Axis> axes) const {
    return Mesh(std::make_shared<Mesh::State>(state_, std::move(axes)));
}

void World::abort(const std::string& reason) const { state_->abort(reason); }

World World::shrink(Timeout timeout) const { return World(state_->shrink(timeout)); }

std::string_view World::transport(int rank) const {
    if (rank < 0 || rank >= size())
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("rank {} is not in a world of {}", rank, size()));
    return state_->link(rank).transport();
}

}  // namespace trireme
