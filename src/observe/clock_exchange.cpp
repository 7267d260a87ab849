#include "observe/clock_exchange.h"

#include <fmt/format.h>

#include <charconv>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>

#include "trireme/error.h"

namespace trireme {

namespace {

constexpr int exchanges = 8;

std::string identity_key(int rank) { return fmt::format("trace/clock/{}", rank); }

std::string exchange_key(const std::string& stage, const char* what, int rank, int number) {
    return fmt::format("trace/{}/{}/{}/{}", stage, what, rank, number);
}

}  // namespace

std::string steady_clock_identity() {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string boot;
    std::getline(file, boot);
    std::error_code none;
    return boot + " " + std::filesystem::read_symlink("/proc/self/ns/time", none).string();
}

std::optional<ClockOffset> ClockExchange::start(Timeout patience) {
    store_.set(identity_key(rank_), identity_);
    if (rank_ != 0) {
        elsewhere_ = store_.get(identity_key(0), patience) != identity_;
        return elsewhere_ ? ask("start", patience) : ClockOffset{.at = now_()};
    }
    for (int rank = 1; rank < size_; ++rank)
        if (store_.get(identity_key(rank), patience) != identity_) strangers_.push_back(rank);
    for (const int rank : strangers_) answer("start", rank, patience);
    return ClockOffset{.at = now_()};
}

std::optional<ClockOffset> ClockExchange::end(Timeout patience) {
    if (elsewhere_) return ask("end", patience);
    for (const int rank : strangers_) answer("end", rank, patience);
    return std::nullopt;
}

std::optional<ClockOffset> ClockExchange::ask(const std::string& stage, Timeout patience) {
    std::vector<ClockSample> samples;
    for (int i = 0; i < exchanges; ++i) {
        ClockSample sample{.sent = now_()};
        store_.set(exchange_key(stage, "ask", rank_, i), "?");
        const std::string there = store_.get(exchange_key(stage, "answer", rank_, i), patience);
        sample.received = now_();
        const auto [end, error] =
            std::from_chars(there.data(), there.data() + there.size(), sample.there);
        if (error == std::errc{} && end == there.data() + there.size()) samples.push_back(sample);
    }
    return estimate_offset(samples);
}

// Of a rank that does not ask in time the others learn by their own patience.
void ClockExchange::answer(const std::string& stage, int rank, Timeout patience) {
    try {
        for (int i = 0; i < exchanges; ++i) {
            static_cast<void>(store_.get(exchange_key(stage, "ask", rank, i), patience));
            store_.set(exchange_key(stage, "answer", rank, i), std::to_string(now_()));
        }
    } catch (const Error& error) {
        if (error.code() != ErrorCode::timeout) throw;
    }
}

}  // namespace trireme
