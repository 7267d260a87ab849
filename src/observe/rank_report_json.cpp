#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/op_info.h"
#include "observe/exact_json.h"
#include "observe/rank_report.h"
#include "trireme/error.h"

namespace trireme {

namespace {

using Json = nlohmann::ordered_json;
using SteadyTime = RankReport::Clock::time_point;

// Between this process's steady clock and the time of day.
std::chrono::nanoseconds day_offset() {
    using std::chrono::duration_cast, std::chrono::nanoseconds;
    return duration_cast<nanoseconds>(std::chrono::system_clock::now().time_since_epoch()) -
           duration_cast<nanoseconds>(RankReport::Clock::now().time_since_epoch());
}

std::int64_t to_unix(SteadyTime time, std::chrono::nanoseconds offset) {
    return (std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()) + offset)
        .count();
}

// A file may hold any number.
SteadyTime from_unix(std::int64_t time, std::chrono::nanoseconds offset) {
    constexpr std::int64_t most = std::int64_t{1} << 62;
    return SteadyTime(std::chrono::nanoseconds(std::clamp<std::int64_t>(time, 0, most)) - offset);
}

const char* state_of(const Sighting& one) {
    return one.under_way ? "under way" : one.failed ? "failed" : "done";
}

Json operation_json(const Sighting& one, std::chrono::nanoseconds offset) {
    Json json{{"number", one.number},
              {"group", one.group},
              {"stream", one.stream},
              {"kind", info(one.kind).name},
              {"sequence", one.sequence},
              {"call", one.call},
              {"algorithm", one.algorithm},
              {"bytes", one.bytes},
              {"state", state_of(one)},
              {"blocking", one.blocking},
              {"begun_unix_ns", to_unix(one.begun, offset)}};
    if (!one.under_way) json["ended_unix_ns"] = to_unix(one.ended, offset);
    if (info(one.kind).point_to_point) {
        json["peer"] = one.peer;
        json["tag"] = one.tag;
    }
    // As text: 64 bits are more than the numbers of many readers hold.
    json["fingerprint"] = fmt::format("{:016x}", one.fingerprint);
    return json;
}

Sighting operation_from(const Json& json, std::chrono::nanoseconds offset) {
    const auto kind_name = json.at("kind").get<std::string>();
    const auto row = std::ranges::find(op_table, kind_name, &OpInfo::name);
    const auto state = json.at("state").get<std::string>();
    Sighting one{.kind = row == op_table.end() ? OpKind::barrier : row->kind,
                 .peer = json.value("peer", -1),
                 .tag = json.value("tag", 0),
                 .call = json.at("call").get<std::string>(),
                 .algorithm = json.at("algorithm").get<std::string>(),
                 .group = json.at("group").get<std::string>(),
                 .stream = json.at("stream").get<std::uint32_t>(),
                 .sequence = json.at("sequence").get<std::uint64_t>(),
                 .number = json.at("number").get<std::uint64_t>(),
                 .bytes = json.at("bytes").get<std::uint64_t>(),
                 .under_way = state == "under way",
                 .failed = state == "failed",
                 .blocking = json.at("blocking").get<bool>(),
                 .begun = from_unix(json.at("begun_unix_ns").get<std::int64_t>(), offset),
                 .ended = from_unix(json.value("ended_unix_ns", std::int64_t{0}), offset)};
    const auto fingerprint = json.at("fingerprint").get<std::string>();
    std::from_chars(fingerprint.data(), fingerprint.data() + fingerprint.size(), one.fingerprint,
                    16);
    return one;
}

}  // namespace

