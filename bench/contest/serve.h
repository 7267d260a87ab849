#pragma once

#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>

#include "contest/channel.h"
#include "contest/contestant.h"
#include "contest/measure.h"
#include "contest/meeting.h"

namespace trireme::bench {

namespace detail {

/// Ends this process two seconds after the driver is gone, whatever the library is doing: the rank
/// may wait for peers that no longer come, and its launcher may have died without telling it. One
/// that waits for the driver has left in good order by then.
inline void end_with_driver(int socket) {
    std::thread([socket] {
        pollfd waiting{socket, POLLRDHUP, 0};
        while (::poll(&waiting, 1, -1) < 0) {
        }
        ::sleep(2);
        ::_exit(EXIT_FAILURE);
    }).detach();
}

/// A core for each rank, where the driver says that there are enough: only the thread that calls,
/// after the library has made its own. All contestants alike, so none is asked to do it itself.
inline void take_core(int rank) {
    cpu_set_t allowed;
    if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    int left = rank % CPU_COUNT(&allowed);
    for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
        if (!CPU_ISSET(core, &allowed) || left-- > 0) continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(core, &one);
        ::sched_setaffinity(0, sizeof one, &one);
        return;
    }
}

class Service {
public:
    Service(Channel& channel, Contestant& contestant)
        : channel_(channel), contestant_(contestant) {}

    void run() {
        while (const auto message = channel_.receive()) {
            if (message->contains("meeting")) {
                meeting_ = std::make_unique<Meeting>(message->at("meeting").get<std::string>(),
                                                     contestant_.rank(), contestant_.size());
            } else if (message->contains("release")) {
                measurement_.reset();
                cell_ = nullptr;
            } else if (!channel_.send(measure(*message))) {
                return;
            }
        }
    }

private:
    nlohmann::json measure(const nlohmann::json& message) {
        try {
            // The buffers of a cell stay from turn to turn.
            if (message.at("cell") != cell_) {
                measurement_.reset();
                cell_ = nullptr;
                measurement_ = std::make_unique<Measurement>(contestant_, *meeting_,
                                                             message.at("cell").get<Cell>());
                cell_ = message.at("cell");
            }
            const nlohmann::json& asked = message.at("turn");
            const Measured measured =
                measurement_->run({asked.at("nanoseconds"), asked.at("iterations"),
                                   asked.at("warmup"), asked.at("check")});
            return {{"microseconds", measured.microseconds}, {"wrong", measured.wrong}};
        } catch (const Refusal& refusal) {
            return {{"refused", refusal.what()}};
        } catch (const std::exception& error) {
            return {{"error", error.what()}};
        }
    }

    Channel& channel_;
    Contestant& contestant_;
    std::unique_ptr<Meeting> meeting_;
    nlohmann::json cell_;
    std::unique_ptr<Measurement> measurement_;
};

}  // namespace detail

/// All of a contestant's `main`: joins the driver, lets `make` join the other ranks, and measures
/// what it is told to. Between two turns it sleeps in a read.
inline int serve(const std::function<std::unique_ptr<Contestant>()>& make) {
    const char* path = std::getenv("TRIREME_BENCH_SOCKET");
    const char* name = std::getenv("TRIREME_BENCH_CONTESTANT");
    if (path == nullptr || name == nullptr) {
        std::fputs("This is a part of `trireme bench`, which starts it.\n", stderr);
        return 2;
    }
    try {
        Channel channel = Channel::connect(path);
        detail::end_with_driver(channel.socket());
        std::unique_ptr<Contestant> contestant;
        try {
            contestant = make();
        } catch (const std::exception& error) {
            channel.send({{"contestant", name}, {"error", error.what()}, {"pid", ::getpid()}});
            throw;
        }
        if (std::getenv("TRIREME_BENCH_PIN") != nullptr) detail::take_core(contestant->rank());
        channel.send({{"contestant", name},
                      {"rank", contestant->rank()},
                      {"ranks", contestant->size()},
                      {"pid", ::getpid()}});
        detail::Service(channel, *contestant).run();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", name, error.what());
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}

}  // namespace trireme::bench
