#include "lineup.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include <fmt/format.h>

namespace trireme::bench {
namespace {

namespace fs = std::filesystem;

using WordList = std::vector<std::string>;

fs::path self() { return fs::read_symlink("/proc/self/exe"); }

fs::path peer_program(const std::string& peer) {
    return self().parent_path().parent_path() / "bench-peers" / peer;
}

int host_of(int rank, int ranks, int hosts) { return rank / (ranks / hosts); }

/// A core for each rank?
bool has_cores(int ranks) { return ranks <= static_cast<int>(std::thread::hardware_concurrency()); }

// What lets malloc take the libraries' own buffers from huge pages and keep them: at 64 MiB it
// makes both MPIs up to three times faster.
constexpr const char* malloc_settings =
    "GLIBC_TUNABLES=glibc.malloc.mmap_threshold=2147483648:glibc.malloc.trim_threshold=4294967296:"
    "glibc.malloc.hugetlb=1";

/// An entry whose ranks are processes that the driver starts itself.
Entry rank_processes(const std::string& name, const std::string& peer, const WordList& program,
                     int ranks, const Ground& ground) {
    Entry entry{name, peer, {}, {}};
    for (int rank = 0; rank < ranks; ++rank) {
        const int host = host_of(rank, ranks, ground.hosts());
        WordList command;
        WordList environment{
            fmt::format("RANK={}", rank), fmt::format("WORLD_SIZE={}", ranks),
            fmt::format("TRIREME_BENCH_STORE={}/{}-{}.store", ground.folder(), name, ranks)};
        if (ground.hosts() > 1) {
            command = {"ip", "netns", "exec", ground.host_name(host)};
            environment.push_back("TRIREME_ADDRESS=" + Ground::host_address(host));
            environment.emplace_back("TRIREME_BENCH_INTERFACE=eth0");
        } else {
            environment.emplace_back("TRIREME_BENCH_INTERFACE=lo");
        }
        command.insert(command.end(), program.begin(), program.end());
        entry.commands.push_back(command);
        entry.environments.push_back(environment);
    }
    return entry;
}

Entry trireme(const std::string& name, const fs::path& program, int ranks, const Ground& ground) {
    Entry entry = rank_processes(name, name, {program.string(), "--contestant"}, ranks, ground);
    for (WordList& environment : entry.environments) {
        if (has_cores(ranks)) {
            environment.emplace_back("TRIREME_BENCH_PIN=1");
        }
    }
    return entry;
}

// Without a core for itself: Gloo's threads and the caller's pass work to and fro.
Entry gloo(int ranks, const Ground& ground) {
    Entry entry = rank_processes("gloo", "gloo", {peer_program("gloo").string()}, ranks, ground);
    for (WordList& environment : entry.environments) {
        environment.emplace_back("OMP_NUM_THREADS=1");
    }
    return entry;
}

WordList mpi_environment(int ranks) {
    WordList environment{malloc_settings};
    if (has_cores(ranks)) {
        environment.emplace_back("TRIREME_BENCH_PIN=1");
    }
    return environment;
}

/// What goes before a command that Open MPI is to run on a host. Hosts need names of their own, by
/// which it tells apart the memory that ranks of one host share.
WordList entering(const std::string& host) {
    return {"ip", "netns",   "exec",
            host, "unshare", "--uts",
            "sh", "-c",      R"(hostname "$0" && exec "$@")",
            host};
}

/// What Open MPI takes for ssh: enters a host and runs the daemon there.
std::string write_remote_shell(const Ground& ground) {
    const std::string path = ground.folder() + "/remote-shell";
    std::ofstream script(path);
    script << "#!/bin/sh\naddress=$1\nshift\ncase $address in\n";
    for (int host = 0; host < ground.hosts(); ++host) {
        script << fmt::format("{}) host={} ;;\n", Ground::host_address(host),
                              ground.host_name(host));
    }
    script << "*) exit 1 ;;\nesac\n"
              "exec ip netns exec $host unshare --uts sh -c 'hostname \"$0\" && eval \"$*\"' "
              "$host \"$@\"\n";
    script.close();
    ::chmod(path.c_str(), S_IRWXU);
    return path;
}

Entry open_mpi(const std::string& name, bool with_ucx, int ranks, const Ground& ground) {
    WordList command;
    if (ground.hosts() > 1) {
        command = entering(ground.host_name(0));
    }
    const auto add = [&](std::initializer_list<const char*> words) {
        command.insert(command.end(), words.begin(), words.end());
    };
    const auto set = [&](const char* parameter, const std::string& value) {
        add({"--mca", parameter, value.c_str()});
    };
    // Cores are given by the contestants themselves, for all in the same way.
    add({"mpirun.openmpi", "--allow-run-as-root", "--bind-to", "none"});
    // Or else its segments stay where a run is killed.
    set("orte_tmpdir_base", ground.folder());
    set("btl_vader_backing_directory", ground.folder());
    if (!has_cores(ranks)) {
        add({"--oversubscribe"});
        set("mpi_yield_when_idle", "1");
    }
    if (with_ucx) {
        set("pml", "ucx");
        for (const char* parameter :
             {"pml_ucx_tls", "pml_ucx_devices", "opal_common_ucx_tls", "opal_common_ucx_devices"}) {
            set(parameter, "any");  // Debian's list leaves out shared memory
        }
        add({"-x", ground.hosts() > 1 ? "UCX_TLS=tcp,posix,cma,self" : "UCX_TLS=posix,cma,self"});
    }
    if (ground.hosts() > 1) {
        std::string hosts;
        for (int host = 0; host < ground.hosts(); ++host) {
            hosts += fmt::format("{}{}:{}", host == 0 ? "" : ",", Ground::host_address(host),
                                 ranks / ground.hosts());
        }
        add({"--host", hosts.c_str()});
        set("plm_rsh_agent", write_remote_shell(ground));
        set("oob_tcp_if_include", "eth0");
        set("btl_tcp_if_include", "eth0");
        add({"-x", "GLIBC_TUNABLES", "-x", "TRIREME_BENCH_SOCKET", "-x",
             "TRIREME_BENCH_CONTESTANT"});
        if (has_cores(ranks)) {
            add({"-x", "TRIREME_BENCH_PIN"});
        }
    }
    add({"-np", std::to_string(ranks).c_str(), peer_program("openmpi").c_str()});
    return {name, "openmpi", {command}, {mpi_environment(ranks)}};
}

Entry mpich(int ranks) {
    return {"mpich",
            "mpich",
            {{"mpiexec.mpich", "-launcher", "fork", "-np", std::to_string(ranks),
              peer_program("mpich").string()}},
            {mpi_environment(ranks)}};
}

}  // namespace

void require_peers(const Options& options) {
    for (const std::string& peer : options.peers) {
        if (fs::exists(peer_program(peer))) {
            if (peer == "mpich" && options.hosts > 1) {
                throw UsageError("--peers mpich: it is measured on one host only; leave it out");
            }
            continue;
        }
        const std::string remedy =
            peer == "bare" ? "scripts/cost makes it"
            : peer == "gloo"
                ? "it needs torch: run scripts/setup, then build anew"
                : fmt::format("install {} (or run scripts/setup --bench), then build anew",
                              peer == "openmpi" ? "openmpi-bin and libopenmpi-dev"
                                                : "mpich and libmpich-dev");
        throw UsageError(fmt::format("--peers {}: there is no {}; {}", peer,
                                     peer_program(peer).string(), remedy));
    }
}

std::vector<Entry> line_up(const Options& options, int ranks, const Ground& ground) {
    std::vector<Entry> entries{trireme("trireme", self(), ranks, ground)};
    for (const std::string& peer : options.peers) {
        if (peer == "openmpi") {
            entries.push_back(open_mpi("openmpi-ucx", true, ranks, ground));
            entries.push_back(open_mpi("openmpi-default", false, ranks, ground));
        } else if (peer == "mpich") {
            entries.push_back(mpich(ranks));
        } else if (peer == "bare") {
            entries.push_back(trireme(peer, peer_program(peer), ranks, ground));
        } else {
            entries.push_back(gloo(ranks, ground));
        }
    }
    return entries;
}

}  // namespace trireme::bench
