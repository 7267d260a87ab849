// Texts that people and launchers write: a rendezvous URL and the environment around it, one on
// each line, and a board's address.

#include <cstdlib>

#include "fuzz/target.h"
#include "observe/recorder.h"
#include "store/rendezvous_plan.h"
#include "trireme/error.h"
#include "trireme/world.h"

namespace trireme::fuzz {

std::vector<std::string> seeds() {
    return {"env://\n1\n4\nnode1\n29500\n\n",
            "env://\n0\n1\n::1\n1\n[::1]:80\n",
            "tcp://[::1]:29500?rank=1&world_size=3\n\n\n\n\n\n",
            "tcp://host:1?rank=&world_size=x&\n1\n2\n",
            "file:///tmp/a b?world_size=2\n0\n",
            "127.0.0.1:80\n-1\n70000\n\n12:3\n4711:5"};
}

}  // namespace trireme::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace trireme;
    fuzz::Input in(data, size);
    const std::string url = in.line();
    std::string last;
    for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "TRIREME_STORE"}) {
        last = in.line();
        last.empty() ? ::unsetenv(name) : ::setenv(name, last.c_str(), 1);
    }
    for (const char* name : {"TRIREME_TIMEOUT", "TRIREME_PATIENCE", "TRIREME_TRANSPORT"}) {
        ::setenv(name, last.c_str(), 1);
        try {
            (void)WorldOptions::from_environment();
        } catch (const Error&) {
        }
        ::unsetenv(name);
    }
    try {
        (void)store::plan_rendezvous(url, -1, -1);
    } catch (const Error&) {
    }
    (void)store::parse_endpoint(url);
    (void)BoardAddress::parse(last).text();
    return 0;
}
