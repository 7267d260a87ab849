#include "descendants.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include <dirent.h>

#include "core/unique_fd.h"
#include "failure.h"

namespace trireme::tool {
namespace {

// Calls `visit(pid)` for every process.
template <class Visit>
void each_process(Visit&& visit) {
    const auto close = [](DIR* directory) { ::closedir(directory); };
    const std::unique_ptr<DIR, decltype(close)> proc(::opendir("/proc"), close);
    if (!proc) {
        return;
    }
    while (const dirent* entry = ::readdir(proc.get())) {
        const std::string_view name = entry->d_name;
        pid_t pid = 0;
        const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (error == std::errc{} && end == name.data() + name.size()) {
            visit(pid);
        }
    }
}

// Empty where the process is gone or not ours to read.
std::string read_file(const std::string& path) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::string text;
    char buffer[4096];
    for (ssize_t n = 0; fd && (n = ::read(fd.get(), buffer, sizeof buffer)) > 0;) {
        text.append(buffer, static_cast<std::size_t>(n));
    }
    return text;
}

struct Stat {
    char state = '?';
    pid_t parent = 0;
    pid_t group = 0;
};

std::optional<Stat> stat_of(pid_t pid) {
    const std::string text = read_file("/proc/" + std::to_string(pid) + "/stat");
    const std::size_t name_end = text.rfind(')');  // the name may hold spaces and parentheses
    Stat stat;
    if (name_end == std::string::npos || std::sscanf(text.c_str() + name_end, ") %c %d %d",
                                                     &stat.state, &stat.parent, &stat.group) != 3) {
        return std::nullopt;
    }
    return stat;
}

}  // namespace

void adopt_orphans() {
    if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) {
        throw system_failure("prctl(PR_SET_CHILD_SUBREAPER)");
    }
}

std::vector<Descendant> descendants(pid_t except) {
    std::unordered_multimap<pid_t, Descendant> by_parent;
    each_process([&](pid_t pid) {
        const auto stat = pid == except ? std::nullopt : stat_of(pid);
        if (stat) {
            const bool zombie = stat->state == 'Z' || stat->state == 'X';
            by_parent.emplace(stat->parent,
                              Descendant{.pid = pid, .group = stat->group, .zombie = zombie});
        }
    });
    std::vector<Descendant> found;
    const auto add_children_of = [&](pid_t parent) {
        const auto [first, last] = by_parent.equal_range(parent);
        for (auto it = first; it != last; ++it) {
            found.push_back(it->second);
        }
    };
    add_children_of(::getpid());
    for (std::size_t i = 0; i < found.size(); ++i) {
        add_children_of(found[i].pid);
    }
    return found;
}

std::vector<pid_t> processes_with(std::string_view entry) {
    const std::string wanted = '\0' + std::string(entry) + '\0';
    std::vector<pid_t> found;
    each_process([&](pid_t pid) {
        if (pid == ::getpid()) {
            return;
        }
        const std::string environment =
            '\0' + read_file("/proc/" + std::to_string(pid) + "/environ") + '\0';
        if (environment.find(wanted) != std::string::npos) {
            found.push_back(pid);
        }
    });
    return found;
}

}  // namespace trireme::tool
