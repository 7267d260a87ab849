#include "store/tcp_connect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <random>
#include <string>
#include <thread>

#include "store/limits.h"
#include "trireme/error.h"

namespace trireme::store {
namespace {

using namespace std::chrono_literals;

// What each address said last, and how often it was tried.
class Attempts {
public:
    void note(const std::string& address, const std::string& outcome) {
        Attempt& attempt = attempts_[address];
        attempt.outcome = outcome;
        ++attempt.times;
    }

    std::string text() const {
        std::string out;
        for (const auto& [address, attempt] : attempts_) {
            out += fmt::format("{}{} ({}{})", out.empty() ? "" : ", ", address, attempt.outcome,
                               attempt.times > 1 ? fmt::format(", {} times", attempt.times) : "");
        }
        return out;
    }

private:
    struct Attempt {
        std::string outcome;
        int times = 0;
    };
    std::map<std::string, Attempt> attempts_;
};

// The pauses between two rounds: short at first, half a second at most however many ranks there
// are, and of random length so that the ranks spread out.
class Backoff {
public:
    void pause(const Deadline& deadline) {
        std::uniform_real_distribution<double> spread(0.7, 1.3);
        const auto wanted = std::chrono::duration<double, std::milli>(next_ * spread(random_));
        next_ = std::min(next_ * 1.6, 400.0);
        std::this_thread::sleep_for(
            std::min<std::chrono::duration<double, std::milli>>(wanted, deadline.left()));
    }

private:
    double next_ = 10.0;  // ms
    std::minstd_rand random_{std::random_device{}()};
};

std::string late_text(Timeout budget) { return fmt::format("silent for {}", text(budget)); }

}  // namespace

TcpConnection connect_first(const Endpoint& endpoint, const std::string& token, Timeout timeout) {
    const Deadline deadline(timeout);
    Attempts attempts;
    Backoff backoff;
    // No address may use up the time of the others, nor a lost packet that of all.
    Timeout budget = 2s;
    do {
        const Resolved resolved = resolve(endpoint);
        if (resolved.addresses.empty()) {
            attempts.note(endpoint.host, resolved.error);
        }
        std::size_t foreign = 0;
        for (const Address& address : resolved.addresses) {
            try {
                return TcpConnection(address, token, Deadline(budget).earlier(deadline),
                                     Deadline(4 * budget).earlier(deadline));
            } catch (const TcpConnection::Broken& broken) {
                attempts.note(address.text(), broken.what());
            } catch (const TcpConnection::Late&) {
                attempts.note(address.text(), late_text(std::min(budget, timeout)));
            } catch (const TcpConnection::Foreign& other) {
                attempts.note(address.text(), other.what());
                ++foreign;
            } catch (const TcpConnection::Denied& denied) {
                throw Error(ErrorCode::store,
                            fmt::format("the tcp store at {} turns this process "
                                        "away at {}: {}",
                                        endpoint.text(), address.text(), denied.what()));
            }
        }
        if (foreign > 0 && foreign == resolved.addresses.size()) {
            throw Error(ErrorCode::store,
                        fmt::format("what listens at {} is not the tcp store of this job; tried {}",
                                    endpoint.text(), attempts.text()));
        }
        backoff.pause(deadline);
        budget = std::min<Timeout>(budget * 3 / 2, 15s);
    } while (!deadline.passed());
    throw Error(ErrorCode::timeout,
                fmt::format("no connection to the tcp store at {} within {}; tried {}. Is the rank "
                            "that hosts it running, and are host and port right?",
                            endpoint.text(), text(timeout), attempts.text()));
}

TcpConnection connect_again(const Endpoint& endpoint, const std::string& token,
                            const Address& address, const std::string& server_id,
                            const Deadline& deadline) {
    Backoff backoff;
    for (;;) {
        std::string why;
        bool gone = false;
        try {
            TcpConnection connection(address, token, deadline, deadline);
            if (connection.server_id() == server_id) {
                return connection;
            }
            why = "another store listens";
            gone = true;
        } catch (const TcpConnection::Broken& broken) {
            why = broken.what();
            // A reset comes from an overflowing queue, which time heals.
            gone = broken.error != ECONNRESET;
        } catch (const TcpConnection::Late&) {
            why = "no answer";
        } catch (const TcpConnection::Foreign& other) {
            why = other.what();
            gone = true;
        } catch (const TcpConnection::Denied&) {
            why = "a store with another token listens";
            gone = true;
        }
        if (gone) {
            throw Error(ErrorCode::store,
                        fmt::format("the tcp store at {} has gone, the process that hosted it "
                                    "ended or shut it down: {} at {}",
                                    endpoint.text(), why, address.text()));
        }
        if (deadline.passed()) {
            throw Error(ErrorCode::timeout, fmt::format("the tcp store at {} cannot be reached any "
                                                        "more: {} at {}",
                                                        endpoint.text(), why, address.text()));
        }
        backoff.pause(deadline);
    }
}

}  // namespace trireme::store
