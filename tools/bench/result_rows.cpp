#include "result_rows.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <set>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace trireme::bench {
namespace {

using nlohmann::json;

constexpr int most_ranks_of_row = 1 << 20;
constexpr std::uint64_t most_bytes_of_row = std::uint64_t{1} << 50;
constexpr double least_microseconds = 1e-6;
constexpr double most_microseconds = 1e12;

const json* json_field(const json& object, const char* name) {
    const auto found = object.find(name);
    return found == object.end() ? nullptr : &*found;
}

std::string text_field(const json& row, const char* name) {
    const json* value = json_field(row, name);
    return value != nullptr && value->is_string() ? value->get<std::string>() : "";
}

std::optional<std::uint64_t> count_field(const json& row, const char* name, std::uint64_t most) {
    const json* value = json_field(row, name);
    if (value == nullptr || !value->is_number_integer()) {
        return std::nullopt;
    }
    const bool negative = !value->is_number_unsigned() && value->get<std::int64_t>() < 0;
    const auto count = value->get<std::uint64_t>();
    return negative || count > most ? std::nullopt : std::optional(count);
}

std::optional<double> json_time(const json* value) {
    if (value == nullptr || !value->is_number()) {
        return std::nullopt;
    }
    const auto time = value->get<double>();
    return time >= least_microseconds && time <= most_microseconds ? std::optional(time)
                                                                   : std::nullopt;
}

// What tells rows of one operation, size and kind of buffers apart.
struct VariantParts {
    std::string dtype;
    std::string placed;  // "in place", "out of place"
    int hosts = 1;
};

VariantParts variant_parts(const json& row) {
    VariantParts parts;
    parts.dtype = text_field(row, "dtype");
    if (const json* in_place = json_field(row, "in_place"); in_place && in_place->is_boolean()) {
        parts.placed = in_place->get<bool>() ? "in place" : "out of place";
    }
    parts.hosts = static_cast<int>(count_field(row, "hosts", most_ranks_of_row).value_or(1));
    return parts;
}

std::optional<ResultRow> read_row(const json& row) {
    if (!row.is_object()) {
        return std::nullopt;
    }
    ResultRow result;
    result.op = text_field(row, "op");
    const auto ranks = count_field(row, "ranks", most_ranks_of_row);
    const auto bytes = count_field(row, "bytes", most_bytes_of_row);
    if (result.op.empty() || ranks.value_or(0) == 0 || !bytes) {
        return std::nullopt;
    }
    result.ranks = static_cast<int>(*ranks);
    result.bytes = *bytes;
    result.buffers = text_field(row, "buffers") == "shared" ? "shared" : "user";
    result.ours = json_time(json_field(row, "ours_us"));
    result.ours_min = json_time(json_field(row, "min_us"));
    result.ours_p90 = json_time(json_field(row, "p90_us"));
    result.wrong = count_field(row, "wrong", UINT64_MAX);
    if (const json* peers = json_field(row, "peers"); peers != nullptr && peers->is_object()) {
        for (const auto& [name, value] : peers->items()) {
            if (const auto time = json_time(&value)) {
                result.peers.emplace(name, *time);
            }
        }
    }
    if (const json* wrong = json_field(row, "peers_wrong");
        wrong != nullptr && wrong->is_object()) {
        for (const auto& [name, value] : wrong->items()) {
            if (const auto count = count_field(*wrong, name.c_str(), UINT64_MAX)) {
                result.peers_wrong.emplace(name, *count);
            }
        }
    }
    if (const json* reasons = json_field(row, "left_out");
        reasons != nullptr && reasons->is_object()) {
        for (const auto& [name, value] : reasons->items()) {
            result.left_out.emplace(name, text_field(*reasons, name.c_str()));
        }
    }
    return result;
}

}  // namespace

std::optional<double> ResultRow::ratio() const {
    if (!ours || peers.empty()) {
        return std::nullopt;
    }
    const auto best = std::ranges::min_element(
        peers, [](const auto& a, const auto& b) { return a.second < b.second; });
    return best->second / *ours;
}

ResultRows read_result_rows(const json& report, Variants variants) {
    ResultRows result;
    const json* rows = report.is_object() ? json_field(report, "rows") : &report;
    if (rows == nullptr || !rows->is_array()) {
        return result;
    }
    std::vector<VariantParts> parts;
    std::map<std::string, std::set<std::string>> dtypes;  // by operation
    std::map<std::string, std::set<std::string>> places;
    for (const json& element : *rows) {
        auto row = read_row(element);
        if (!row) {
            ++result.unreadable;
            continue;
        }
        parts.push_back(variant_parts(element));
        dtypes[row->op].insert(parts.back().dtype);
        places[row->op].insert(parts.back().placed);
        row->hosts = parts.back().hosts;
        result.rows.push_back(std::move(*row));
    }
    const bool all = variants == Variants::all;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        ResultRow& row = result.rows[i];
        const auto add = [&variant = row.variant](const std::string& text) {
            variant += (variant.empty() || text.empty() ? "" : ", ") + text;
        };
        add(all || dtypes[row.op].size() > 1 ? parts[i].dtype : "");
        add(all || places[row.op].size() > 1 ? parts[i].placed : "");
        add(parts[i].hosts > 1 ? fmt::format("{} hosts", parts[i].hosts) : "");
    }
    return result;
}

json read_report(const std::string& path) {
    std::ifstream file(path);
    if (!file) {
        throw std::runtime_error(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
    }
    json report = json::parse(file, nullptr, false);
    const bool has_rows = report.is_array() || (report.is_object() && report.contains("rows") &&
                                                report.at("rows").is_array());
    if (!has_rows) {
        throw std::runtime_error(fmt::format(
            "{} holds no results: it is not a file that trireme bench --json wrote", path));
    }
    return report;
}

}  // namespace trireme::bench
