#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>

#include <cerrno>
#include <cstdlib>
#include <list>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>

#include "store/listener.h"
#include "store/tcp_session.h"
#include "trireme/error.h"
#include "trireme/store.h"

// The sockets of the TCP store: one thread runs all connections, and the Service behind them.
namespace trireme {
namespace {

using namespace store;
using namespace std::chrono_literals;
using Tcp = asio::ip::tcp;

// How many connections may be about to say hello: beyond that the oldest goes. A client that is
// dropped in this way tries again.
constexpr std::size_t max_strangers = 4096;

// A connection costs a descriptor, and the usual soft limit of 1,024 is below the number of ranks
// that a job may have: go to the hard limit when it is reached.
bool raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) {
        return false;
    }
    limit.rlim_cur = limit.rlim_max;
    return ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

bool is_insecure() {
    const char* const value = std::getenv("TRIREME_INSECURE");
    const std::string_view text = value == nullptr ? "" : value;
    if (!text.empty() && text != "0" && text != "1") {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("TRIREME_INSECURE=\"{}\": expected 0 or 1", text));
    }
    return text == "1";
}

class Acceptor {
public:
    Acceptor(asio::io_context& io, UniqueFd fd, TcpHub& hub)
        : acceptor_(io), timer_(io), hub_(hub) {
        const auto family = local_address(fd.get()).family();
        acceptor_.assign(family == AF_INET6 ? Tcp::v6() : Tcp::v4(), fd.release());
    }

    void wait() {
        acceptor_.async_wait(Tcp::acceptor::wait_read, [this](const std::error_code& error) {
            if (!error) {
                resume();
            }
        });
    }

    void close() noexcept {
        std::error_code ignored;
        ::shutdown(acceptor_.native_handle(), SHUT_RDWR);  // as for sessions
        acceptor_.close(ignored);
        timer_.cancel();
    }

private:
    void resume() {
        bool pause = true;
        try {
            pause = !accept_all();
        } catch (...) {  // no memory: like no descriptors
        }
        if (!pause) {
            return wait();
        }
        timer_.expires_after(50ms);
        timer_.async_wait([this](const std::error_code& error) {
            if (!error && acceptor_.is_open()) {
                wait();
            }
        });
    }

    // False where the process has no means for more connections now.
    bool accept_all() {
        for (int i = 0; i < 256; ++i) {
            UniqueFd fd(::accept4(acceptor_.native_handle(), nullptr, nullptr,
                                  SOCK_CLOEXEC | SOCK_NONBLOCK));
            if (fd) {
                admit(std::move(fd));
            } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
                return true;
            } else if (errno == EMFILE) {
                if (!raise_descriptor_limit()) {
                    return false;
                }
            } else if (errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
                return false;
            }  // else an error of that connection alone
        }
        return true;
    }

    void admit(UniqueFd fd) {
        Tcp::socket socket(acceptor_.get_executor());
        const int on = 1;
        ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        // Clients whose host has vanished leave after about five minutes.
        const int idle = 120, interval = 30, probes = 6;
        ::setsockopt(fd.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
        ::setsockopt(fd.get(), IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
        ::setsockopt(fd.get(), IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
        ::setsockopt(fd.get(), IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
        const auto family = local_address(fd.get()).family();
        socket.assign(family == AF_INET6 ? Tcp::v6() : Tcp::v4(), fd.get());
        static_cast<void>(fd.release());
        if (hub_.strangers.size() >= max_strangers) {
            hub_.strangers.front()->close();
        }
        const auto session = std::make_shared<TcpSession>(std::move(socket), hub_);
        try {
            hub_.sessions.emplace(session.get(), session);
            session->start();
        } catch (...) {
            session->close();
            throw;
        }
    }

    Tcp::acceptor acceptor_;
    asio::steady_timer timer_;
    TcpHub& hub_;
};

}  // namespace

struct TcpStoreServer::Impl {
    TcpHub hub;
    asio::io_context io{1};
    std::list<Acceptor> acceptors;
    std::uint16_t port = 0;
    pid_t pid = ::getpid();
    std::thread thread;

    Impl(const Endpoint& endpoint, std::string token) {
        hub.token = std::move(token);
        hub.insecure = is_insecure();
        Listeners listeners = listen_on(endpoint);
        port = listeners.endpoint.port;
        for (UniqueFd& socket : listeners.sockets) {
            acceptors.emplace_back(io, std::move(socket), hub).wait();
        }
        // The program's signal handlers shall not run on this thread.
        sigset_t all, before;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before);
        try {
            thread = std::thread([this] { run(); });
        } catch (...) {
            ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
            throw;
        }
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }

    // Returns when everything is closed and no handler is left.
    void run() noexcept {
        for (;;) {
            try {
                io.run();
                return;
            } catch (...) {  // handlers catch their own; go on all the same
            }
        }
    }

    void close_all() noexcept {
        // First the listeners, so that whoever connects now finds the port closed.
        for (Acceptor& acceptor : acceptors) {
            acceptor.close();
        }
        while (!hub.sessions.empty()) {
            const auto session = hub.sessions.begin()->second;
            session->close();
        }
    }
};

TcpStoreServer::TcpStoreServer(const std::string& address, std::uint16_t port,
                               std::optional<std::string> token)
    : impl_(std::make_unique<Impl>(Endpoint{without_brackets(address), port},
                                   token ? *std::move(token) : job_token())) {}

TcpStoreServer::~TcpStoreServer() {
    if (impl_->pid != ::getpid()) {
        // In a forked child: the thread is not here, and the sockets are the parent's to shut.
        [[maybe_unused]] const Impl* const of_the_parent = impl_.release();
        return;
    }
    asio::post(impl_->io, [this] { impl_->close_all(); });
    impl_->thread.join();
}

std::uint16_t TcpStoreServer::port() const noexcept { return impl_->port; }

}  // namespace trireme
