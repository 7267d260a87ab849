// What a TCP store's server sends to a client, over a socket: from the hello on, from the verdict
// on, or after both (the first byte), in answer to one call (the second byte).

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <mutex>
#include <thread>

#include "core/unique_fd.h"
#include "fuzz/target.h"
#include "store/listener.h"
#include "store/proof.h"
#include "store/protocol.h"
#include "store/tcp_connection.h"
#include "trireme/error.h"
#include "trireme/store.h"

namespace trireme::fuzz {
namespace {

using namespace std::chrono_literals;

/// Serves one client after the other with what the present input says.
class FakeServer {
public:
    FakeServer() : thread_([this] { run(); }) {}
    [[nodiscard]] std::uint16_t port() const { return listeners_.endpoint.port; }
    void set(unsigned stage, std::string_view bytes) {
        const std::lock_guard lock(mutex_);
        stage_ = stage;
        bytes_ = bytes;
    }

private:
    static std::string hear(int fd, std::size_t size) {
        std::string bytes(size, '\0');
        return ::recv(fd, bytes.data(), size, MSG_WAITALL) == static_cast<ssize_t>(size) ? bytes
                                                                                         : "";
    }
    static void say(int fd, const std::string& bytes) {
        static_cast<void>(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL));
    }

    void serve(int fd) {
        unsigned stage = 0;
        std::string bytes;
        {
            const std::lock_guard lock(mutex_);
            stage = stage_;
            bytes = bytes_;
        }
        const std::string hello = hear(fd, store::hello_size + store::nonce_size);
        const std::string nonce(store::nonce_size, 'n');
        if (hello.empty()) return;
        if (stage > 0) {
            say(fd, store::server_hello() + "identity" + nonce);
            (void)hear(fd, store::proof_size);
        }
        if (stage > 1) {
            say(fd, std::string(1, '\0') +
                        store::server_proof("", hello.substr(store::hello_size), nonce));
        }
        say(fd, bytes);
        ::shutdown(fd, SHUT_WR);
        while (!hear(fd, 1).empty()) {
        }
    }

    void run() {
        for (;;) {
            const UniqueFd fd(
                ::accept4(listeners_.sockets[0].get(), nullptr, nullptr, SOCK_CLOEXEC));
            if (fd) {
                const timeval patience{2, 0};
                ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
                serve(fd.get());
            } else {
                pollfd entry{listeners_.sockets[0].get(), POLLIN, 0};
                ::poll(&entry, 1, 20);
            }
        }
    }

    store::Listeners listeners_ = store::listen_on({"127.0.0.1", 0});
    std::mutex mutex_;
    unsigned stage_ = 0;
    std::string bytes_;
    std::thread thread_;
};

void call(Store& store, unsigned verb) {
    const std::vector<std::string> keys{"a", "b"};
    switch (verb % 8) {
        case 0: store.set("a", "value"); break;
        case 1: (void)store.get("a", 0ms); break;
        case 2: store.wait(keys, 0ms); break;
        case 3: (void)store.add("a", 1); break;
        case 4: (void)store.compare_set("a", "x", "y"); break;
        case 5: (void)store.delete_key("a"); break;
        case 6: (void)store.check(keys); break;
        default: (void)store.num_keys(); break;
    }
}

std::string reply(char verb, store::Writer& inside) {
    const std::string bytes = inside.take();
    return std::string{2, verb} + store::encode_length(bytes.size()) + bytes;
}

}  // namespace

std::vector<std::string> seeds() {
    using store::Status;
    using store::Writer;
    return {std::string("\0\0", 2) + store::server_hello() + std::string(40, 'x'),
            std::string("\1\0", 2) + std::string(33, '\0'),
            std::string("\1\0\2", 3),
            reply(0, Writer(Status::ok).u32(0)),
            reply(1, Writer(Status::ok).bytes("value")),
            reply(2, Writer(Status::timeout).keys(std::vector<std::string>{"a", "b"})),
            reply(3, Writer(Status::ok).i64(7)),
            reply(4, Writer(Status::refused).bytes("no")),
            reply(5, Writer(Status::ok).u8(1)),
            reply(7, Writer(Status::ok).i64(-1))};
}

}  // namespace trireme::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace trireme;
    using namespace std::chrono_literals;
    // Never destroyed: it uses OpenSSL, which cleans up before objects that it does not know.
    static fuzz::FakeServer& server = *new fuzz::FakeServer;
    fuzz::Input in(data, size);
    const unsigned stage = in.byte() % 3;
    const unsigned verb = in.byte();
    server.set(stage, in.rest());
    try {
        if (stage < 2) {
            const store::Address address =
                store::resolve({"127.0.0.1", server.port()}).addresses.at(0);
            const store::TcpConnection connection(address, "", store::Deadline(5s),
                                                  store::Deadline(5s));
        } else {
            fuzz::call(*tcp_store("127.0.0.1", server.port(), 5s, ""), verb);
        }
    } catch (const Error&) {
    } catch (const std::runtime_error&) {  // of TcpConnection
    }
    return 0;
}
