#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

#include "store/limits.h"
#include "store/rendezvous.h"
#include "trireme/error.h"

namespace trireme {
namespace {

// Rank 0 sets this key when it has seen all ranks, or has given up: to nothing, or to the missing
// ranks and on the next line what it throws itself, so that all ranks throw the same.
constexpr const char* word_key = "everyone";

std::vector<int> missing_ranks(const Rendezvous& meeting) {
    std::vector<int> out;
    for (int rank = 0; rank < meeting.size; ++rank) {
        const std::string key[] = {fmt::format("joined/{}", rank)};
        if (!meeting.store->check(key)) {
            out.push_back(rank);
        }
    }
    return out;
}

Error missing_error(const Rendezvous& meeting, std::vector<int> missing, Timeout timeout) {
    constexpr std::size_t most = 16;
    const std::vector<int> shown(
        missing.begin(),
        missing.begin() + static_cast<std::ptrdiff_t>(std::min(most, missing.size())));
    const std::string more =
        missing.size() > most ? fmt::format(" and {} more", missing.size() - most) : "";
    const auto message =
        fmt::format("rendezvous: {} of {} ranks joined within {} at the {}; missing: {}{}",
                    static_cast<std::size_t>(meeting.size) - missing.size(), meeting.size,
                    store::text(timeout), meeting.store->describe(), fmt::join(shown, ", "), more);
    return Error(ErrorCode::rendezvous, message, std::move(missing));
}

void watch_all(const Rendezvous& meeting, Timeout timeout) {
    std::vector<std::string> keys;
    for (int rank = 0; rank < meeting.size; ++rank) {
        keys.push_back(fmt::format("joined/{}", rank));
    }
    try {
        meeting.store->wait(keys, timeout);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::timeout) {
            throw;
        }
        if (auto missing = missing_ranks(meeting); !missing.empty()) {
            const Error failure = missing_error(meeting, std::move(missing), timeout);
            meeting.store->set(
                word_key, fmt::format("{}\n{}", fmt::join(failure.ranks(), " "), failure.what()));
            throw failure;
        }
    }
    meeting.store->set(word_key, "");
}

void await_word(const Rendezvous& meeting, Timeout timeout) {
    std::string word;
    try {
        word = meeting.store->get(word_key, timeout);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::timeout) {
            throw Error(ErrorCode::rendezvous, fmt::format("rendezvous: {}", error.what()));
        }
        if (auto missing = missing_ranks(meeting); !missing.empty()) {
            throw missing_error(meeting, std::move(missing), timeout);
        }
        throw Error(ErrorCode::rendezvous,
                    fmt::format("rendezvous: all {} ranks joined, but rank 0 did not say so within "
                                "{} at the {}",
                                meeting.size, store::text(timeout), meeting.store->describe()),
                    {0});
    }
    if (word.empty()) {
        return;
    }
    const std::size_t line = std::min(word.find('\n'), word.size() - 1);
    std::istringstream numbers(word.substr(0, line));
    std::vector<int> missing;
    for (int rank = 0; numbers >> rank;) {
        missing.push_back(rank);
    }
    throw Error(ErrorCode::rendezvous, word.substr(line + 1), std::move(missing));
}

}  // namespace

void await_all(const Rendezvous& meeting, Timeout timeout) {
    meeting.rank == 0 ? watch_all(meeting, timeout) : await_word(meeting, timeout);
}

}  // namespace trireme
