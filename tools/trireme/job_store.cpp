#include "job_store.h"

#include <fmt/format.h>

#include "store/launcher_keys.h"
#include "trireme/error.h"

namespace trireme::tool {
namespace {

constexpr const char* host = "127.0.0.1";

}  // namespace

// The client connects at once: later, descriptors may be short.
JobStore::JobStore(const std::string& token)
    : server_(host, 0, token), client_(tcp_store(host, server_.port(), Timeout(30'000), token)) {}

std::string JobStore::address() const { return fmt::format("{}:{}", host, server_.port()); }

std::string JobStore::publish(int rank, const Ending& ending) {
    if (!client_) {
        return {};
    }
    try {
        client_->set(launcher_exit_key(rank), describe(ending));
        return {};
    } catch (const Error& error) {
        client_.reset();
        return fmt::format("cannot tell the other ranks: {}", error.what());
    }
}

}  // namespace trireme::tool
