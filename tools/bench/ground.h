#pragma once

#include <sys/types.h>

#include <string>

#include "contest/channel.h"

namespace trireme::bench {

/// What all contestants of a run stand on: a temporary folder, the driver's socket in it and, where
/// asked for, hosts made of network namespaces.
///
/// A guard, a process that waits for the end of this one, removes folder and hosts, also where this
/// one is killed.
class Ground {
public:
    explicit Ground(int hosts);
    Ground(const Ground&) = delete;
    Ground& operator=(const Ground&) = delete;
    ~Ground();

    [[nodiscard]] const std::string& folder() const noexcept { return folder_; }
    [[nodiscard]] std::string socket_path() const { return folder_ + "/socket"; }
    [[nodiscard]] int listener() const noexcept { return listener_; }
    [[nodiscard]] int hosts() const noexcept { return hosts_; }
    /// The name of the network namespace that is host `host`.
    [[nodiscard]] std::string host_name(int host) const;
    /// Its address on the network between the hosts.
    [[nodiscard]] static std::string host_address(int host);

private:
    void start_guard();
    void listen();

    std::string folder_;
    int listener_ = -1;
    int hosts_;
    int life_line_ = -1;
    pid_t guard_ = -1;
};

}  // namespace trireme::bench