void to_json(Json& json, const RankReport& report) {
    const std::chrono::nanoseconds offset = day_offset();
    json = Json{{"job", report.job},
                {"world", report.world},
                {"rank", report.rank},
                {"size", report.size},
                {"host", report.host},
                {"pid", report.pid},
                {"state", name(report.state)},
                {"doing", describe_doing(report)},
                {"taken_unix_ns", to_unix(report.taken, offset)},
                {"made_unix_ns", to_unix(report.made, offset)},
                {"begun", report.begun}};
    if (!report.error.empty()) json["error"] = report.error;
    if (report.errand)
        json["errand"] = {{"text", report.errand->text},
                          {"since_unix_ns", to_unix(report.errand->since, offset)}};
    json["groups"] = Json::array();
    for (const RankReport::Membership& one : report.groups) {
        Json group{
            {"group", one.group}, {"stream", one.stream}, {"rank", one.rank}, {"size", one.size}};
        if (one.reached) group["reached"] = *one.reached;
        json["groups"].push_back(std::move(group));
    }
    json["waits"] = Json::array();
    for (const RankReport::Wait& one : report.waits)
        json["waits"].push_back({{"number", one.number}, {"rank", one.rank}, {"any", one.any}});
    json["traffic"] = Json::array();
    for (const RankReport::PeerTraffic& one : report.traffic)
        json["traffic"].push_back(
            {{"peer", one.peer}, {"sent", one.sent}, {"received", one.received}});
    json["operations"] = Json::array();
    // In the order in which they began.
    for (auto one = report.operations.rbegin(); one != report.operations.rend(); ++one)
        json["operations"].push_back(operation_json(*one, offset));
}

RankReport parse_report(const std::string& text) {
    try {
        const std::chrono::nanoseconds offset = day_offset();
        const Json json = parse_exact<Json>(text, true);
        const auto state = json.at("state").get<std::string>();
        RankReport report{.job = json.at("job").get<std::string>(),
                          .world = json.at("world").get<std::string>(),
                          .rank = json.at("rank").get<int>(),
                          .size = json.at("size").get<int>(),
                          .pid = json.at("pid").get<int>(),
                          .host = json.at("host").get<std::string>(),
                          .state = state == "ended"     ? ProcessState::ended
                                   : state == "stopped" ? ProcessState::stopped
                                                        : ProcessState::running,
                          .taken = from_unix(json.at("taken_unix_ns").get<std::int64_t>(), offset),
                          .made = from_unix(json.at("made_unix_ns").get<std::int64_t>(), offset),
                          .begun = json.at("begun").get<std::uint64_t>(),
                          .error = json.value("error", std::string())};
        if (const auto errand = json.find("errand"); errand != json.end())
            report.errand = RankReport::Errand{
                errand->at("text").get<std::string>(),
                from_unix(errand->at("since_unix_ns").get<std::int64_t>(), offset)};
        for (const Json& one : json.at("groups")) {
            RankReport::Membership group{.stream = one.at("stream").get<std::uint32_t>(),
                                         .group = one.at("group").get<std::string>(),
                                         .rank = one.at("rank").get<int>(),
                                         .size = one.at("size").get<int>()};
            if (one.contains("reached")) group.reached = one["reached"].get<std::uint64_t>();
            report.groups.push_back(std::move(group));
        }
        for (const Json& one : json.at("waits"))
            report.waits.push_back({.number = one.at("number").get<std::uint64_t>(),
                                    .rank = one.at("rank").get<int>(),
                                    .any = one.at("any").get<bool>()});
        for (const Json& one : json.at("traffic"))
            report.traffic.push_back({.peer = one.at("peer").get<int>(),
                                      .sent = one.at("sent").get<std::uint64_t>(),
                                      .received = one.at("received").get<std::uint64_t>()});
        for (const Json& one : json.at("operations"))
            report.operations.push_back(operation_from(one, offset));
        std::ranges::sort(report.operations, std::ranges::greater(), &Sighting::number);
        if (report.rank < 0 || report.rank >= report.size)
            throw Error(ErrorCode::invalid_argument, "its rank is not one of its world");
        return report;
    } catch (const nlohmann::json::exception& error) {
        throw Error(ErrorCode::invalid_argument, error.what());
    }
}

}  // namespace trireme
