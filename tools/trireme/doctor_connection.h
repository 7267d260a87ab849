#pragma once

#include <chrono>
#include <cstdint>

#include "doctor_finding.h"
#include "store/endpoint.h"

namespace trireme::tool {

/// Answers `trireme doctor --connect` on all addresses of this host, one client after the other,
/// for as long as `time`. Port 0: any that is free. Returns the exit code.
int serve_doctors(std::uint16_t port, std::chrono::seconds time);

/// How well this host reaches a doctor that listens elsewhere: connection, round trip, clocks,
/// throughput. Takes three seconds, or half a minute where nobody answers.
[[nodiscard]] Findings check_connection(const store::Endpoint& endpoint);

}  // namespace trireme::tool
