#include "dump_print.h"

#include <algorithm>
#include <ctime>
#include <map>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "sim_range.h"

namespace trireme::tool {
namespace {

using Json = nlohmann::ordered_json;
using std::chrono::duration;

constexpr int most_absent = 1000;
// A group in which some are ahead of others for so long only is one that works.
constexpr std::chrono::milliseconds moment{100};

std::string ranks_text(const std::vector<int>& ranks) {
    return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, ", "));
}

std::string day_time(RankReport::Clock::time_point time) {
    using namespace std::chrono;
    const auto ago = RankReport::Clock::now() - time;
    const auto then = system_clock::now() - duration_cast<system_clock::duration>(ago);
    const auto micros =
        duration_cast<microseconds>(then.time_since_epoch()).count() % microseconds::period::den;
    const std::time_t seconds = system_clock::to_time_t(then);
    std::tm parts{};
    ::localtime_r(&seconds, &parts);
    return fmt::format("{:%H:%M:%S}.{:06}", parts, micros);
}

std::string short_time(RankReport::Clock::duration time) {
    const double seconds = std::max(0.0, duration<double>(time).count());
    if (seconds < 1e-3) {
        return fmt::format("{:.1f} us", seconds * 1e6);
    }
    return seconds < 1 ? fmt::format("{:.1f} ms", seconds * 1e3) : fmt::format("{:.1f} s", seconds);
}

// What the members of a group do where they part, those that do the same together.
std::vector<std::pair<std::string, std::vector<int>>> sides_of(const Divergence& divergence) {
    std::vector<std::pair<std::string, std::vector<int>>> sides;
    for (const Divergence::Member& member : divergence.members) {
        const std::string text = !member.call       ? "has not come: " + member.doing
                                 : !member.recorded ? "has come; the record is gone"
                                                    : *member.call;
        const auto same =
            std::ranges::find(sides, text, [](const auto& side) { return side.first; });
        if (same == sides.end()) {
            sides.emplace_back(text, std::vector{member.rank});
        } else {
            same->second.push_back(member.rank);
        }
    }
    return sides;
}

std::string divergence_text(const Divergence& divergence) {
    std::string text = fmt::format("group \"{}\" parts at its collective #{}: ", divergence.group,
                                   divergence.sequence);
    if (divergence.mismatch) {
        text += "the calls differ\n";
    } else if (divergence.age < moment) {
        text += "some have just come; so it looks in a job that runs\n";
    } else {
        text += fmt::format("some have come, {} ago, and others have not\n",
                            short_time(divergence.age));
    }
    std::size_t width = 0;
    for (const auto& [what, ranks] : sides_of(divergence)) {
        width = std::max(width, ranks_text(ranks).size());
    }
    for (const auto& [what, ranks] : sides_of(divergence)) {
        text += fmt::format("  {:<{}}  {}\n", ranks_text(ranks), width, what);
    }
    if (divergence.unseen > 0) {
        text += fmt::format("  {} more cannot be seen\n", divergence.unseen);
    }
    return text;
}

std::string operations_text(const RankReport& report, std::size_t last) {
    const std::size_t count = std::min(last, report.operations.size());
    if (count == 0) {
        return {};
    }
    std::size_t group_width = 0;
    std::size_t algorithm_width = 0;
    for (std::size_t i = 0; i < count; ++i) {
        group_width = std::max(group_width, report.operations[i].group.size());
        algorithm_width = std::max(algorithm_width, report.operations[i].algorithm.size());
    }
    std::string text =
        fmt::format("\nrank {}: the last {} of {} operations\n", report.rank, count, report.begun);
    for (std::size_t i = count; i-- > 0;) {
        const Sighting& one = report.operations[i];
        text += fmt::format("  {:>6}  {}  {:>9}  {:<9}  {:>8}  {:<{}}  {:<{}}  {}\n", one.number,
                            day_time(one.begun),
                            short_time((one.under_way ? report.taken : one.ended) - one.begun),
                            one.under_way ? "under way"
                            : one.failed  ? "failed"
                                          : "done",
                            human_bytes(static_cast<double>(one.bytes)), one.algorithm,
                            algorithm_width, one.group, group_width, one.call);
    }
    return text;
}

