#include "observe/metrics_server.h"

#include <fmt/format.h>
#include <httplib.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include "store/endpoint.h"
#include "trireme/error.h"

namespace trireme {

namespace {

// Prometheus asks for one page; whoever wants more, or dawdles, is not Prometheus.
constexpr std::size_t most_payload = 1024;
constexpr std::size_t threads = 2;
constexpr std::chrono::seconds longest_read{1};
// A visitor who sends a byte now and then can hold a thread for long: it is left behind.
constexpr std::chrono::seconds longest_end{3};

store::Endpoint parse_metrics_address(const std::string& text, int port_step) {
    // Port 0 is none to `parse_endpoint`.
    const bool any = text.ends_with(":0");
    auto endpoint = store::parse_endpoint(any ? text.substr(0, text.size() - 1) + "1" : text);
    if (!endpoint)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("TRIREME_METRICS=\"{}\": expected host:port", text));
    const int port = any ? 0 : endpoint->port + port_step;
    if (port > 65535)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("TRIREME_METRICS=\"{}\": with the local rank {} added the port is "
                                "beyond 65535",
                                text, port_step));
    endpoint->port = static_cast<std::uint16_t>(port);
    return *endpoint;
}

}  // namespace

// What the server's threads use; they may outlive the world.
struct MetricsServer::Shared {
    httplib::Server server;
    store::Endpoint endpoint;
    std::mutex mutex;
    std::function<std::string()> text;
    std::promise<void> end;
    std::future<void> ended = end.get_future();
};

MetricsServer::MetricsServer(const std::string& address, int port_step,
                             std::function<std::string()> text) {
    // The library has the whole process ignore SIGPIPE; instead its threads block it.
    struct sigaction before{};
    ::sigaction(SIGPIPE, nullptr, &before);
    shared_ = std::make_shared<Shared>();
    ::sigaction(SIGPIPE, &before, nullptr);
    shared_->endpoint = parse_metrics_address(address, port_step);
    shared_->text = std::move(text);
    httplib::Server& server = shared_->server;
    // By itself the library would share a port with another process that does the same.
    server.set_socket_options([](int socket) {
        const int on = 1;
        ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    });
    server.set_keep_alive_max_count(1);
    server.set_keep_alive_timeout(longest_read.count());
    server.set_read_timeout(longest_read);
    server.set_write_timeout(longest_read);
    server.set_payload_max_length(most_payload);
    server.new_task_queue = [] { return new httplib::ThreadPool(threads); };
    server.Get(
        "/metrics", [shared = shared_.get()](const httplib::Request&, httplib::Response& response) {
            const std::lock_guard lock(shared->mutex);
            if (shared->text)
                response.set_content(shared->text(), "text/plain; version=0.0.4; charset=utf-8");
            else
                response.status = 503;
        });
    store::Endpoint& endpoint = shared_->endpoint;
    errno = 0;
    const int port = endpoint.port == 0 ? server.bind_to_any_port(endpoint.host)
                     : server.bind_to_port(endpoint.host, endpoint.port) ? endpoint.port
                                                                         : -1;
    if (port < 0)
        throw Error(ErrorCode::system,
                    fmt::format("TRIREME_METRICS=\"{}\": cannot listen on port {} of {}: {}; is "
                                "it taken by another job or rank?",
                                address, endpoint.port, endpoint.host,
                                errno != 0 ? std::strerror(errno) : "unknown address"));
    endpoint.port = static_cast<std::uint16_t>(port);
    std::thread([shared = shared_] {
        // Those that it starts inherit this.
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
        shared->server.listen_after_bind();
        shared->end.set_value();
    }).detach();
    // One that is not running yet cannot be stopped.
    while (!server.is_running() &&
           shared_->ended.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
    }
}

MetricsServer::~MetricsServer() {
    {
        const std::lock_guard lock(shared_->mutex);
        shared_->text = nullptr;
    }
    shared_->server.stop();
    static_cast<void>(shared_->ended.wait_for(longest_end));
}

std::string MetricsServer::url() const {
    return fmt::format("http://{}/metrics", shared_->endpoint.text());
}

}  // namespace trireme
