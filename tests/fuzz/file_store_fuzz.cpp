// A file that is, or is not, the log of a file store.

#include <sys/mman.h>
#include <unistd.h>

#include "core/unique_fd.h"
#include "fuzz/target.h"
#include "store/protocol.h"
#include "trireme/error.h"
#include "trireme/store.h"

namespace trireme::fuzz {
namespace {

std::string record(const std::string& key, const std::string& value) {
    return store::encode_length(key.size()) + store::encode_length(value.size()) + key + value;
}

}  // namespace

std::vector<std::string> seeds() {
    const std::string head = "TRIREME STORE 1\n0123456789abcdef";
    const std::string erased = store::encode_length(1) + store::encode_length(0xffffffff) + "a";
    return {head, head + record("a", "1") + record("key", "value"),
            head + record("a", "1") + erased + record("a", "2"), head + record("a", "9") + "cut",
            "not a store"};
}

}  // namespace trireme::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace trireme;
    using namespace std::chrono_literals;
    const UniqueFd file(::memfd_create("store", MFD_CLOEXEC));
    if (::write(file.get(), data, size) != static_cast<ssize_t>(size)) return 0;
    try {
        const auto store = file_store("/proc/self/fd/" + std::to_string(file.get()));
        (void)store->num_keys();
        (void)store->get("a", 0ms);
        (void)store->add("a", 1);
        store->set("key", "value");
        (void)store->delete_key("a");
        if (store->get("key", 0ms) != "value") __builtin_trap();
    } catch (const Error&) {
    }
    return 0;
}
