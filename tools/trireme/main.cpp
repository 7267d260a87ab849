// The command `trireme`: built-in subcommands, and programs trireme-NAME as further ones.

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "algorithms.h"
#include "doctor.h"
#include "dump.h"
#include "failure.h"
#include "run.h"
#include "sim.h"
#include "subcommands.h"
#include "top.h"
#include "trace.h"
#include "trireme/version.h"

namespace trireme::tool {
namespace {

void print_help() {
    fmt::print(
        "Trireme: distributed training for C++.\n\n"
        "Usage: trireme COMMAND [ARGUMENTS...]\n"
        "       trireme --help | --version\n\n"
        "Commands:\n"
        "  run         start the ranks of a program on this host\n"
        "  doctor      look whether this machine, or a set of hosts, can run a job\n"
        "  sim         run an algorithm on thousands of simulated ranks\n"
        "  top         watch the ranks of a job that runs\n"
        "  dump        show what ranks did and do, and where they part\n"
        "  algorithms  print which algorithm an operation takes, and when\n"
        "  trace       put the parts of a trace together\n"
        "  help        explain a command: trireme help run\n");
    if (const auto others = find_subcommands(); !others.empty()) {
        fmt::print("\nPrograms found (trireme NAME starts trireme-NAME):\n");
        for (const std::string& name : others) {
            fmt::print("  {}\n", name);
        }
    }
    fmt::print("\nExample: trireme run -n 8 ./train --epochs 3\n");
}

int dispatch(const std::string& command, std::vector<std::string> arguments) {
    if (command == "run") {
        return run(arguments);
    }
    if (command == "algorithms") {
        return algorithms(arguments);
    }
    if (command == "doctor") {
        return doctor(arguments);
    }
    if (command == "sim") {
        return sim(arguments);
    }
    if (command == "dump") {
        return dump(arguments);
    }
    if (command == "top") {
        return top(arguments);
    }
    if (command == "trace") {
        return trace(arguments);
    }
    if (command == "help" && !arguments.empty()) {
        const std::string& topic = arguments.front();
        return topic == "help" ? dispatch("help", {}) : dispatch(topic, {"--help"});
    }
    if (command == "help" || command == "--help" || command == "-h") {
        print_help();
        return 0;
    }
    if (command == "--version" || command == "version") {
        fmt::print("trireme {}\n", TRIREME_VERSION);
        return 0;
    }
    if (command.starts_with('-')) {
        throw Failure("unknown option " + command + " (see trireme --help)", 2);
    }
    become_subcommand(command, arguments);
}

// A descriptor 0, 1 or 2 that is closed would be given to the next file or pipe we open.
void open_standard_streams() {
    for (int fd = 0; fd <= 2; ++fd) {
        if (::fcntl(fd, F_GETFD) < 0) {
            [[maybe_unused]] const int opened = ::open("/dev/null", O_RDWR);
        }
    }
}

}  // namespace
}  // namespace trireme::tool

int main(int argc, char** argv) {
    using namespace trireme::tool;
    open_standard_streams();
    const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
    try {
        if (words.empty()) {
            print_help();
            return 2;
        }
        return dispatch(words.front(), {words.begin() + 1, words.end()});
    } catch (const Failure& failure) {
        fmt::print(stderr, "trireme: {}\n", failure.what());
        return failure.exit_code();
    } catch (const std::exception& error) {
        fmt::print(stderr, "trireme: {}\n", error.what());
        return 1;
    }
}
