#include "job.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fmt/format.h>

#include "contest/meeting.h"

namespace trireme::bench {
namespace {

using std::chrono::steady_clock;

constexpr auto time_to_end = std::chrono::seconds(3);

std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> result;
    for (std::string& word : words) {
        result.push_back(word.data());
    }
    result.push_back(nullptr);
    return result;
}

/// What the child does between fork and exec.
[[noreturn]] void become(std::vector<std::string> command, std::vector<std::string> environment,
                         const std::string& log, pid_t driver) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != driver) {
        ::_exit(127);
    }
    ::setpgid(0, 0);
    const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const int in = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::dup2(in, STDIN_FILENO);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(out, STDERR_FILENO);
    for (std::string& setting : environment) {
        ::putenv(setting.data());
    }
    const std::vector<char*> argv = pointers(command);
    ::execvp(argv.front(), argv.data());
    const std::string text =
        fmt::format("cannot start {}: {}\n", command.front(), std::strerror(errno));
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    ::_exit(127);
}

int milliseconds_until(Job::Time deadline) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1'000'000'000));
}

}  // namespace

Job::Job(Entry entry, int ranks, const Ground& ground)
    : entry_(std::move(entry)),
      members_(static_cast<std::size_t>(ranks)),
      log_(fmt::format("{}/{}-{}.log", ground.folder(), entry_.name, ranks)) {
    // Reached through /proc by all ranks, whatever their namespaces; nothing to remove.
    meeting_ = ::memfd_create("trireme-bench", MFD_CLOEXEC);
    if (meeting_ < 0 || ::ftruncate(meeting_, Meeting::size) != 0) {
        throw std::system_error(errno, std::generic_category(), "memfd_create");
    }
    for (std::size_t i = 0; i < entry_.commands.size(); ++i) {
        start(i, ground);
    }
}

Job::~Job() {
    end();
    ::close(meeting_);
}

void Job::start(std::size_t process, const Ground& ground) {
    std::vector<std::string> environment = entry_.environments[process];
    environment.push_back("TRIREME_BENCH_SOCKET=" + ground.socket_path());
    environment.push_back("TRIREME_BENCH_CONTESTANT=" + entry_.name);
    const pid_t driver = ::getpid();
    const pid_t child = ::fork();
    if (child < 0) {
        throw std::system_error(errno, std::generic_category(), "fork");
    }
    if (child == 0) {
        become(entry_.commands[process], std::move(environment), log_, driver);
    }
    processes_.push_back(child);
}

bool Job::is_complete() const {
    return std::ranges::all_of(members_, [](const Member& member) { return member.pid > 0; });
}

void Job::admit(Channel channel, const nlohmann::json& hello) {
    if (!failure_.empty()) {
        return;
    }
    if (hello.contains("error")) {
        return fail(fmt::format("a rank could not start: {}", hello["error"].get<std::string>()));
    }
    const auto rank = hello.at("rank").get<std::size_t>();
    if (rank >= members_.size() || hello.at("ranks") != members_.size()) {
        return fail(fmt::format("its ranks did not find one another: rank {} of {}", rank,
                                hello.at("ranks").get<int>()));
    }
    members_[rank] = {std::move(channel), hello.at("pid").get<pid_t>()};
    members_[rank].channel.send({{"meeting", fmt::format("/proc/{}/fd/{}", ::getpid(), meeting_)}});
}

void Job::look_for_death() {
    for (pid_t& process : processes_) {
        int status = 0;
        if (process > 0 && ::waitpid(process, &status, WNOHANG) == process) {
            process = -1;
            fail(WIFSIGNALED(status)
                     ? fmt::format("a process was killed by signal {}", WTERMSIG(status))
                     : fmt::format("a process ended with exit code {}", WEXITSTATUS(status)));
        }
    }
}

std::optional<std::vector<nlohmann::json>> Job::ask(const nlohmann::json& question, Time deadline) {
    std::vector<nlohmann::json> answers(members_.size());
    std::vector<pollfd> waiting;
    for (std::size_t rank = 0; rank < members_.size(); ++rank) {
        if (!members_[rank].channel.send(question)) {
            fail(fmt::format("rank {} is gone", rank));
            return std::nullopt;
        }
        waiting.push_back({members_[rank].channel.socket(), POLLIN, 0});
    }
    for (std::size_t missing = members_.size(); missing > 0;) {
        const int ready = ::poll(waiting.data(), waiting.size(), milliseconds_until(deadline));
        if (ready < 0 && errno == EINTR) {
            continue;
        }
        if (ready == 0) {
            const auto silent =
                std::ranges::find_if(waiting, [](pollfd one) { return one.fd >= 0; });
            fail(fmt::format("rank {} did not answer in time", silent - waiting.begin()));
            return std::nullopt;
        }
        for (std::size_t rank = 0; rank < members_.size(); ++rank) {
            if (waiting[rank].fd < 0 || waiting[rank].revents == 0) {
                continue;
            }
            if (!members_[rank].channel.fill()) {
                fail(fmt::format("rank {} died", rank));
                return std::nullopt;
            }
            if (auto answer = members_[rank].channel.take()) {
                if (answer->contains("error")) {
                    fail(fmt::format("rank {}: {}", rank, answer->at("error").get<std::string>()));
                    return std::nullopt;
                }
                answers[rank] = std::move(*answer);
                waiting[rank].fd = -1;
                --missing;
            }
        }
    }
    return answers;
}

void Job::tell(const nlohmann::json& message) {
    for (Member& member : members_) {
        if (failure_.empty() && !member.channel.send(message)) {
            fail("a rank is gone");
        }
    }
}

void Job::fail(const std::string& why) {
    if (!failure_.empty()) {
        return;
    }
    // Before its text is read: a rank that dies may still be writing.
    for (const Member& member : members_) {
        if (member.pid > 0) {
            ::kill(member.pid, SIGKILL);
        }
    }
    members_.clear();
    failure_ = why;
    end();
    failure_ += last_words();
}

std::string Job::last_words() const {
    constexpr std::size_t most_lines = 12;
    std::ifstream file(log_);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) {
        lines.push_back("\n    " + line);
    }
    std::string text;
    for (std::size_t i = lines.size() - std::min(lines.size(), most_lines); i < lines.size(); ++i) {
        text += lines[i];
    }
    return text;
}

// Ranks end where their sockets close; what does not is killed.
void Job::end() {
    members_.clear();
    const auto deadline = steady_clock::now() + time_to_end;
    for (pid_t& process : processes_) {
        while (process > 0) {
            const pid_t ended = ::waitpid(process, nullptr, WNOHANG);
            if (ended == process || (ended < 0 && errno != EINTR)) {
                process = -1;
            } else if (steady_clock::now() > deadline) {
                ::kill(-process, SIGKILL);
                ::waitpid(process, nullptr, 0);
                process = -1;
            } else {
                ::usleep(5000);
            }
        }
    }
}

}  // namespace trireme::bench
