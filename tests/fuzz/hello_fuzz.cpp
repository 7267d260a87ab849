// What is said to a rank before a connection becomes a wire, over TCP and over a Unix socket, and
// what the store says about how a rank is reached. The first byte chooses.

#include <sys/socket.h>

#include "core/unique_fd.h"
#include "fuzz/target.h"
#include "group/bootstrap_greeting.h"
#include "trireme/error.h"

namespace trireme::fuzz {
namespace {

using namespace bootstrap;

void greet(const Context& context, Greeting::Side side, std::string_view bytes) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) return;
    const UniqueFd here(ends[0]);
    const UniqueFd there(ends[1]);
    Greeting greeting(context, side);
    std::string problem;
    Received received = Received::partly;
    if (side == Greeting::Side::connects && !greeting.open(here.get())) return;
    // In two pieces.
    for (const std::string_view part :
         {bytes.substr(0, bytes.size() / 2), bytes.substr(bytes.size() / 2)}) {
        static_cast<void>(::send(there.get(), part.data(), part.size(), MSG_NOSIGNAL));
        for (int i = 0; i < 3 && received == Received::partly; ++i) {
            received = greeting.go_on(here.get(), problem);
        }
    }
    if (received == Received::complete) __builtin_trap();  // nobody here knows the key
}

void receive_unix(std::string_view bytes) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) return;
    const UniqueFd here(ends[0]);
    const UniqueFd there(ends[1]);
    static_cast<void>(::send(there.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
    Hello hello;
    std::vector<UniqueFd> descriptors;
    (void)receive_hello(here.get(), hello, descriptors);
}

}  // namespace

std::vector<std::string> seeds() {
    const std::string numbers("\1\0\0\0\4\0\0\0", 8);
    const std::string rest(72, 'r');
    return {
        std::string(1, '\0') + "Trireme2" + numbers + rest,
        std::string(1, '\1') + "Trireme2" + numbers + rest,
        std::string(1, '\2') + "Trireme1" + std::string(16, 't') + numbers + std::string(16, 'f'),
        std::string(1, '\3') + "trireme-ab 10.0.0.1 4711 12:3 TRIREME_ALGORITHM=\"\" X=1",
        std::string(1, '\3') + "- - 0 0:-1 "};
}

}  // namespace trireme::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace trireme;
    using namespace trireme::bootstrap;
    static const std::shared_ptr<Store> store = memory_store();
    const Context context{.store = *store,
                          .rank = 0,
                          .size = 4,
                          .transport = Transport::tcp,
                          .heartbeat = Timeout(5'000),
                          .doorbell = -1,
                          .start = Clock::now(),
                          .deadline = Clock::now() + std::chrono::seconds(10),
                          .link_key = "key"};
    fuzz::Input in(data, size);
    switch (in.byte() % 4) {
        case 0: fuzz::greet(context, Greeting::Side::accepts, in.rest()); break;
        case 1: fuzz::greet(context, Greeting::Side::connects, in.rest()); break;
        case 2: fuzz::receive_unix(in.rest()); break;
        default: try { (void)Entry::parse(std::string(in.rest()), 1).text();
            } catch (const Error&) {
            }
    }
    return 0;
}
