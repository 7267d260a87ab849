#include "observe/process_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string_view>

namespace trireme {

namespace {

std::string read_proc(int pid, const char* file) {
    std::ifstream stream(fmt::format("/proc/{}/{}", pid, file));
    return {std::istreambuf_iterator<char>(stream), {}};
}

// 'R', 'S', 'T' (stopped), 'Z' (ended, and not yet fetched), ...: see proc(5); 0: no process.
struct ProcStat {
    char state = '\0';
    int parent = 0;
};

ProcStat proc_stat(int pid) {
    const std::string text = read_proc(pid, "stat");
    // The name before it stands in parentheses, and may contain anything.
    const std::size_t end = text.rfind(')');
    ProcStat stat;
    if (end == std::string::npos ||
        std::sscanf(text.c_str() + end, ") %c %d", &stat.state, &stat.parent) != 2)
        return {};
    return stat;
}

}  // namespace

ProcessState process_state(int pid) {
    switch (proc_stat(pid).state) {
        case '\0':
        case 'X':
        case 'Z': return ProcessState::ended;
        case 'T':
        case 't': return ProcessState::stopped;
        default: return ProcessState::running;
    }
}

const char* name(ProcessState state) noexcept {
    switch (state) {
        case ProcessState::stopped: return "stopped";
        case ProcessState::ended: return "ended";
        case ProcessState::running: break;
    }
    return "running";
}

int parent_of(int pid) { return proc_stat(pid).parent; }

int inner_pid(int pid) {
    const std::string text = read_proc(pid, "status");
    constexpr std::string_view key = "\nNSpid:";
    const std::size_t start = text.find(key);
    if (start == std::string::npos) return process_state(pid) == ProcessState::ended ? 0 : pid;
    const std::string line =
        text.substr(start + key.size(), text.find('\n', start + 1) - (start + key.size()));
    int number = 0;
    std::sscanf(line.c_str() + line.find_last_of(" \t") + 1, "%d", &number);
    return number;
}

std::string command_of(int pid) {
    std::string text = read_proc(pid, "cmdline");
    while (!text.empty() && text.back() == '\0') text.pop_back();
    std::ranges::replace(text, '\0', ' ');
    return text;
}

}  // namespace trireme
