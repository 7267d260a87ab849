#include "cell_result.h"

#include <algorithm>

namespace trireme::bench {

Times times_of(std::vector<double> samples) {
    std::ranges::sort(samples);
    const std::size_t middle = samples.size() / 2;
    const double median =
        samples.size() % 2 == 1 ? samples[middle] : (samples[middle - 1] + samples[middle]) / 2;
    return {samples.front(), median,
            samples[std::min(samples.size() - 1, samples.size() * 9 / 10)]};
}

std::optional<double> CellResult::ratio() const {
    if (!ours || peers.empty() || ours->median <= 0) {
        return std::nullopt;
    }
    const auto best = std::ranges::min_element(
        peers, [](const auto& a, const auto& b) { return a.second < b.second; });
    return best->second / ours->median;
}

double CellResult::algorithm_bandwidth() const {
    if (!ours || ours->median <= 0) {
        return 0;
    }
    return static_cast<double>(cell.moved_bytes(ranks)) / ours->median / 1e3;
}

double CellResult::bus_bandwidth() const {
    const OperationInfo& row = info(cell.operation);
    return algorithm_bandwidth() * (row.bus_n * ranks + row.bus_one) / ranks;
}

void to_json(nlohmann::json& json, const CellResult& result) {
    const auto or_null = [](const auto& value) {
        return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
    };
    json = {{"op", info(result.cell.operation).name},
            {"ranks", result.ranks},
            {"bytes", result.cell.bytes},
            {"buffers", result.cell.shared ? "shared" : "user"},
            {"ours_us", nullptr},
            {"peers", nlohmann::json::object()},
            {"ratio", or_null(result.ratio())},
            {"wrong", or_null(result.wrong)},
            {"dtype", info(result.cell.element).name},
            {"in_place", result.cell.in_place},
            {"count", result.cell.part(result.ranks)},
            {"hosts", result.hosts}};
    if (info(result.cell.operation).reduces) {
        json["reduce"] = result.cell.reduce;
    }
    if (result.ours) {
        json["ours_us"] = result.ours->median;
        json["min_us"] = result.ours->min;
        json["p90_us"] = result.ours->p90;
        json["samples"] = result.samples;
        json["algbw"] = result.algorithm_bandwidth();
        json["busbw"] = result.bus_bandwidth();
    }
    for (const auto& [peer, time] : result.peers) {
        json["peers"][peer] = time;
    }
    if (!result.entries.empty()) {
        json["entries"] = result.entries;
    }
    if (!result.peers_wrong.empty()) {
        json["peers_wrong"] = result.peers_wrong;
    }
    if (!result.left_out.empty()) {
        json["left_out"] = result.left_out;
    }
}

}  // namespace trireme::bench
