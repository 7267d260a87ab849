// What clients send to a TCP store's server. An input is a list of: a client and an action (a byte
// each), the length of a request (two bytes), the request.

#include "fuzz/target.h"
#include "store/protocol.h"
#include "store/service.h"

namespace trireme::fuzz {
namespace {

struct FakeClient final : store::Service::Client {
    void answer(store::Service::Reply /*reply*/) noexcept override { parked = false; }
    void park(Timeout /*timeout*/) override { parked = true; }
    bool parked = false;
};

void act(store::Service& service, FakeClient& client, unsigned action, std::string_view request) {
    // A session that speaks while it waits is closed, and so is one whose bytes are no request.
    if (action % 8 == 1 && client.parked) return service.expire(client);
    if (action % 8 == 2 || client.parked) {
        client.parked = false;
        return service.forget(client);
    }
    try {
        service.handle(client, request);
    } catch (const store::ProtocolError&) {
        service.forget(client);
    }
}

std::string step(char client, char action, const std::string& request) {
    const auto size = static_cast<unsigned>(request.size());
    return std::string{client, action, static_cast<char>(size), static_cast<char>(size >> 8)} +
           request;
}

}  // namespace

std::vector<std::string> seeds() {
    using store::Verb;
    using store::Writer;
    const std::vector<std::string> keys{"a", "b"};
    const std::string set = step(0, 0, Writer(Verb::set).bytes("a").bytes("value").take());
    const std::string get = step(1, 0, Writer(Verb::get).i64(50).bytes("b").take());
    const std::string wait = step(2, 0, Writer(Verb::wait).i64(-1).keys(keys).take());
    const std::string add = step(0, 0, Writer(Verb::add).bytes("b").i64(-3).take());
    const std::string compare =
        step(0, 0, Writer(Verb::compare_set).bytes("b").bytes("").bytes("x").take());
    const std::string erase = step(0, 0, Writer(Verb::delete_key).bytes("a").take());
    const std::string check = step(0, 0, Writer(Verb::check).keys(keys).take());
    const std::string count = step(0, 0, Writer(Verb::num_keys).take());
    return {set + get + wait + add,
            set + compare + check + erase + count,
            wait + get + set + add,
            wait + step(2, 1, "") + get + step(1, 2, "") + set,
            set + add + add + check,
            get,
            add};
}

}  // namespace trireme::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace trireme;
    fuzz::Input in(data, size);
    store::Service service;
    fuzz::FakeClient clients[3];
    while (!in.empty()) {
        fuzz::FakeClient& client = clients[in.byte() % 3];
        const unsigned action = in.byte();
        const std::size_t low = in.byte();
        fuzz::act(service, client, action, in.take(low + (std::size_t{in.byte()} << 8)));
    }
    return 0;
}
