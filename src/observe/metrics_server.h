#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace trireme {

/// Serves what `text` returns, under /metrics, in a thread of its own.
class MetricsServer {
public:
    /// Listens on "host:port", port 0 for any that is free; `port_step` is added to any other port.
    /// Throws `Error(invalid_argument)` where that is not what `address` is, `Error(system)` with
    /// host and port where the port is taken.
    MetricsServer(const std::string& address, int port_step, std::function<std::string()> text);
    MetricsServer(const MetricsServer&) = delete;
    MetricsServer& operator=(const MetricsServer&) = delete;
    /// `text` is not called any more afterwards.
    ~MetricsServer();

    /// "http://127.0.0.1:9400/metrics".
    [[nodiscard]] std::string url() const;

private:
    struct Shared;
    std::shared_ptr<Shared> shared_;
};

}  // namespace trireme
