#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "top_view.h"

namespace trireme::tool {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_links = 8;
constexpr const char* red = "\033[1;31m";
constexpr const char* yellow = "\033[33m";
constexpr const char* bold = "\033[1m";
constexpr const char* plain = "\033[0m";

// "0", "12.3 k", "1.2 M": so many a second.
std::string short_rate(double value) {
    constexpr std::array units{"", " k", " M", " G", " T"};
    constexpr double step = 1000;
    std::size_t unit = 0;
    while (value >= step && unit + 1 < units.size()) {
        value /= step;
        ++unit;
    }
    return value == 0 ? "0" : fmt::format("{:.1f}{}", value, units[unit]);
}

// Before what the rank does, so that a narrow terminal does not cut it off.
std::string mark_of(const TopRank& rank, std::size_t others) {
    if (rank.awaited_by.empty()) {
        return {};
    }
    const std::size_t count = rank.awaited_by.size();
    return fmt::format("[{}{} wait{}] ", rank.straggler ? "straggler: " : "",
                       count == others ? "all" : fmt::format("{}", count),
                       count == 1 && count != others ? "s" : "");
}

class Lines {
public:
    explicit Lines(const TopStyle& style) : style_(style) {}

    void add(std::string line, const char* color = nullptr) {
        if (style_.height != 0 && count_ == style_.height) {
            return;
        }
        ++count_;
        if (style_.width != 0 && line.size() > style_.width) {
            line.resize(style_.width);
        }
        text_ += style_.color && color != nullptr ? color + line + plain : line;
        text_ += '\n';
    }
    [[nodiscard]] const std::string& text() const noexcept { return text_; }

private:
    TopStyle style_;
    std::size_t count_ = 0;
    std::string text_;
};

void add_rank(Lines& lines, const TopRank& rank, std::size_t others) {
    const std::string group = rank.group.empty() ? "" : fmt::format(" on \"{}\"", rank.group);
    lines.add(
        fmt::format("{:>5} {:>8}  {:<8}{:>9}{:>9}{:>9}{:>9}  {}{}{}", rank.rank, rank.pid,
                    name(rank.state), short_rate(rank.operations_per_second),
                    short_rate(rank.received_per_second), short_rate(rank.sent_per_second),
                    rank.state == ProcessState::ended ? "-" : fmt::format("{:.1f} s", rank.age),
                    mark_of(rank, others), rank.what, group),
        rank.straggler                        ? red
        : rank.state != ProcessState::running ? yellow
                                              : nullptr);
}

Json rank_json(const TopRank& rank) {
    return {{"rank", rank.rank},
            {"pid", rank.pid},
            {"state", name(rank.state)},
            {"doing", rank.what},
            {"group", rank.group},
            {"age_s", rank.age},
            {"operations_per_second", rank.operations_per_second},
            {"received_per_second", rank.received_per_second},
            {"sent_per_second", rank.sent_per_second},
            {"awaited_by", rank.awaited_by},
            {"straggler", rank.straggler}};
}

}  // namespace

std::string top_text(const std::vector<TopWorld>& worlds, const TopStyle& style) {
    Lines lines(style);
    for (const TopWorld& world : worlds) {
        const auto alive = static_cast<std::size_t>(std::ranges::count_if(
            world.ranks, [](const TopRank& rank) { return rank.state != ProcessState::ended; }));
        lines.add("");
        lines.add(world.title, bold);
        lines.add(fmt::format("{:>5} {:>8}  {:<8}{:>9}{:>9}{:>9}{:>9}  {}", "rank", "pid", "state",
                              "ops/s", "in B/s", "out B/s", "for", "in"));
        for (const TopRank& rank : world.ranks) {
            add_rank(lines, rank, alive - 1);
        }
        if (!world.absent.empty()) {
            lines.add(fmt::format("rank{} {} cannot be seen: ended, or on another host",
                                  world.absent.size() == 1 ? "" : "s",
                                  fmt::join(world.absent, ", ")));
        }
        if (!world.links.empty()) {
            lines.add("");
            lines.add("busiest links     B/s", bold);
        }
        for (std::size_t i = 0; i < std::min(most_links, world.links.size()); ++i) {
            const TopLink& link = world.links[i];
            lines.add(fmt::format("{:>5} -> {:<5}{:>7}", link.from, link.to,
                                  short_rate(link.bytes_per_second)));
        }
    }
    return lines.text();
}

std::string top_json(const std::vector<TopWorld>& worlds, int pid) {
    Json list = Json::array();
    for (const TopWorld& world : worlds) {
        Json ranks = Json::array();
        for (const TopRank& rank : world.ranks) {
            ranks.push_back(rank_json(rank));
        }
        Json links = Json::array();
        for (const TopLink& link : world.links) {
            links.push_back({{"from", link.from},
                             {"to", link.to},
                             {"bytes_per_second", link.bytes_per_second}});
        }
        list.push_back({{"job", world.job},
                        {"world", world.world},
                        {"absent_ranks", world.absent},
                        {"ranks", std::move(ranks)},
                        {"links", std::move(links)}});
    }
    return Json{{"pid", pid}, {"worlds", std::move(list)}}.dump(-1, ' ', false,
                                                                Json::error_handler_t::replace) +
           "\n";
}

}  // namespace trireme::tool
