#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "group/bootstrap.h"
#include "group/bootstrap_hello.h"
#include "observe/recorder.h"
#include "store/endpoint.h"
#include "trireme/error.h"

namespace trireme::bootstrap {

using Clock = std::chrono::steady_clock;

/// How a rank can be reached, as it says in the store; what is empty it does not offer.
struct Entry {
    std::string unix_name;
    store::Endpoint tcp;
    BoardAddress board;
    int launched_as = -1;  ///< its rank for the launcher; -1: there is none
    std::string settings;  ///< that must be the same on all ranks, as people write them

    [[nodiscard]] std::string text() const;
    /// Throws `Error(rendezvous)` where `text` is not what `text()` writes.
    [[nodiscard]] static Entry parse(const std::string& text, int rank);
};

/// What the parts of a bootstrap share.
struct Context {
    Store& store;
    int rank;
    int size;
    Transport transport;
    Timeout heartbeat;
    int doorbell;
    Clock::time_point start;
    Clock::time_point deadline;
    /// Proves over TCP that a rank belongs to the world; made of the job's token, and never sent.
    std::string link_key{};
    /// Tells memory of this world from that of others, among processes of one user.
    shm::Token token{};
    std::shared_ptr<ShmInbox> inbox{};
    std::vector<Entry> entries{};  ///< by rank

    [[nodiscard]] Hello hello() const;
    [[nodiscard]] bool is_ours(const Hello& hello) const noexcept;

    [[nodiscard]] bool late() const noexcept { return Clock::now() >= deadline; }
    /// "10 s": all the time there was.
    [[nodiscard]] std::string allowance() const;

    /// Throws the error of a rank that has failed.
    void check_others() const;
    /// Tells the others that this rank has failed.
    void report(const Error& error) const noexcept;

    /// Waits for `events`, until the deadline: then false. Throws if another rank has failed.
    [[nodiscard]] bool await(int socket, short events) const;
    /// A pause between two tries; it grows up to 200 ms.
    void pause(int tries) const;
};

/// "1, 4 and 9 more".
[[nodiscard]] std::string listed(const std::vector<int>& ranks);

/// Puts this rank's entry into the store; rank 0 draws the world's id and puts it there, too.
void publish(const Context& context, const Entry& entry);

/// Waits for every rank's entry; throws, naming the ranks that are missing, or where this rank's
/// job token is another than rank 0's.
void gather(Context& context);

/// Throws where another rank's settings are not this one's.
void check_settings(const Context& context);

[[nodiscard]] shm::Token random_token();

/// Random bytes in hexadecimal.
[[nodiscard]] std::string random_name();

}  // namespace trireme::bootstrap
