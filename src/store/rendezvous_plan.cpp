#include "store/rendezvous_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <utility>

#include "store/limits.h"
#include "trireme/error.h"

namespace trireme::store {
namespace {

[[noreturn]] void refuse(const std::string& message) {
    throw Error(ErrorCode::invalid_argument, "rendezvous: " + message);
}

std::optional<std::string> variable(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::optional<int> parse_number(std::string_view text) {
    int number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    return error == std::errc{} && stop == end ? std::optional(number) : std::nullopt;
}

// A number with the words that say where it comes from: "RANK='a'".
struct Sourced {
    int number = 0;
    std::string text;
};

/// The parts of "scheme://place?key=value&...".
struct Url {
    explicit Url(std::string_view url) : text(url) {
        const auto colon = url.find("://");
        if (colon == url.npos) {
            refuse(
                fmt::format("the URL {} has no scheme; expected env://, tcp://host:port or "
                            "file:///path",
                            in_quotes(url)));
        }
        scheme = url.substr(0, colon);
        place = url.substr(colon + 3);
        if (const auto mark = place.rfind('?'); mark != place.npos) {
            query = place.substr(mark + 1);
            place.resize(mark);
        }
    }

    std::optional<std::string> find(std::string_view key) const {
        std::string_view rest = query;
        while (!rest.empty()) {
            const std::string_view item = rest.substr(0, rest.find('&'));
            rest.remove_prefix(std::min(rest.size(), item.size() + 1));
            const auto equal = item.find('=');
            if (item.substr(0, equal) == key) {
                return std::string(equal == item.npos ? "" : item.substr(equal + 1));
            }
        }
        return std::nullopt;
    }

    std::string text, scheme, place, query;
};

// The argument if given, else the query's value, else the variable's.
Sourced choose(int argument, const Url& url, const char* key, const char* name,
               const char* expected) {
    if (argument != -1) {
        return {argument, fmt::format("{}={}", key, argument)};
    }
    std::string source = fmt::format("{} in {}", key, in_quotes(url.text));
    std::optional<std::string> value = url.find(key);
    if (!value) {
        source = name;
        value = variable(name);
    }
    if (!value) {
        refuse(
            fmt::format("{0} is not given and the environment variable {1} is not set; expected "
                        "{2}. A launcher sets it, as `trireme run` does",
                        key, name, expected));
    }
    const auto number = parse_number(*value);
    if (!number) {
        refuse(fmt::format("{}={} is no number; expected {}", source, in_quotes(*value), expected));
    }
    return {*number, fmt::format("{}={}", source, *value)};
}

void choose_place(RendezvousPlan& plan, const Url& url, int rank, int size) {
    const Sourced chosen_size =
        choose(size, url, "world_size", "WORLD_SIZE", "the number of ranks, 1 or more");
    constexpr int most_ranks = 65'536;
    if (chosen_size.number < 1 || chosen_size.number > most_ranks) {
        refuse(fmt::format("{}; expected the number of ranks, 1 or more, {} at most",
                           chosen_size.text, most_ranks));
    }
    const auto expected =
        fmt::format("a rank from 0 to {} ({})", chosen_size.number - 1, chosen_size.text);
    const Sourced chosen_rank = choose(rank, url, "rank", "RANK", expected.c_str());
    if (chosen_rank.number < 0 || chosen_rank.number >= chosen_size.number) {
        refuse(fmt::format("{}; expected {}", chosen_rank.text, expected));
    }
    plan.rank = chosen_rank.number;
    plan.size = chosen_size.number;
}

std::string required(const char* name, const char* expected) {
    auto value = variable(name);
    if (!value || value->empty()) {
        refuse(
            fmt::format("the environment variable {} is {}; expected {}. A launcher sets it, as "
                        "`trireme run` does",
                        name, value ? "empty" : "not set", expected));
    }
    return *std::move(value);
}

Endpoint endpoint_from(const std::string& text, const std::string& source) {
    auto endpoint = parse_endpoint(text);
    if (!endpoint) {
        refuse(
            fmt::format("{}={}; expected host:port with a port from 1 to 65535, where an IPv6 "
                        "address stands in brackets",
                        source, in_quotes(text)));
    }
    return *std::move(endpoint);
}

void plan_from_environment(RendezvousPlan& plan) {
    if (const auto value = variable("TRIREME_STORE")) {
        plan.endpoint = endpoint_from(*value, "TRIREME_STORE");
        return;
    }
    if (variable("TORCHELASTIC_USE_AGENT_STORE") == "True") {
        refuse(
            "TORCHELASTIC_USE_AGENT_STORE=True: the agent of torchrun already holds a store of "
            "its own at MASTER_ADDR:MASTER_PORT, which speaks another protocol. Start the "
            "program with `trireme run`, or give tcp://host:port with a free port");
    }
    const char* const all[] = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"};
    if (std::none_of(std::begin(all), std::end(all),
                     [](const char* name) { return variable(name).has_value(); })) {
        refuse(
            "this process was not started as a rank: none of RANK, WORLD_SIZE, MASTER_ADDR and "
            "MASTER_PORT is set. Start it with `trireme run -n 4 -- PROGRAM`, or set them");
    }
    plan.kind = RendezvousPlan::Kind::hosted;
    const std::string host = required("MASTER_ADDR", "the host of rank 0, by name or address");
    if (host.find_first_of(" /") != host.npos) {
        refuse(fmt::format("MASTER_ADDR={}; expected a host name or an IP address, without a port",
                           in_quotes(host)));
    }
    const char* const range = "a port from 1 to 65535";
    const std::string port_text = required("MASTER_PORT", range);
    const auto port = parse_port(port_text);
    if (!port) {
        refuse(fmt::format("MASTER_PORT={}; expected {}", in_quotes(port_text), range));
    }
    plan.endpoint = {without_brackets(host), *port};
}

}  // namespace

RendezvousPlan plan_rendezvous(std::string_view url_text, int rank, int size) {
    const Url url(url_text);
    RendezvousPlan plan;
    if (url.scheme == "env") {
        plan_from_environment(plan);
    } else if (url.scheme == "tcp") {
        plan.kind = RendezvousPlan::Kind::hosted;
        plan.endpoint = endpoint_from(url.place, "tcp URL");
    } else if (url.scheme == "file") {
        plan.kind = RendezvousPlan::Kind::file;
        plan.path = url.place;
        if (plan.path.size() < 2 || plan.path.front() != '/') {
            refuse(
                fmt::format("the URL {} names no absolute path; expected file:///path, with "
                            "three slashes",
                            in_quotes(url_text)));
        }
    } else {
        refuse(
            fmt::format("the URL {} has an unknown scheme; expected env://, tcp://host:port or "
                        "file:///path",
                        in_quotes(url_text)));
    }
    choose_place(plan, url, rank, size);
    return plan;
}

}  // namespace trireme::store
