#include "store/rendezvous.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <random>
#include <utility>

#include "store/deadline.h"
#include "store/rendezvous_plan.h"
#include "trireme/error.h"

namespace trireme {
namespace {

using namespace store;

// Who a rank is, as others read it in error texts. Each call gives another one; all of one process
// begin alike.
struct Identity {
    std::string process;
    std::string text;
};

Identity next_identity() {
    static const std::uint64_t nonce =
        (std::uint64_t{std::random_device{}()} << 32) | std::random_device{}();
    static std::atomic<int> calls = 0;
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    Identity out;
    // A forked child has the parent's nonce, and another process id.
    out.process = fmt::format("process {} on {}, {:016x}", ::getpid(), host.data(), nonce);
    out.text = fmt::format("{}, world {}", out.process, ++calls);
    return out;
}

// The host to listen on, as `rendezvous.h` promises; "" is all addresses.
std::string host_to_bind(const Endpoint& endpoint) {
    const auto addresses = resolve(endpoint).addresses;
    const auto all = [&](auto property) {
        return !addresses.empty() && std::all_of(addresses.begin(), addresses.end(), property);
    };
    if (means_the_same_everywhere(endpoint.host)) {
        return all([](const Address& a) { return a.is_loopback() || is_local(a); }) ? endpoint.host
                                                                                    : "";
    }
    const bool usable = all([](const Address& a) { return !a.is_loopback() && is_local(a); });
    return usable ? endpoint.host : "";
}

// "rank 1 of 4 at node1:29500"
std::string who(const RendezvousPlan& plan) {
    return fmt::format("rank {} of {} at {}", plan.rank, plan.size,
                       plan.kind == RendezvousPlan::Kind::file ? plan.path : plan.endpoint.text());
}

[[noreturn]] void fail(const RendezvousPlan& plan, const std::string& why) {
    throw Error(ErrorCode::rendezvous, fmt::format("rendezvous: {}: {}", who(plan), why));
}

std::shared_ptr<Store> connect(const RendezvousPlan& plan, Timeout timeout) {
    try {
        return tcp_store(plan.endpoint.host, plan.endpoint.port, timeout);
    } catch (const Error& error) {
        fail(plan, error.what());
    }
}

// The ranks of this store's world: its size, and one process for each rank.
enum class Claim { made, held_by_this_process };

Claim claim(Store& store, const RendezvousPlan& plan, const Identity& self) {
    const std::string size = std::to_string(plan.size);
    const std::string agreed = store.compare_set("rendezvous/size", "", size);
    const std::string key = fmt::format("rendezvous/rank/{}", plan.rank);
    const std::string holder = store.compare_set(key, "", self.text);
    if (holder == self.text) {
        if (agreed != size) {
            fail(plan, fmt::format("the ranks do not agree on the world's size: {} here, {} for "
                                   "the first that came",
                                   size, agreed));
        }
        return Claim::made;
    }
    if (holder.starts_with(self.process)) {
        return Claim::held_by_this_process;
    }
    fail(plan, fmt::format("{} has already come as rank {}. Were two processes given the same "
                           "rank, or does another job use this port?",
                           holder, plan.rank));
}

// Returns by an Error(store), when the server ends: no such key is ever set.
void await_end(Store& store, const Deadline& deadline, const RendezvousPlan& plan) {
    const std::string never[] = {"rendezvous/end"};
    try {
        store.wait(never, deadline.left());
    } catch (const Error& error) {
        if (error.code() == ErrorCode::timeout) {
            fail(plan,
                 "this process has come as that rank before, the server of the world before "
                 "still runs, and no new one came in time");
        }
        throw;
    }
}

// Rank 0 hosts, so the store is as new as the world.
Rendezvous meet_hosted(const RendezvousPlan& plan, Timeout timeout) {
    const Deadline deadline(timeout);
    const Identity self = next_identity();
    Rendezvous out{nullptr, plan.rank, plan.size, nullptr};
    if (plan.rank == 0) {
        const std::string host = host_to_bind(plan.endpoint);
        try {
            out.server = std::make_shared<TcpStoreServer>(host, plan.endpoint.port);
        } catch (const Error& error) {
            fail(plan, error.what());
        }
        out.store = tcp_store(host.empty() ? "127.0.0.1" : host, plan.endpoint.port, timeout);
        claim(*out.store, plan, self);
    }
    while (out.store == nullptr) {
        auto store = connect(plan, deadline.left());
        try {
            if (claim(*store, plan, self) == Claim::made) {
                out.store = std::move(store);
            } else {
                await_end(*store, deadline, plan);
            }
        } catch (const Error& error) {
            if (error.code() != ErrorCode::store) {
                throw;
            }  // else that server was closing: look for the next one
        }
    }
    out.store = prefix_store("world", std::move(out.store));
    out.store->set(fmt::format("joined/{}", plan.rank), self.text);
    return out;
}

// The store outlives worlds: this rank's n-th of this size is the n-th of all its ranks.
Rendezvous meet_in(std::shared_ptr<Store> store, const RendezvousPlan& plan) {
    const auto number = store->add(fmt::format("rendezvous/{}/{}", plan.size, plan.rank), 1);
    auto world = prefix_store(fmt::format("world/{}/{}", plan.size, number), std::move(store));
    world->set(fmt::format("joined/{}", plan.rank), next_identity().text);
    return {std::move(world), plan.rank, plan.size, nullptr};
}

}  // namespace

Rendezvous rendezvous(std::string_view url, int rank, int size, Timeout timeout) {
    const RendezvousPlan plan = plan_rendezvous(url, rank, size);
    Rendezvous out;
    switch (plan.kind) {
        case RendezvousPlan::Kind::hosted:
            out = meet_hosted(plan, timeout);
            out.outlives_ranks = false;
            break;
        case RendezvousPlan::Kind::client: {
            const std::shared_ptr<Store> store = connect(plan, timeout);
            out = meet_in(store, plan);
            out.launcher = store;
            break;
        }
        case RendezvousPlan::Kind::file: out = meet_in(file_store(plan.path), plan); break;
    }
    out.host = plan.endpoint.host;
    return out;
}

}  // namespace trireme
