#include "group/bootstrap_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <sstream>
#include <thread>

#include "group/bootstrap_socket.h"
#include "store/deadline.h"
#include "store/limits.h"
#include "store/proof.h"

namespace trireme::bootstrap {

namespace {

using namespace std::chrono_literals;

// How long to wait at a time before looking whether another rank has failed.
constexpr auto slice = 500ms;

constexpr const char* failure_key = "failure";
constexpr const char* id_key = "id";
constexpr std::size_t id_bytes = 16;

std::string key_of(int rank) { return fmt::format("rank/{}", rank); }

std::string random_text() { return store::in_hex(store::random_bytes(id_bytes)); }

// The world's id, and what shows that two ranks have the same job token.
std::string id_with_check(const std::string& id) {
    return id + ' ' + store::in_hex(store::prove(store::job_token(), {"trireme check", id}));
}

// The secrets of a world come from the job's token, which no rank sends, and from the world's id,
// which is in the store: without a token only those who may read the store know them.
void make_secrets(Context& context) {
    const std::string found = context.store.get(id_key, slice);
    const std::string id = found.substr(0, found.find(' '));
    if (!store::same_proof(found, id_with_check(id))) {
        throw Error(ErrorCode::rendezvous,
                    fmt::format("rank {} has another token than rank 0 of the world in the {}: the "
                                "tokens differ; set TRIREME_TOKEN to the same value on all ranks",
                                context.rank, context.store.describe()),
                    {context.rank});
    }
    const std::string token = store::job_token();
    context.link_key = store::prove(token, {"trireme links", id});
    const std::string mark = store::prove(token, {"trireme memory", id});
    std::memcpy(context.token.data(), mark.data(), context.token.size());
}

// Waits in slices for the keys of all ranks; returns the ranks that are missing at the deadline.
std::vector<int> wait_for_all(const Context& context, const std::vector<std::string>& keys) {
    for (;;) {
        const auto left = ceil<std::chrono::milliseconds>(context.deadline - Clock::now());
        try {
            context.store.wait(keys, std::clamp<Timeout>(left, 0ms, slice));
            return {};
        } catch (const Error& error) {
            if (error.code() != ErrorCode::timeout) throw;
        }
        if (context.late()) break;
        context.check_others();
    }
    std::vector<int> missing;
    for (std::size_t rank = 0; rank < keys.size(); ++rank) {
        if (!context.store.check({&keys[rank], 1})) missing.push_back(static_cast<int>(rank));
    }
    return missing;
}

}  // namespace

std::string Entry::text() const {
    return fmt::format("{} {} {} {} {} {}", unix_name.empty() ? "-" : unix_name,
                       tcp.host.empty() ? "-" : tcp.host, tcp.port, board.text(), launched_as,
                       settings);
}

Entry Entry::parse(const std::string& text, int rank) {
    std::istringstream in(text);
    Entry entry;
    std::string board;
    if (!(in >> entry.unix_name >> entry.tcp.host >> entry.tcp.port >> board >>
          entry.launched_as)) {
        throw Error(ErrorCode::rendezvous,
                    fmt::format("the store holds '{}' under '{}', which is not how a rank is "
                                "reached: another version of Trireme?",
                                text, key_of(rank)),
                    {rank});
    }
    entry.board = BoardAddress::parse(board);
    std::getline(in >> std::ws, entry.settings);
    if (entry.unix_name == "-") entry.unix_name.clear();
    if (entry.tcp.host == "-") entry.tcp.host.clear();
    return entry;
}

Hello Context::hello() const {
    Hello hello;
    hello.token = token;
    hello.rank = rank;
    hello.size = size;
    if (inbox) hello.token_address = inbox->token_address();
    return hello;
}

bool Context::is_ours(const Hello& hello) const noexcept {
    return hello.magic == Hello{}.magic && hello.token == token && hello.size == size &&
           hello.rank >= 0 && hello.rank < size && hello.rank != rank;
}

std::string Context::allowance() const {
    return store::text(std::chrono::round<std::chrono::milliseconds>(deadline - start));
}

void Context::check_others() const {
    const std::string key = failure_key;
    if (!store.check({&key, 1})) return;
    const std::string text = store.get(key, slice);
    int failed = -1;
    std::istringstream(text) >> failed;
    const std::string reason = text.substr(std::min(text.size(), text.find(' ') + 1));
    throw Error(ErrorCode::rendezvous, fmt::format("rank {} could not join: {}", failed, reason),
                {failed});
}

void Context::report(const Error& error) const noexcept {
    try {
        fail_meeting(store, rank, error.what());
    } catch (const std::exception&) {  // the error itself is what counts
    }
}

bool Context::await(int socket, short events) const {
    while (!wait_for(socket, events, std::min(deadline, Clock::now() + slice))) {
        if (late()) return false;
        check_others();
    }
    return true;
}

void Context::pause(int tries) const {
    std::this_thread::sleep_for(std::min(200ms, 5ms * (1 << std::min(tries, 6))));
    if (tries % 8 == 7) check_others();
}

std::string listed(const std::vector<int>& ranks) {
    constexpr std::size_t shown = 16;
    std::string text;
    for (std::size_t i = 0; i < std::min(shown, ranks.size()); ++i) {
        text += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i]);
    }
    if (ranks.size() > shown) text += fmt::format(" and {} more", ranks.size() - shown);
    return text;
}

void publish(const Context& context, const Entry& entry) {
    if (context.rank == 0) context.store.set(id_key, id_with_check(random_text()));
    context.store.set(key_of(context.rank), entry.text());
}

void gather(Context& context) {
    std::vector<std::string> keys;
    for (int rank = 0; rank < context.size; ++rank) keys.push_back(key_of(rank));
    const std::vector<int> missing = wait_for_all(context, keys);
    if (!missing.empty()) {
        throw Error(ErrorCode::rendezvous,
                    fmt::format("rendezvous: {} of {} ranks joined within {}; missing: {}",
                                context.size - static_cast<int>(missing.size()), context.size,
                                context.allowance(), listed(missing)),
                    missing);
    }
    make_secrets(context);
    for (int rank = 0; rank < context.size; ++rank) {
        const std::string& key = keys[static_cast<std::size_t>(rank)];
        context.entries.push_back(Entry::parse(context.store.get(key, slice), rank));
    }
}

void check_settings(const Context& context) {
    const std::string& own = context.entries[static_cast<std::size_t>(context.rank)].settings;
    for (int rank = 0; rank < context.size; ++rank) {
        const std::string& theirs = context.entries[static_cast<std::size_t>(rank)].settings;
        if (theirs != own)
            throw Error(ErrorCode::rendezvous,
                        fmt::format("rank {} has {}, rank {} has {}; these settings must be the "
                                    "same on all ranks",
                                    context.rank, own, rank, theirs),
                        {context.rank, rank});
    }
}

shm::Token random_token() {
    const std::string bytes = store::random_bytes(sizeof(shm::Token));
    shm::Token token;
    std::memcpy(token.data(), bytes.data(), token.size());
    return token;
}

std::string random_name() { return "trireme-" + random_text(); }

}  // namespace trireme::bootstrap

namespace trireme {

void fail_meeting(Store& store, int by, const std::string& reason) {
    store.compare_set(bootstrap::failure_key, "", fmt::format("{} {}", by, reason));
}

}  // namespace trireme
