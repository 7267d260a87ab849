// Time, and the cores that take it.

#include <sys/timex.h>

#include <chrono>
#include <string>

#include <fmt/format.h>

#include "cores.h"
#include "doctor_finding.h"

namespace trireme::tool {
namespace {

Finding check_real_time() {
    timex state{};
    const int result = ::adjtimex(&state);
    if (result < 0) {
        return {"clock of day", Verdict::warning,
                "adjtimex is not permitted: not known whether it "
                "is synchronised",
                "ask on the host: timedatectl, chronyc tracking"};
    }
    if (result != TIME_ERROR && (state.status & STA_UNSYNC) == 0) {
        return {"clock of day", Verdict::ok,
                fmt::format("synchronised, error at most {:.1f} ms",
                            static_cast<double>(state.maxerror) / 1000)};
    }
    return {"clock of day", Verdict::warning,
            "not synchronised: times in logs of several hosts cannot be compared",
            "run chrony, systemd-timesyncd or ntpd (traces align their clocks themselves)"};
}

Finding check_steady_clock() {
    using Clock = std::chrono::steady_clock;
    constexpr int readings = 2000;
    constexpr double slow = 250;
    const auto start = Clock::now();
    for (int i = 0; i < readings; ++i) {
        static_cast<void>(Clock::now());
    }
    const double cost =
        std::chrono::duration<double, std::nano>(Clock::now() - start).count() / (readings + 1);
    const std::string source =
        line_of_file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    Finding finding{
        "steady clock", Verdict::ok,
        fmt::format("source {}, {:.0f} ns a reading", source.empty() ? "unknown" : source, cost)};
    if (source == "hpet" || source == "acpi_pm" || source == "jiffies" || cost > slow) {
        finding.verdict = Verdict::warning;
        finding.text += ": each operation reads it twice";
        finding.remedy =
            "boot with tsc=reliable clocksource=tsc where the processor's counter can be trusted; "
            "in a virtual machine enable kvm-clock or an invariant TSC";
    }
    return finding;
}

Finding check_cores(const Patient& patient) {
    const int cores = usable_cores();
    Finding finding{"cores", Verdict::ok,
                    fmt::format("{} may be used, for {} ranks", cores, patient.ranks)};
    if (patient.ranks > cores) {
        finding.verdict = Verdict::warning;
        finding.text += ": ranks will take turns, and wait for one another while they do";
        finding.remedy = fmt::format(
            "trireme run -n {}; or more cores by taskset, cpu.max of the cgroup, docker run --cpus",
            cores);
    }
    return finding;
}

}  // namespace

Findings check_clocks(const Patient& patient) {
    return {check_real_time(), check_steady_clock(), check_cores(patient)};
}

}  // namespace trireme::tool