std::string world_text(const std::vector<RankReport>& world, const DumpStyle& style) {
    std::string text = name_world(world.front()) + "\n";
    for (const RankReport& report : world) {
        text += fmt::format("  rank {:<4} pid {:<8} {:<8} {}\n", report.rank, report.pid,
                            name(report.state), describe_doing(report));
        if (!report.error.empty()) {
            text += fmt::format("            failed: {}\n", report.error);
        }
    }
    if (const auto absent = absent_ranks(world); !absent.empty()) {
        text += fmt::format("  {} cannot be seen: ended, or on another host\n", ranks_text(absent));
    }
    text += '\n';
    const std::vector<Divergence> divergences = find_divergences(world);
    for (const Divergence& divergence : divergences) {
        text += divergence_text(divergence);
    }
    if (divergences.empty()) {
        text += absent_ranks(world).empty() ? "all groups are in step\n"
                                            : "the groups are in step, as far as ranks can be "
                                              "seen\n";
    }
    for (const RankReport& report : world) {
        text += operations_text(report, style.last);
    }
    return text;
}

Json divergence_json(const Divergence& divergence) {
    Json members = Json::array();
    for (const Divergence::Member& member : divergence.members) {
        Json json{{"rank", member.rank}, {"come", member.call.has_value()}};
        if (member.call && member.recorded) {
            json["call"] = *member.call;
        }
        json["doing"] = member.doing;
        members.push_back(std::move(json));
    }
    return {{"group", divergence.group},
            {"stream", divergence.stream},
            {"sequence", divergence.sequence},
            {"kind", divergence.mismatch ? "mismatch" : "missing"},
            {"age_s", duration<double>(divergence.age).count()},
            {"members", std::move(members)},
            {"unseen", divergence.unseen}};
}

}  // namespace

std::string name_world(const RankReport& any) {
    return fmt::format("world {}, {} {}", any.world.empty() ? "not complete yet" : any.world,
                       any.size, any.size == 1 ? "rank" : "ranks");
}

std::vector<int> absent_ranks(const std::vector<RankReport>& world) {
    std::vector<int> absent;
    auto present = world.begin();
    for (int rank = 0; rank < world.front().size && absent.size() < most_absent; ++rank) {
        if (present != world.end() && present->rank == rank) {
            ++present;
        } else {
            absent.push_back(rank);
        }
    }
    return absent;
}

std::string dump_text(const std::vector<std::vector<RankReport>>& worlds, const DumpStyle& style) {
    std::string text = style.title.empty() ? "" : fmt::format("job {}\n", style.title);
    for (const auto& world : worlds) {
        text += (text.empty() ? "" : "\n") + world_text(world, style);
    }
    return text;
}

std::string dump_json(const std::vector<std::vector<RankReport>>& worlds, const DumpStyle& style) {
    Json list = Json::array();
    for (const auto& world : worlds) {
        Json ranks = Json::array();
        for (RankReport report : world) {
            if (report.operations.size() > style.last) {
                report.operations.resize(style.last);
            }
            ranks.push_back(report);
        }
        Json divergences = Json::array();
        for (const Divergence& divergence : find_divergences(world)) {
            divergences.push_back(divergence_json(divergence));
        }
        list.push_back({{"job", world.front().job},
                        {"world", world.front().world},
                        {"size", world.front().size},
                        {"absent_ranks", absent_ranks(world)},
                        {"divergences", std::move(divergences)},
                        {"ranks", std::move(ranks)}});
    }
    constexpr int indent = 1;
    return Json{{"worlds", std::move(list)}}.dump(indent, ' ', false,
                                                  Json::error_handler_t::replace) +
           "\n";
}

}  // namespace trireme::tool
