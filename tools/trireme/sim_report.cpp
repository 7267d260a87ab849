#include "sim_report.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/op_info.h"
#include "failure.h"
#include "sim/optimum.h"
#include "sim_range.h"

namespace trireme::tool {
namespace {

constexpr const char* head_format =
    "{:>6}  {:>9}  {:<15}{:>11}{:>8}{:>7}{:>12}{:>12}{:>7}{:>10}{:>10}\n";
constexpr const char* skip_format = "{:>6}  {:>9}  {:<15}  skipped: {}\n";

std::string human_time(SimTime time) {
    const double microseconds = in_microseconds(time);
    if (microseconds < 1e3) {
        return fmt::format("{:.2f} us", microseconds);
    }
    return microseconds < 1e6 ? fmt::format("{:.2f} ms", microseconds / 1e3)
                              : fmt::format("{:.2f} s", microseconds / 1e6);
}

std::string human_ratio(double value, double best) {
    return best == 0 ? "-" : fmt::format("{:.2f}", value / best);
}

std::string marked_name(const SimRow& row) {
    return fmt::format("{}{}", row.algorithm->name, row.chosen ? " *" : "");
}

nlohmann::json json_of(const SimRow& row) {
    nlohmann::json json{{"ranks", row.ranks},
                        {"bytes", row.bytes},
                        {"algorithm", row.algorithm->name},
                        {"chosen", row.chosen}};
    if (!row.skipped.empty()) {
        json["skipped"] = row.skipped;
        return json;
    }
    const SimulationResult& result = row.result;
    const Optimum best = optimum(row.algorithm->kind, row.ranks, row.bytes);
    json["time_us"] = in_microseconds(result.time);
    json["steps"] = result.steps;
    json["best_steps"] = best.steps;
    json["most_bytes_sent"] = result.most_bytes;
    json["mean_bytes_sent"] = result.mean_bytes;
    json["best_bytes_sent"] = best.bytes;
    json["bytes_between_hosts"] = result.bytes_between_hosts;
    json["most_messages_sent"] = result.most_messages;
    json["links"] = result.links;
    json["memory_bytes"] = result.memory;
    if (!result.wrong.empty()) {
        json["wrong"] = result.wrong;
    }
    return json;
}

nlohmann::json json_of(const trireme::Channel& channel) {
    return {{"latency_us", in_microseconds(channel.latency)},
            {"GBps", channel.gigabytes_per_second},
            {"eager_limit", channel.eager_limit}};
}

}  // namespace

SimReport::SimReport(const SimOptions& options)
    : options_(options), terminal_(::isatty(STDERR_FILENO) != 0) {
    if (options_.json.empty()) {
        return;
    }
    json_.open(options_.json);
    if (!json_) {
        throw system_failure("cannot write " + options_.json);
    }
}

void SimReport::print_head() const {
    fmt::print("{}, float32, sum, {} host{}{}\n\n", info(options_.kind).name, options_.hosts,
               options_.hosts == 1 ? "" : "s", options_.check ? ", real data" : "");
    fmt::print(fmt::runtime(head_format), "ranks", "size", "algorithm", "time", "steps", "best",
               "sent/rank", "best", "ratio", "messages", "memory");
    std::fflush(stdout);
}

void SimReport::show_progress(int ranks, std::size_t bytes, std::string_view algorithm) const {
    if (!terminal_) {
        return;
    }
    fmt::print(stderr, "\r\033[K{} ranks, {}, {} ...", ranks,
               human_bytes(static_cast<double>(bytes)), algorithm);
    std::fflush(stderr);
}

void SimReport::clear_progress() const {
    if (terminal_) {
        fmt::print(stderr, "\r\033[K");
        std::fflush(stderr);
    }
}

void SimReport::add(SimRow row) {
    clear_progress();
    const std::string size = human_bytes(static_cast<double>(row.bytes));
    if (!row.skipped.empty()) {
        // Once: the reason holds for all that follow.
        if (said_.emplace(row.algorithm, row.skipped).second) {
            fmt::print(fmt::runtime(skip_format), "", "", row.algorithm->name, row.skipped);
        }
    } else {
        const SimulationResult& result = row.result;
        const Optimum best = optimum(row.algorithm->kind, row.ranks, row.bytes);
        const auto sent = static_cast<double>(result.most_bytes);
        fmt::print(fmt::runtime(head_format), row.ranks, size, marked_name(row),
                   human_time(result.time), result.steps, best.steps, human_bytes(sent),
                   human_bytes(best.bytes), human_ratio(sent, best.bytes), result.most_messages,
                   human_bytes(static_cast<double>(result.memory)));
        if (!result.wrong.empty()) {
            wrong_ = true;
            fmt::print("        WRONG: {}\n", result.wrong);
        }
    }
    std::fflush(stdout);
    rows_.push_back(std::move(row));
}

void SimReport::finish() {
    fmt::print("\n* chosen by the selection table{}\n", !options_.check ? ""
                                                        : wrong_        ? "; WRONG values"
                                                                        : "; all values are right");
    if (options_.json.empty()) {
        return;
    }
    nlohmann::json json{{"operation", info(options_.kind).name},
                        {"hosts", options_.hosts},
                        {"costs",
                         {{"in_host", json_of(options_.costs.in_host)},
                          {"between_hosts", json_of(options_.costs.between_hosts)},
                          {"per_message_us", in_microseconds(options_.costs.per_message)},
                          {"reduce_GBps", options_.costs.reduce_gigabytes_per_second}}}};
    for (const SimRow& row : rows_) {
        json["results"].push_back(json_of(row));
    }
    constexpr int indent = 2;
    json_ << json.dump(indent) << '\n';
    if (!json_.flush()) {
        throw system_failure("cannot write " + options_.json);
    }
}

}  // namespace trireme::tool
